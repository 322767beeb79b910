"""Compares sequences (the ordered rows of a parent): their lengths, spacing, and how each row follows from the last.

Every measure is a similarity: 1 is best.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.links import Link, Tables, parent_numbers
from ..data.schema import MEASURED, Column, Schema
from .aggregates import in_numbers
from .metrics.fidelity import ks_complement

MAX_LABELS = 20
"""Labels of a column whose transitions are compared; rarer ones count as one."""


def sequence_scores(
    real: Tables, synthetic: Tables, link: Link, order: Any, schema: Schema, own: Sequence[Any]
) -> dict[str, float]:
    """Lengths, spacing, validity of the order, autocorrelation and transitions of the rows of a link's parents."""
    real, synthetic = (_with_numbers(tables, link, order, schema.column(order)) for tables in (real, synthetic))
    sides = [_ordered(tables, link, order) for tables in (real, synthetic)]
    scores = {
        "lengths": ks_complement(*(_lengths(tables, link) for tables in (real, synthetic))),
        "spacing": ks_complement(*(_steps(rows, order) for rows in sides)),
        "order": 1 - abs(_in_order(real, link, order) - _in_order(synthetic, link, order)),
    }
    correlations, transitions = [], []
    for column in own:
        if column == order:
            continue
        if schema.column(column).kind in MEASURED:
            found = [_autocorrelation(rows, column) for rows in sides]
            if not any(np.isnan(found)):
                correlations.append(1 - abs(found[0] - found[1]) / 2)
        else:
            transitions.append(_transitions(sides[0], sides[1], column))
    if correlations:
        scores["autocorrelation"] = float(np.mean(correlations))
    if transitions:
        scores["transitions"] = float(np.nanmean(transitions))
    return {name: score for name, score in scores.items() if not np.isnan(score)}


def _with_numbers(tables: Tables, link: Link, order: Any, column: Column) -> Tables:
    """The tables, with an ordering column of dates or numbers that are written as text read as numbers."""
    rows = tables[link.child]
    if column.kind not in MEASURED or pd.api.types.is_numeric_dtype(rows[order].dtype):
        return tables
    if pd.api.types.is_datetime64_any_dtype(rows[order].dtype):
        return tables
    numbers = pd.Series(np.nan, index=rows.index)
    known = rows[order].notna()
    numbers[known] = column.read(rows[order][known]).astype(np.float64)
    rows = rows.copy()
    rows[order] = numbers
    return {**tables, link.child: rows}


def _ordered(tables: Tables, link: Link, order: Any) -> pd.DataFrame:
    """Rows in the order of their parents, each with the number of its parent."""
    parents = parent_numbers(tables[link.child], tables[link.parent], link)
    rows = tables[link.child].reset_index(drop=True).assign(**{"\0parent": parents})
    return rows[parents >= 0].sort_values(["\0parent", order], kind="stable").reset_index(drop=True)


def _lengths(tables: Tables, link: Link) -> NDArray[np.float64]:
    parents = parent_numbers(tables[link.child], tables[link.parent], link)
    return np.bincount(parents[parents >= 0], minlength=len(tables[link.parent])).astype(np.float64)


def _after(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """Rows that follow one of the same parent."""
    same: NDArray[np.bool_] = (rows["\0parent"] == rows["\0parent"].shift(1)).to_numpy()
    return same


def _steps(rows: pd.DataFrame, order: Any) -> NDArray[np.float64]:
    numbers = in_numbers(rows[order])
    steps: NDArray[np.float64] = (numbers - numbers.shift(1)).to_numpy(dtype=np.float64)[_after(rows)]
    return steps


def _in_order(tables: Tables, link: Link, order: Any) -> float:
    """Share of the rows, in the order of the table, that are not earlier than the previous row."""
    parents = parent_numbers(tables[link.child], tables[link.parent], link)
    numbers = in_numbers(tables[link.child][order].reset_index(drop=True))
    before = numbers.groupby(parents).shift(1)
    known = before.notna() & (parents >= 0)
    return float((numbers >= before)[known].mean()) if known.any() else 1.0


def _autocorrelation(rows: pd.DataFrame, column: Any) -> float:
    """Correlation of a number with that of the row before, over all parents."""
    numbers = in_numbers(rows[column])
    pairs = pd.DataFrame({"own": numbers, "before": numbers.shift(1)})[_after(rows)].dropna()
    if len(pairs) < 3 or pairs.nunique().min() < 2:
        return float("nan")
    return float(pairs["own"].corr(pairs["before"]))


def _transitions(real: pd.DataFrame, synthetic: pd.DataFrame, column: Any) -> float:
    """Similarity of the shares of pairs of labels that follow each other."""
    common = set(real[column].value_counts().index[:MAX_LABELS])
    shares = []
    for rows in (real, synthetic):
        labels = rows[column].where(rows[column].isin(common), "\0other").astype(str)
        pairs = (labels.shift(1).astype(str) + "\0" + labels)[_after(rows)]
        shares.append(pairs.value_counts(normalize=True))
    if not len(shares[0]) or not len(shares[1]):
        return float("nan")
    return float(1 - 0.5 * shares[0].sub(shares[1], fill_value=0).abs().sum())
