"""Search for the parameters of a tree model with Optuna, by cross-validation (paper, appendix on the tree model)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from sklearn.metrics import f1_score, mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

from .._runtime.progress import Progress, stage
from ..config.settings import TreeConfig
from .base import LeafModel
from .features import Features, Target
from .spaces import Parameter, Space, canonical
from .trials import Trials

FOLDS = 3
"""Cross-validation folds per trial (the paper's); stratified for classes."""

Fold = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows to fit on, and rows to score on."""


def tune(
    model_class: type[LeafModel],
    space: Space,
    features: Features,
    target: Target,
    config: TreeConfig,
    seed: int,
    progress: Progress,
    trials: Trials | None = None,
) -> dict[str, Any]:
    """Return the parameters that predict best, with those in `config.params` unchanged.

    Only the latter are returned if there is nothing to search, or too few rows to compare candidates.
    """
    fixed = canonical(config.params, space)
    free = {name: parameter for name, parameter in space.items() if name not in fixed}
    if not free or features.n_rows < 2 * FOLDS:
        return fixed
    folds = split(target, FOLDS, seed)
    trials = trials or Trials()

    def objective(trial: optuna.Trial) -> float:
        params = fixed | {name: suggest(trial, name, parameter) for name, parameter in free.items()}
        if trial.number < len(trials.scores):
            return float(trials.scores[trial.number])
        return cross_validate(lambda: model_class(params, seed), features, target, folds)

    return fixed | _search(objective, config, seed, progress, "MSE" if target.n_classes is None else "F1", trials)


def _search(
    objective: Callable[[optuna.Trial], float],
    config: TreeConfig,
    seed: int,
    progress: Progress,
    measure: str,
    trials: Trials,
) -> dict[str, Any]:
    """Run the trials; return the parameters of the best one."""
    started, known = time.monotonic() - trials.seconds, len(trials.scores)
    with quiet_optuna(), stage(progress, "tune trees", config.trials) as advance:
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))

        def report(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
            advance(1, best=f"{measure} {abs(study.best_value):.4g}")
            if trial.number >= known:
                trials.scores.append(trial.values[0])
                trials.seconds = time.monotonic() - started
                trials.keep(trials)
            if config.timeout_seconds is not None and time.monotonic() - started >= config.timeout_seconds:
                study.stop()

        study.optimize(objective, n_trials=config.trials, timeout=config.timeout_seconds, callbacks=[report])
        # A short time limit may be over before the first trial starts.
        return dict(study.best_params) if study.trials else {}


def cross_validate(build: Callable[[], LeafModel], features: Features, target: Target, folds: list[Fold]) -> float:
    """Return the mean score of a model over the folds; higher is better."""
    scores = []
    for fitted_on, scored_on in folds:
        model = build().fit(features.take(fitted_on), target.take(fitted_on))
        scores.append(score(target.take(scored_on), model.predict(features.take(scored_on))))
    return float(np.mean(scores))


def score(target: Target, predicted: NDArray[Any]) -> float:
    """Weighted F1 for classes, negative mean squared error for numbers."""
    if target.n_classes is None:
        return -float(mean_squared_error(target.values, predicted))
    return float(f1_score(target.values, predicted, average="weighted", zero_division=0.0))


def split(target: Target, n_folds: int, seed: int) -> list[Fold]:
    """Cut the rows into shuffled folds, each with its share of every class if the classes have enough rows.

    If a class has fewer rows than folds, there are fewer folds; if one has a single row, folds ignore the classes.
    """
    rows = np.arange(len(target.values))
    least = 1 if target.n_classes is None else int(np.unique(target.values, return_counts=True)[1].min())
    if least >= 2:
        folds = StratifiedKFold(min(n_folds, least), shuffle=True, random_state=seed)
    else:
        folds = KFold(n_folds, shuffle=True, random_state=seed)
    return list(folds.split(rows, target.values))


def suggest(trial: optuna.Trial, name: str, parameter: Parameter) -> float:
    """Let Optuna choose a value."""
    if parameter.whole:
        number: float = trial.suggest_int(
            name, parameter.low, parameter.high, step=parameter.step or 1, log=parameter.log
        )
    else:
        number = trial.suggest_float(name, parameter.low, parameter.high, step=parameter.step, log=parameter.log)
    return number


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Silence Optuna's log for a while; its level is global, so it has to be restored."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(level)
