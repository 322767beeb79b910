"""Attribute inference: does the synthetic table reveal a value to an attacker who knows all other values of a row?

Giomi et al. (PoPETs 2023), section 4.3: the guess is the value of the synthetic row nearest in the known columns. Some
guesses are right simply because columns are related, which a synthetic table should preserve; the same attack on
held-out rows shows how many.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..context import Context
from ..encoding import Table
from ..metrics.gower import Gower
from ..references import Tables
from ..score import Measurement
from .risk import Risk, shared_confidence, worst

TOLERANCE, OF_RANGE = 0.05, 0.01
"""A guess is right if it is off by at most this share of the number or, for a date, this share of the common range."""
COMMON = (0.01, 0.99)
"""Quantiles of training and held-out dates together that bound their common range: one outlying date moves neither."""
MAX_SECRETS = 20
"""Maximum number of attacked columns if none are named."""


def inference(tables: Tables, context: Context) -> Measurement:
    """Largest risk, over the sensitive columns, that a training row's value is guessed beyond held-out rows' values.

    Intervals are widened so that all of them hold simultaneously.
    """
    features = tables.train.features
    if len(features) < 2:
        return Measurement(float("nan"), {}, "a table of one column has nothing to infer it from")
    secrets, note = _secrets(len(features), context)
    rng = context.rng()
    space = Gower(tables.synthetic, tables.train, tables.holdout)
    slack = {place: _slack(tables, place) for place in secrets}
    hits, naive, attacks = {}, [], {}
    for who, table in (("training rows", tables.train), ("held-out rows", tables.holdout)):
        rows = table.sample(context.max_attacks, rng)
        found = space.nearest_without(rows, secrets, context.progress, f"secrets of {who} from {context.label}")
        guesses = [tables.synthetic.columns[place][found[:, k]] for k, place in enumerate(secrets)]
        hits[who] = [_hits(rows, place, guess, slack[place]) for place, guess in zip(secrets, guesses, strict=True)]
        attacks[who] = rows.n_rows
        if who == "training rows":
            naive = [_hits(rows, place, _naive(tables.synthetic, place), slack[place]) for place in secrets]
    risks = [
        Risk.of(
            train=hits["training rows"][k],
            control=hits["held-out rows"][k],
            baseline=naive[k],
            attacks=(attacks["training rows"], attacks["held-out rows"]),
            confidence=shared_confidence(len(secrets), context.confidence),
        )
        for k in range(len(secrets))
    ]
    records = [{"column": features[place].name, **risk.to_json()} for place, risk in zip(secrets, risks, strict=True)]
    top = worst(risks)
    breakdown = {**top.to_json(), "column": records[risks.index(top)]["column"], "columns": records}
    return Measurement(top.value, breakdown, note)


def _secrets(n_columns: int, context: Context) -> tuple[list[int], str | None]:
    """The columns to attack: those named, or all; if there are too many, the target and the first ones."""
    if context.sensitive:
        return list(context.sensitive), None
    places = list(range(n_columns))
    if n_columns <= MAX_SECRETS:
        return places, None
    first = [] if context.target is None else [context.target]
    chosen = [*first, *(place for place in places if place not in first)][:MAX_SECRETS]
    return chosen, f"{MAX_SECRETS} of {n_columns} columns were attacked; name the important ones as sensitive"


def _slack(tables: Tables, place: int) -> float | None:
    """How far off the guess of a date may be, for training and held-out rows alike; None for other columns."""
    if tables.train.features[place].categorical or tables.train.features[place].unit != "time":
        return None
    both = np.concatenate([table.columns[place] for table in (tables.train, tables.holdout)])
    there = both[~np.isnan(both)]
    # Five per cent of the years since 1970 are three.
    return OF_RANGE * float(np.subtract(*np.quantile(there, COMMON[::-1]))) if len(there) else 0.0


def _hits(rows: Table, place: int, guesses: Any, slack: float | None) -> int:
    """Count the correct guesses: the same category, a number within the tolerance, missing for missing."""
    truth = rows.columns[place]
    if rows.features[place].categorical:
        return int((truth == guesses).sum())
    with np.errstate(over="ignore"):
        near = np.abs(guesses - truth) <= (TOLERANCE * np.abs(truth) if slack is None else slack)
    right: NDArray[np.bool_] = near | (np.isnan(guesses) & np.isnan(truth))
    return int(right.sum())


def _naive(table: Table, place: int) -> float | int:
    """The guess without any knowledge of the row: the most common category, or the median."""
    column = table.columns[place]
    if table.features[place].categorical:
        return int(np.bincount(column).argmax())
    there = column[~np.isnan(column)]
    return float(np.median(there)) if len(there) else float("nan")
