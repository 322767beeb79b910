"""Rows of both tables: some side by side, the closest pairs, a map of them, and which values are missing together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...data.schema import Schema
from .. import Evaluation
from ..encoding import Table
from .columns import gaps_of
from .words import cell

N_SAMPLES = 5
"""Rows of each table that are shown side by side."""
MAX_NEIGHBOURS = 5
MAX_DOTS = 700
"""Maximum rows of each table that are drawn as dots on the map."""
MAP_CELLS = 28
COARSE_CELLS = 12
"""Cells per axis in which the two tables are compared: few, so that each has enough rows."""
MIN_ERRORS, MAX_ERRORS = 2.5, 8.0
"""Standard errors of a difference: below the first a cell is left empty, from the second on it is darkest."""
MAP_ROWS = 5_000
MAX_PATTERNS = 12
TOGETHER = 0.8
"""Columns belong together if this share of the rows in which either is missing lack both."""
TOP_LABELS = 12

Floats = NDArray[np.float64]


def samples(train: pd.DataFrame, synthetic: pd.DataFrame, *, show_rows: bool) -> list[dict[str, Any]]:
    """Return some rows of both tables as text, column by column; no real rows without `show_rows`."""
    frames = {"real": train, "synthetic": synthetic} if show_rows else {"synthetic": synthetic}
    drawn = {side: frame.sample(min(N_SAMPLES, len(frame)), random_state=0) for side, frame in frames.items()}
    return [
        {"column": str(name), **{side: [cell(value) for value in rows[name]] for side, rows in drawn.items()}}
        for name in train.columns
        if name in synthetic.columns
    ]


def neighbours(
    evaluation: Evaluation, train: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema
) -> list[dict[str, Any]]:
    """The synthetic rows that are closest to a training row, cell by cell next to it."""
    if "dcr" not in evaluation.scores:
        return []
    pairs = []
    for found in evaluation.scores["dcr"].breakdown["closest"][:MAX_NEIGHBOURS]:
        left, right = synthetic.iloc[found["synthetic_row"]], train.iloc[found["train_row"]]
        cells = [
            {"column": str(name), "synthetic": cell(left[name]), "real": cell(right[name])} for name in schema.names
        ]
        pairs.append({"distance": found["distance"], "cells": cells})
    return pairs


# ---- the map


def row_map(real: Table, new: Table, floor: int) -> dict[str, Any] | None:
    """Both tables on the two principal axes of the real rows: dots, and the places where either has more rows.

    With a `floor` above 1 no real row has a dot of its own, and cells of fewer real rows are left empty.
    """
    rng = np.random.default_rng(0)
    tables = [table.take(rng.permutation(table.n_rows)[:MAP_ROWS]) for table in (real, new)]
    first, second = _coordinates(tables[0], tables[0]), _coordinates(tables[1], tables[0])
    if first.shape[1] < 2 or len(first) < 3:
        return None
    centre = first.mean(0)
    sizes, axes = np.linalg.eigh(np.cov((first - centre).T))  # ascending
    if sizes[-1] <= 0:
        return None
    places = [(own - centre) @ axes[:, :-3:-1] for own in (first, second)]  # (n, 2)
    both = np.concatenate(places)
    low, high = np.quantile(both, 0.002, axis=0), np.quantile(both, 0.998, axis=0)
    span = np.where(high > low, high - low, 1.0)
    placed = [np.clip((own - low) / span, 0, 1) for own in places]
    grids = [_grid(own) for own in placed]
    rare = (grids[0] > 0) & (grids[0] < floor)
    shares = [np.where(rare, 0, grid) / max(grid.sum(), 1) for grid in grids]
    halves = [own[: len(own) // 2] for own in placed]
    return {
        "explained": float(sizes[-2:].sum() / sizes.sum()),
        "dots": {
            side: own[:MAX_DOTS].round(3).tolist() if floor <= 1 else []
            for side, own in zip(("real", "synthetic"), placed, strict=True)
        },
        "real": shares[0].tolist(),
        "synthetic": shares[1].tolist(),
        "difference": _difference(*placed).tolist(),
        # Few rows never cover the same cells: two halves of the real rows show how far they agree.
        "overlap": _overlap(halves[0], halves[1]),
        "possible": _overlap(halves[0], placed[0][len(placed[0]) // 2 :]),
    }


def _difference(real: Floats, new: Floats) -> Floats:
    """By how many standard errors the share of rows differs in each coarse cell, from -1 (real) to 1; 0 for chance."""
    counts = [_grid(own, COARSE_CELLS) for own in (real, new)]
    pooled = (counts[0] + counts[1]) / (len(real) + len(new))
    error = np.sqrt(np.maximum(pooled * (1 - pooled) * (1 / len(real) + 1 / len(new)), 1e-12))
    errors = (counts[1] / len(new) - counts[0] / len(real)) / error
    return np.where(np.abs(errors) < MIN_ERRORS, 0.0, np.clip(errors / MAX_ERRORS, -1, 1))


def _overlap(a: Floats, b: Floats) -> float:
    first, second = (_grid(own, COARSE_CELLS) / max(len(own), 1) for own in (a, b))
    return float(np.minimum(first, second).sum())


def _coordinates(table: Table, real: Table) -> Floats:
    """Columns as numbers of equal weight: ranks among the real rows, and one column per common category, (n, m)."""
    found: list[Floats] = []
    for feature, column, known in zip(table.features, table.columns, real.columns, strict=True):
        if feature.categorical:
            codes = np.argsort(-np.bincount(known), kind="stable")[:TOP_LABELS]
            hits = (column[:, None] == codes[None, :]).astype(np.float64)
            spread = np.sqrt(max(1e-9, 1 - np.square((known[:, None] == codes[None, :]).mean(0)).sum()))
            found += list((hits / spread).T)
            continue
        there = np.sort(known[~np.isnan(known)])
        if len(there) and there[0] < there[-1]:
            ranks = (np.searchsorted(there, column, "left") + np.searchsorted(there, column, "right")) / 2 / len(there)
            found.append(np.where(np.isnan(column), 0.0, (ranks - 0.5) * np.sqrt(12)))
    return np.column_stack(found) if found else np.zeros((table.n_rows, 0))


def _grid(places: Floats, n: int = MAP_CELLS) -> NDArray[np.int64]:
    codes = np.minimum((places * n).astype(np.int64), n - 1)
    return np.bincount(codes[:, 0] * n + codes[:, 1], minlength=n**2).reshape(n, n)


# ---- gaps


def gaps(real: Table, new: Table, floor: int) -> dict[str, Any] | None:
    """Which columns are missing together, the most common patterns first; None where nothing is missing anywhere."""
    counts = [_patterns(table) for table in (real, new)]
    if all(set(own) <= {()} for own in counts):
        return None
    sizes = [table.n_rows for table in (real, new)]
    seen = {pattern for pattern, count in counts[0].items() if count >= floor} | set(counts[1])
    shares = {pattern: [own.get(pattern, 0) / n for own, n in zip(counts, sizes, strict=True)] for pattern in seen}
    if floor > 1:
        shares = {p: [s if counts[0].get(p, 0) >= floor else 0.0, t] for p, (s, t) in shares.items()}
    ordered = sorted((p for p in shares if p), key=lambda pattern: -sum(shares[pattern]))
    names = [str(feature.name) for feature in real.features]
    return {
        "complete": [own.get((), 0) / n for own, n in zip(counts, sizes, strict=True)],
        "patterns": [
            {
                "columns": [names[place] for place in pattern],
                "real": shares[pattern][0],
                "synthetic": shares[pattern][1],
            }
            for pattern in ordered[:MAX_PATTERNS]
        ],
        "distinct": [len(own) for own in counts],
        "groups": _groups(real, new),
    }


def _groups(real: Table, new: Table) -> list[dict[str, Any]]:
    """Columns that are missing in the same real rows, and how often they are so in either table."""
    missing = [_missing(table) for table in (real, new)]
    groups: list[list[int]] = []
    for place in np.flatnonzero(missing[0].any(0)):
        own = missing[0][:, place]
        for group in groups:
            first = missing[0][:, group[0]]
            if (own & first).sum() >= TOGETHER * (own | first).sum():
                group.append(int(place))
                break
        else:
            groups.append([int(place)])
    found = []
    for group in groups:
        if len(group) > 1:
            shares = [_together(table[:, group]) for table in missing]
            names = [str(real.features[place].name) for place in group]
            found.append({"columns": names, "real": shares[0], "synthetic": shares[1]})
    return sorted(found, key=lambda group: group["synthetic"] - group["real"])


def _together(missing: NDArray[np.bool_]) -> float:
    """Among the rows in which some of the columns are missing, the share in which all of them are."""
    return float(missing.all(1).sum() / max(missing.any(1).sum(), 1))


def _missing(table: Table) -> NDArray[np.bool_]:
    """Where values are missing (N, D)."""
    return np.column_stack([gaps_of(f, column) for f, column in zip(table.features, table.columns, strict=True)])


def _patterns(table: Table) -> Mapping[tuple[int, ...], int]:
    """The number of rows with each pattern of missing columns."""
    distinct, counts = np.unique(np.packbits(_missing(table), axis=1), axis=0, return_counts=True)
    width = len(table.features)
    return {
        tuple(np.flatnonzero(np.unpackbits(row)[:width]).tolist()): int(count)
        for row, count in zip(distinct, counts, strict=True)
    }
