"""Pairs of columns: the strongest and the worst as pictures, and how well pairs agree beyond their columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding import MISSING, Feature, Table
from .columns import kind_of
from .words import MISSING_WORD

N_LISTED = 12
"""Pairs that are listed, by strength and by difference."""
N_DRAWN = 4
"""Pairs of each list that are drawn."""
CELLS = 24
"""Cells of a picture of two numbers, each way."""
MAX_LABELS = 8
MAX_ROWS = 20_000
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

Floats = NDArray[np.float64]


def pairs(
    associations: Mapping[str, Any] | None, real: Table, new: Table, floor: int
) -> dict[str, list[dict[str, Any]]]:
    """The pairs whose association differs most between the tables, and the strongest pairs of the real rows.

    `floor`: a cell or a label of fewer real rows is not drawn.
    """
    if associations is None:
        return {}
    names, places = associations["names"], associations["places"]
    strengths, others = np.array(associations["real"]), np.array(associations["synthetic"])
    rows, columns = np.tril_indices(len(names), -1)
    gap = np.abs(strengths - others)[rows, columns]
    found: dict[str, list[dict[str, Any]]] = {}
    for key, order in (("worst", np.argsort(-gap)), ("strongest", np.argsort(-strengths[rows, columns]))):
        found[key] = [
            {
                "pair": (names[columns[k]], names[rows[k]]),
                "real": float(strengths[rows[k], columns[k]]),
                "synthetic": float(others[rows[k], columns[k]]),
                "places": (places[columns[k]], places[rows[k]]),
            }
            for k in order[:N_LISTED]
        ]
    rng = np.random.default_rng(0)
    tables = [table.sample(MAX_ROWS, rng) for table in (real, new)]
    drawn: set[tuple[int, int]] = set()
    for key in ("worst", "strongest"):
        fresh = [record for record in found[key] if record["places"] not in drawn][:N_DRAWN]
        for record in fresh:
            drawn.add(record["places"])
            record["plot"] = picture(tables[0], tables[1], *record["places"], floor=floor)
    return found


def picture(real: Table, new: Table, i: int, j: int, *, floor: int) -> dict[str, Any]:
    """A pair of columns as plain data: cells of shares, or the spread of a number by category."""
    coded = [real.features[place].categorical for place in (i, j)]
    if coded[0] != coded[1]:
        label, value = (i, j) if coded[0] else (j, i)
        return _boxes(real, new, label, value, floor)
    axes = [_labels(real, new, p, floor) if real.features[p].categorical else _cuts(real, p) for p in (i, j)]
    counts = [_cells(table, (i, j), axes) for table in (real, new)]
    rare = (counts[0] > 0) & (counts[0] < floor)
    shares = [counts[0] * ~rare / max(counts[0].sum(), 1), counts[1] / max(counts[1].sum(), 1)]
    return {
        "type": "cells",
        "axes": [
            {"name": str(real.features[p].name), "unit": real.features[p].unit, **axis["shown"]}
            for p, axis in zip((i, j), axes, strict=True)
        ],
        "real": shares[0].tolist(),
        "synthetic": shares[1].tolist(),
    }


def _cuts(table: Table, place: int) -> dict[str, Any]:
    """Equal cells over the middle 99 % of the real numbers; values beyond it count at the ends."""
    values = table.columns[place][~np.isnan(table.columns[place])]
    low, high = np.quantile(values, [0.005, 0.995]) if len(values) else (0.0, 1.0)
    low, high = (low, high) if high > low else (low, low + 1)
    distinct = np.unique(values)
    if len(distinct) <= CELLS:
        edges = (distinct[1:] + distinct[:-1]) / 2
        low, high = (distinct[0], distinct[-1]) if len(distinct) else (low, high)
    else:
        edges = np.linspace(low, high, CELLS + 1)[1:-1]
    return {"edges": edges, "size": len(edges) + 1, "shown": {"low": float(low), "high": float(high)}}


def _labels(real: Table, new: Table, place: int, floor: int) -> dict[str, Any]:
    """The largest categories of a column, and the position of each code among them."""
    feature = real.features[place]
    counts = np.bincount(real.columns[place], minlength=len(feature.labels) + 1)
    counts = np.where(counts < floor, 0, counts)
    codes = np.argsort(-counts, kind="stable")[:MAX_LABELS]
    codes = codes[counts[codes] > 0]
    return {"codes": codes, "size": len(codes), "shown": {"labels": [label_of(feature, code) for code in codes]}}


def label_of(feature: Feature, code: int) -> str:
    """The label of a code."""
    return MISSING_WORD if code == MISSING else feature.labels[code - 1]


def _cells(table: Table, places: tuple[int, int], axes: list[dict[str, Any]]) -> NDArray[np.int64]:
    """Count the rows in each cell (first axis, second axis); rows with a missing number have none."""
    codes, there = [], np.ones(table.n_rows, dtype=bool)
    for place, axis in zip(places, axes, strict=True):
        column = table.columns[place]
        if "edges" in axis:
            codes.append(np.searchsorted(axis["edges"], column, side="right"))
            there &= ~np.isnan(column)
        else:
            hits = column[:, None] == axis["codes"][None, :]
            codes.append(hits.argmax(1) if axis["size"] else np.zeros(len(column), dtype=np.int64))
            there &= hits.any(1)
    width = axes[1]["size"]
    keys = codes[0][there] * width + codes[1][there]
    return np.bincount(keys, minlength=axes[0]["size"] * width).reshape(axes[0]["size"], width)


def _boxes(real: Table, new: Table, label: int, value: int, floor: int) -> dict[str, Any]:
    """The spread of a number in each of the largest categories, in both tables."""
    axis, feature = _labels(real, new, label, max(floor, 2)), real.features[value]
    boxes: dict[str, list[list[float] | None]] = {"real": [], "synthetic": []}
    for side, table in (("real", real), ("synthetic", new)):
        for code in axis["codes"]:
            own = table.columns[value][table.columns[label] == code]
            own = own[~np.isnan(own)]
            boxes[side].append(np.quantile(own, QUANTILES).tolist() if len(own) > 1 else None)
    ends = [end for side in boxes.values() for box in side if box for end in box]
    return {
        "type": "boxes",
        "label": str(real.features[label].name),
        "value": str(feature.name),
        "kind": kind_of(feature),
        "unit": feature.unit,
        "labels": axis["shown"]["labels"],
        "low": min(ends, default=0.0),
        "high": max(ends, default=1.0),
        **boxes,
    }
