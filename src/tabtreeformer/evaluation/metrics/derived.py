"""Detection on derived columns: differences, ratios, last digits, patterns of gaps, and which laws a row keeps.

Trees split one column at a time, and find a sum that does not add up only if they are given the difference.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...data.schema.numbers import count_decimals
from ..context import Context
from ..encoding import MISSING, Feature, Table
from ..references import Tables
from ..score import Measurement
from .detection import detection
from .grain import MAX_DECIMALS, SPARE, roundings
from .laws import as_frame, found_laws

MAX_PAIRS = 20
"""Pairs of numbers whose difference and ratio are added: those that correlate most."""
MIN_CORRELATION = 0.3
MAX_PATTERNS = 30
"""Patterns of gaps that are distinguished."""
CORRELATED = 5_000
"""Rows that correlations are computed from."""


def detection_derived(tables: Tables, context: Context) -> Measurement:
    """The same two-sample test on the columns and columns derived from them; 0.5 is best."""
    pairs = context.once("derived pairs", lambda: _pairs(tables.train, context))
    wider = replace(
        tables,
        train=_widened(tables.train, tables.train, tables, pairs, context),
        synthetic=_widened(tables.synthetic, tables.train, tables, pairs, context),
    )
    return detection(wider, context)


def _widened(table: Table, train: Table, tables: Tables, pairs: list[tuple[int, int]], context: Context) -> Table:
    """A table with its derived columns."""
    features, columns = list(table.features), list(table.columns)

    def add(name: str, values: NDArray[np.generic], size: int = 0) -> None:
        labels = tuple(str(i) for i in range(size))
        features.append(Feature(name, categorical=size > 0, labels=labels, n_known=size))
        columns.append(values)

    for i, j in pairs:
        a, b = table.columns[i], table.columns[j]
        names = table.features[i].name, table.features[j].name
        add(f"{names[0]} - {names[1]}", np.round(a - b, 9))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(b == 0, np.nan, a / b)
        add(f"{names[0]} / {names[1]}", ratio)
    for place in train.numeric:
        known = train.columns[place][~np.isnan(train.columns[place])]
        decimals = count_decimals(known, spare=len(known) // SPARE) if len(known) else None
        if decimals is not None and decimals <= MAX_DECIMALS:
            own = np.nan_to_num(table.columns[place])
            add(f"last digits of {train.features[place].name}", roundings(own, decimals).astype(np.float64))
    if (patterns := _patterns(train)) is not None:
        add("pattern of gaps", _pattern_codes(table, patterns).astype(np.float64))
    frame = as_frame(table, train)
    for own in found_laws(tables, context):
        applies, keeps = own.law.holds(frame)
        add(f"keeps: {own.law.text}", np.where(applies, keeps.astype(np.float64), np.nan))
    return Table(tuple(features), tuple(columns))


def _pairs(train: Table, context: Context) -> list[tuple[int, int]]:
    """The pairs of numbers that correlate most, both of the same kind."""
    some = train.sample(CORRELATED, context.rng())
    found = []
    for i, j in combinations(some.numeric, 2):
        if some.features[i].unit != some.features[j].unit:
            continue
        a, b = some.columns[i], some.columns[j]
        both = ~(np.isnan(a) | np.isnan(b))
        if both.sum() < 10 or np.ptp(a[both]) == 0 or np.ptp(b[both]) == 0:
            continue
        ranks = [np.argsort(np.argsort(column[both])) for column in (a, b)]
        strength = abs(float(np.corrcoef(ranks[0], ranks[1])[0, 1]))
        if strength >= MIN_CORRELATION:
            found.append((strength, i, j))
    return [(i, j) for _, i, j in sorted(found, reverse=True)[:MAX_PAIRS]]


def _gaps(table: Table) -> NDArray[np.bool_]:
    """Where values are missing, (N, D)."""
    return np.column_stack(
        [
            column == MISSING if f.categorical else np.isnan(column)
            for f, column in zip(table.features, table.columns, strict=True)
        ]
    )


def _patterns(train: Table) -> dict[bytes, int] | None:
    """The most common patterns of gaps, numbered from 1; None if nothing is missing."""
    gaps = _gaps(train)
    if not gaps.any():
        return None
    distinct, counts = np.unique(np.packbits(gaps, axis=1), axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MAX_PATTERNS]
    return {distinct[k].tobytes(): code for code, k in enumerate(order, start=1)}


def _pattern_codes(table: Table, patterns: dict[bytes, int]) -> NDArray[np.int64]:
    return np.array([patterns.get(row.tobytes(), 0) for row in np.packbits(_gaps(table), axis=1)], dtype=np.int64)
