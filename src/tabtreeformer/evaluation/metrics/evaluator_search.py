"""Search for the settings of an evaluator with Optuna, by cross-validation (paper, appendix on utility)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...trees.features import Target
from ...trees.spaces import Parameter
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

    from ...trees.tuning import quiet_optuna, score, split

    if not SPACES[evaluator] or len(target) < 2 * FOLDS:
        return quick_settings(evaluator)
    folds = split(Target(target, n_classes), FOLDS, seed)

    def objective(trial: Any) -> float:
        settings = {name: _choose(trial, name, space) for name, space in SPACES[evaluator].items()}
        scores = []
        for fitted_on, scored_on in folds:
            learned_from = matrix[fitted_on], target[fitted_on]
            predicted = fit_and_predict(evaluator, settings, learned_from, matrix[scored_on], n_classes, seed)
            answers = predicted if n_classes is None else predicted.argmax(axis=1)
            scores.append(score(Target(target[scored_on], n_classes), answers))
        return float(np.mean(scores))

    with quiet_optuna():
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        study.optimize(objective, n_trials=trials, callbacks=[lambda study, trial: advance(1)])
    return dict(study.best_params)


def _choose(trial: Any, name: str, space: Parameter | Choice) -> Any:
    """Let Optuna choose a value."""
    from ...trees.tuning import suggest

    return trial.suggest_categorical(name, space.options) if isinstance(space, Choice) else suggest(trial, name, space)
