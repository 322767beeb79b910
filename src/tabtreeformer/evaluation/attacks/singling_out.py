"""Singling out: do predicates that isolate one synthetic row also isolate exactly one real row?

Giomi et al. (PoPETs 2023), section 4.1, after Cohen and Nissim. Univariate predicates name a value that one synthetic
row has, or an extreme; multivariate ones take a synthetic row and a few of its columns, numbers by "at least" above the
median and "at most" below it. Predicates can also isolate a row by luck; the attack on held-out rows shows how often.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._runtime.progress import stage
from ..context import Context
from ..encoding import Table
from ..references import Tables
from ..score import Measurement
from .copies import distinct
from .predicates import Clause, Predicate, Relation, count, match
from .risk import Risk, shared_confidence, worst

N_COLUMNS = 3
"""Columns of a multivariate predicate."""
ATTEMPTS = 15
"""Predicates tried for each one needed; where columns are coarse, few of them isolate anybody."""
BATCH = 1000
GLANCE = 500
"""Rows on which most predicates already turn out to match more than one row."""
MAX_ROWS = 50_000
"""Synthetic rows that predicates are made from."""
FEWEST = 10
"""With fewer predicates than this, there is no result."""
SIZES = 10
"""Sizes of the control table from which success is extrapolated to the size of the training table."""

_OF_NUMBERS = (
    Relation.EQUAL,
    Relation.OTHER,
    Relation.ABOVE,
    Relation.BELOW,
    Relation.AT_LEAST,
    Relation.AT_MOST,
)
_OF_CATEGORIES = (Relation.EQUAL, Relation.OTHER)


def singling_out(tables: Tables, context: Context) -> Measurement:
    """Larger of the risks that one or three columns of a synthetic row single out a training row, beyond luck."""
    rng = context.rng()
    train, control = distinct(tables.train), distinct(tables.holdout)
    synthetic = distinct(tables.synthetic.sample(MAX_ROWS, rng))
    width = min(N_COLUMNS, len(synthetic.features))
    with stage(context.progress, f"singling out from {context.label}", 2) as advance:
        found: dict[str, list[Predicate]] = {"univariate": univariate(synthetic, context.max_attacks, rng)}
        advance(1)
        if width > 1:
            found["multivariate"] = multivariate(synthetic, context.max_attacks, width, rng)
        advance(1)
    modes = {mode: predicates for mode, predicates in found.items() if len(predicates) >= FEWEST}
    if not modes:
        return Measurement(float("nan"), {"modes": {}}, "hardly any synthetic row can be isolated")
    risks = {}
    for mode, predicates in modes.items():
        guesses = at_random(synthetic, len(predicates), 1 if mode == "univariate" else width, rng)
        baseline = int(match(guesses, train).alone.sum())
        risks[mode] = _risk(
            predicates, synthetic, train, control, baseline, shared_confidence(len(modes), context.confidence)
        )
    top = worst(list(risks.values()))
    mode = next(mode for mode, risk in risks.items() if risk is top)
    breakdown = {**top.to_json(), "mode": mode, "modes": {name: risk.to_json() for name, risk in risks.items()}}
    return Measurement(top.value, breakdown)


def _risk(
    predicates: list[Predicate], synthetic: Table, train: Table, control: Table, baseline: int, confidence: float
) -> Risk:
    """Compare the successes in training and held-out rows.

    Where the hold-out is the smaller table its successes are extrapolated, and a law that fits badly could pass for a
    leak: the interval stays above 0 only if equally few training rows, whose expectations are exact, show it too.
    """
    of_train, of_control = match(predicates, train), match(predicates, control)
    found, size = int(of_control.alone.sum()), control.n_rows
    known: dict[str, Any] = {
        "control": found,
        "baseline": baseline,
        "attacks": (len(predicates), len(predicates)),
        "crowding": max(matches.crowding() for matches in (match(predicates, synthetic), of_train, of_control)),
        "confidence": confidence,
    }
    scale = size_correction(of_control.counts, size, train.n_rows)
    risk = Risk.of(train=int(of_train.alone.sum()), control_scale=scale, **known)
    if size >= train.n_rows:
        return risk
    at_equal_size = Risk.of(train=_expected(of_train.counts, train.n_rows, size), **known)
    return risk if at_equal_size.low > 0 else replace(risk, low=0.0)


# ---- the predicates


def univariate(table: Table, most: int, rng: np.random.Generator) -> list[Predicate]:
    """Values that one row has, and extremes that one row has."""
    clauses: list[Clause] = []
    for place, feature in enumerate(table.features):
        column = table.columns[place]
        values, times = np.unique(column if feature.categorical else column[~np.isnan(column)], return_counts=True)
        once = values[times == 1]
        clauses += [Clause.about(table, place, Relation.EQUAL, value) for value in once.tolist()]
        if feature.categorical:
            continue
        if np.count_nonzero(np.isnan(column)) == 1:
            clauses.append(Clause(place, Relation.MISSING))
        if len(values) and times[0] == 1:
            clauses.append(Clause(place, Relation.AT_MOST, float(values[0])))
        if len(values) and times[-1] == 1:
            clauses.append(Clause(place, Relation.AT_LEAST, float(values[-1])))
    order = rng.permutation(len(clauses))[:most]
    return [(clauses[k],) for k in order]


def multivariate(table: Table, most: int, width: int, rng: np.random.Generator) -> list[Predicate]:
    """Predicates on a few columns that one row satisfies and no other."""
    medians = [
        0.0 if feature.categorical or np.isnan(column).all() else float(np.nanmedian(column))
        for feature, column in zip(table.features, table.columns, strict=True)
    ]
    some = table.take(slice(GLANCE))
    found: dict[Predicate, None] = {}
    # The number of different predicates is limited: twice as many draws find most of them.
    attempts = min(ATTEMPTS * most, 2 * table.n_rows * math.comb(len(table.features), width))
    for start in range(0, attempts, BATCH):
        rows = rng.integers(table.n_rows, size=min(BATCH, attempts - start))
        lots = rng.random((len(rows), len(table.features)))
        places = np.sort(lots.argpartition(width - 1, axis=1)[:, :width], axis=1)
        for row, chosen in zip(rows.tolist(), places.tolist(), strict=True):
            predicate = tuple(_clause(table, place, row, medians[place]) for place in chosen)
            if predicate not in found and count(predicate, some) < 2 and count(predicate, table) == 1:
                found[predicate] = None
                if len(found) == most:
                    return list(found)
    return list(found)


def _clause(table: Table, place: int, row: int, median: float) -> Clause:
    """The clause on a row's column that the fewest others satisfy: its category, or an extreme number."""
    value = table.columns[place][row].item()
    if table.features[place].categorical:
        return Clause.about(table, place, Relation.EQUAL, value)
    return Clause.about(table, place, Relation.AT_LEAST if value > median else Relation.AT_MOST, value)


