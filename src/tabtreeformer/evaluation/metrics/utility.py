"""Utility: does a model trained on synthetic rows predict real ones as well as one trained on real rows?

Train on synthetic, test on real (TSTR), as in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._runtime.progress import stage
from ..context import Context
from ..encoding import MISSING, Table
from ..references import Tables
from ..score import Measurement
from .auc import weighted_auc
from .evaluator_search import TRIALS, tune
from .evaluators import EVALUATORS, LARGEST, Scaler, fit_and_predict, quick_settings

TRAINING = ("utility", "training rows")
"""Where a context stores what evaluators learned from the real rows, which all synthetic tables share."""
QUICK_ROWS = 50_000
"""Maximum rows that `quick` learns from; with more, scores hardly change and forests take long."""


def relative_error(real: float, synthetic: float) -> float:
    """Return the share of the real score that synthetic rows lose; negative where they gain, NaN where real is 0.

    Signed, because only that reproduces the paper's printed summary. The absolute real score is the divisor, so that
    the sign keeps its meaning if an R² is below zero.
    """
    return (real - synthetic) / abs(real) if real else float("nan")


@dataclass(frozen=True)
class Summary:
    """Mean and standard deviation (of a sample) over many pairs of scores, as in the paper's summary table."""

    relative_error: float
    relative_error_std: float
    average: float
    average_std: float


def summarise(real: Sequence[float], synthetic: Sequence[float]) -> Summary:
    """Summarise scores on several tables, or of several evaluators, next to the scores of real rows."""
    errors = np.array([relative_error(r, s) for r, s in zip(real, synthetic, strict=True)])
    scores = np.asarray(synthetic, dtype=np.float64)
    deviations = (float(v.std(ddof=1)) if len(v) > 1 else float("nan") for v in (errors, scores))
    error_std, score_std = deviations
    return Summary(float(errors.mean()), error_std, float(scores.mean()), score_std)


def why_not(tables: Tables, target: int) -> str | None:
    """Return why nothing can be predicted, if so."""
    feature = tables.train.features[target]
    if len(tables.train.features) == 1:
        return f"the target {feature.name!r} is the only column, so that there is nothing to predict it from"
    for role, table in (("training", tables.train), ("held-out", tables.holdout)):
        column = table.columns[target]
        if len(np.unique(column[_present(table, target)])) < 2:
            return f"the target {feature.name!r} has a single value in the {role} rows, so that no score is defined"
    return None


def utility(tables: Tables, context: Context) -> Measurement:
    """Mean over the evaluators of the signed relative error of synthetic against real training rows; 0 is no loss."""
    assert context.target is not None
    real = _scores(tables, tables.train, "training rows", context)
    synthetic = _scores(tables, tables.synthetic, context.label, context)
    errors = {name: relative_error(real[name], synthetic[name]) for name in EVALUATORS}
    records = [
        {
            "evaluator": name,
            "real": real[name],
            "synthetic": synthetic[name],
            "relative_error": errors[name],
            "absolute_relative_error": abs(errors[name]),
        }
        for name in EVALUATORS
    ]
    classify = tables.train.features[context.target].categorical
    breakdown = {
        "score": "weighted one-versus-rest AUC" if classify else "R²",
        "settings": context.utility,
        "evaluators": records,
        "mean_absolute_relative_error": float(np.mean(np.abs(list(errors.values())))),
    }
    return Measurement(float(np.mean(list(errors.values()))), breakdown, _note(tables, context))


def _note(tables: Tables, context: Context) -> str | None:
    if context.utility == "quick" and max(tables.train.n_rows, tables.synthetic.n_rows) > QUICK_ROWS:
        return f"the models learned from {QUICK_ROWS:,} rows drawn from each table; utility='tuned' takes all"
    return None


def _scores(tables: Tables, learned_from: Table, label: str, context: Context) -> dict[str, float]:
    """Return what each evaluator scores on the held-out rows once it has learned from a table."""
    key = TRAINING if learned_from is tables.train else ("utility", learned_from)
    return context.once(key, lambda: _score_all(tables.holdout, learned_from, label, context))


def _score_all(test: Table, table: Table, label: str, context: Context) -> dict[str, float]:
    """Fit and score every evaluator; rows without a target, or with one that training rows never had, teach nothing."""
    assert context.target is not None
    target, rng = context.target, context.rng()
    seed = int(rng.integers(2**31))
    table, test = table.take(_present(table, target)), test.take(_present(test, target))
    if context.utility == "quick":
        table = table.sample(QUICK_ROWS, rng)
    feature = table.features[target]
    n_classes = feature.n_known if feature.categorical else None
    answers, truth = _target(table, target), _target(test, target)
    table, test = table.without(target), test.without(target)
    if n_classes is not None and len(np.unique(answers)) < 2:
        return dict.fromkeys(EVALUATORS, 0.5)  # one class, or no rows at all, teaches nothing about the others
    if not len(answers):
        return dict.fromkeys(EVALUATORS, float("nan"))
    scaler = Scaler(table)
    scores = {}
    steps = len(EVALUATORS) + (2 * TRIALS if context.utility == "tuned" else 0)
    with stage(context.progress, f"utility of {label}", steps) as advance:
        for name in EVALUATORS:
            read = scaler.one_hot if name == "LN" else scaler.codes
            matrix, settings = read(table), quick_settings(name)
            if context.utility == "tuned":
                settings = tune(name, matrix, answers, n_classes, seed, advance)
            predicted = fit_and_predict(name, settings, (matrix, answers), read(test), n_classes, seed)
            scores[name] = r_squared(truth, predicted) if n_classes is None else weighted_auc(truth, predicted)
            advance(1, last=f"{name} {scores[name]:.3f}")
    return scores


def _present(table: Table, target: int) -> NDArray[np.bool_]:
    """Return which rows have a target that occurs in the training rows."""
    column, feature = table.columns[target], table.features[target]
    present: NDArray[np.bool_] = (
        (column != MISSING) & (column <= feature.n_known) if feature.categorical else ~np.isnan(column)
    )
    return present


def _target(table: Table, target: int) -> NDArray[Any]:
    """Return classes from 0, or numbers."""
    column = table.columns[target]
    return column - 1 if table.features[target].categorical else np.clip(column, -LARGEST, LARGEST)


def r_squared(truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
    """Return the share of the variance that is explained; below zero where the mean alone would be better.

    NaN where the errors are too large, or the variance too small, for their ratio to be a number.
    """
    spread = truth - truth.mean()
    scale = np.abs(spread).max()  # keeps squares within the range of a float
    if not scale:
        return float("nan")
    with np.errstate(over="ignore"):
        unexplained = np.square((truth - predicted) / scale).sum() / np.square(spread / scale).sum()
    return float(1 - unexplained) if np.isfinite(unexplained) else float("nan")
