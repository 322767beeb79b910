"""Search for the settings of an evaluator with Optuna, by cross-validation (paper, appendix on utility)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..trees.features import Target
from ..trees.spaces import Parameter
from .evaluators import SPACES, Choice, fit_and_predict, quick_settings

TRIALS, FOLDS = 30, 3


def tune(
    evaluator: str,
    matrix: Any,
    target: NDArray[Any],
    n_classes: int | None,
    seed: int,
    advance: Callable[..., None],
    trials: int = TRIALS,
) -> dict[str, Any]:
    """Return the settings with the best weighted F1, or the least squared error, on folds of the rows learned from."""
    import optuna

    from ..trees.tuning import score, split

    if not SPACES[evaluator] or len(target) < 2 * FOLDS:
        return quick_settings(evaluator)
    folds = split(Target(target, n_classes), FOLDS, seed)

    def objective(trial: Any) -> float:
        settings = {name: _suggest(trial, name, space) for name, space in SPACES[evaluator].items()}
        scores = []
        for fitted_on, scored_on in folds:
            learned_from = matrix[fitted_on], target[fitted_on]
            predicted = fit_and_predict(evaluator, settings, learned_from, matrix[scored_on], n_classes, seed)
            answers = predicted if n_classes is None else predicted.argmax(axis=1)
            scores.append(score(Target(target[scored_on], n_classes), answers))
        return float(np.mean(scores))

    with _quiet(optuna):
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        study.optimize(objective, n_trials=trials, callbacks=[lambda study, trial: advance(1)])
    return dict(study.best_params)


def _suggest(trial: Any, name: str, space: Parameter | Choice) -> Any:
    """Let Optuna choose a value."""
    if isinstance(space, Choice):
        return trial.suggest_categorical(name, space.options)
    if space.whole:
        return trial.suggest_int(name, space.low, space.high, step=space.step or 1, log=space.log)
    return trial.suggest_float(name, space.low, space.high, step=space.step, log=space.log)


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Silence Optuna's log for a while; its level is global, so that it has to be put back."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(level)