def at_random(table: Table, n: int, width: int, rng: np.random.Generator) -> list[Predicate]:
    """Predicates of random columns, relations and values, which need only the ranges of the synthetic rows."""
    values = [np.unique(column) for column in table.columns]

    def clause(place: int) -> Clause:
        relations = _OF_CATEGORIES if table.features[place].categorical else _OF_NUMBERS
        relation = relations[int(rng.integers(len(relations)))]
        return Clause.about(table, place, relation, rng.choice(values[place]).item())

    return [
        tuple(clause(place) for place in rng.choice(len(table.features), width, replace=False).tolist())
        for _ in range(n)
    ]


# ---- luck, by the size of a table


def size_correction(matches: NDArray[np.int64], n_rows: int, size: int) -> float:
    """How many times more predicates would single out a row in `size` rows like the control's than in its `n_rows`.

    A smaller table is a sample of the control, whose expectations are exact. For a larger one the successes at smaller
    sizes are extrapolated, by the law that Giomi et al. fit: a predicate of weight w is true of exactly one of n rows
    with probability n w (1 − w)^(n−1), and weights are spread evenly up to a maximum.
    """
    now = _expected(matches, n_rows, n_rows)
    if not now or size == n_rows:
        return 1.0
    if size < n_rows:
        return _expected(matches, n_rows, size) / now
    sizes = np.unique(np.linspace(max(n_rows / SIZES, 1), n_rows, SIZES).astype(np.int64))
    law = _fitted(sizes, np.array([_expected(matches, n_rows, int(n)) for n in sizes]))
    return law(size) / law(n_rows)


def _expected(matches: NDArray[np.int64], n_rows: int, size: int) -> float:
    """Sum over predicates of the chance that a sample of the rows holds exactly one match (hypergeometric)."""
    from scipy.stats import hypergeom  # type: ignore[import-untyped]

    if size == n_rows:
        return float((matches == 1).sum())
    times, how_many = np.unique(matches[matches > 0], return_counts=True)
    return float((hypergeom.pmf(1, n_rows, times, size) * how_many).sum())


def _fitted(sizes: NDArray[np.int64], successes: NDArray[np.float64]) -> Callable[[int], float]:
    """Fit the largest weight; the number of predicates cancels out, and is solved for at each weight."""

    def law(weight: float, n: NDArray[np.float64] | float) -> NDArray[np.float64]:
        return np.asarray((1 - (n * weight + 1) * (1 - weight) ** n) / (n + 1))

    weights = np.geomspace(0.01 / sizes[-1], 1.0, 400)[:-1]
    n = sizes.astype(np.float64)
    errors = []
    for weight in weights:
        shape = law(weight, n)
        norm = (shape @ successes) / (shape @ shape)
        errors.append(((successes - norm * shape) ** 2).sum())
    best = float(weights[int(np.argmin(errors))])
    return lambda size: float(law(best, float(size)))
