"""Laws of the training rows, and how often they hold in other rows.

Shape and Trend do not detect whether a total is the sum of its parts. Laws are found in the training rows and checked
in every row, independently of the generator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.schema import CATEGORICAL, DATETIME, NUMERIC, TIMEDELTA, Column, Schema
from ...laws.base import Cells, Frame, Law
from ...laws.find import searched_laws
from ..context import Context
from ..encoding import MISSING, Feature, Table
from ..references import Tables
from ..score import Measurement

MAX_ROWS = 20_000
"""Rows of each table that laws are checked in."""
MIN_KEPT = 0.95
"""A law holds in at least this share of the training rows that it applies to."""
MIN_APPLIES = 20
"""Minimum rows that a law must apply to for its share to be meaningful."""
MAX_TICKS = 2.0**62


@dataclass(frozen=True)
class Found:
    """A law of the training rows."""

    law: Law
    train: float
    """Share of the training rows that keep it, among those that it applies to."""


def laws(tables: Tables, context: Context) -> Measurement:
    """Mean share of rows that keep a law, over all laws of the training rows."""
    found = found_laws(tables, context)
    if not found:
        return Measurement(np.nan, {"laws": []}, "no laws were found in the training rows")
    frame = as_frame(tables.synthetic.sample(MAX_ROWS, context.rng()), tables.train)
    holdout = None if tables.test is None else as_frame(tables.test.sample(MAX_ROWS, context.rng()), tables.train)
    records = [_record(own, frame, holdout) for own in found]
    measured = [record for record in records if record["synthetic"] is not None]
    if not measured:
        return Measurement(np.nan, {"laws": records}, "no law applies to enough of the rows")
    worst = max(measured, key=lambda record: _short(record))
    value = float(np.mean([record["synthetic"] for record in measured]))
    note = (
        f"worst: {worst['law']}, kept by {worst['synthetic']:.1%} of the rows it applies to ({_real(worst):.1%} real)"
    )
    return Measurement(value, {"laws": records, "worst": worst}, note)


def found_laws(tables: Tables, context: Context) -> list[Found]:
    """Laws of the training rows, found once per evaluation."""
    return context.once("laws", lambda: _search(tables.train, context))


def _search(train: Table, context: Context) -> list[Found]:
    frame = as_frame(train.sample(MAX_ROWS, context.rng()), train)
    found = []
    for law in searched_laws(frame, floor=1, rng=context.rng()):
        applies, keeps = law.holds(frame)
        share = float(keeps.sum() / max(applies.sum(), 1))
        if applies.sum() >= MIN_APPLIES and share >= MIN_KEPT:
            found.append(Found(law, share))
    return found


def kept(law: Law, frame: Frame) -> float | None:
    """Share of the rows of a table that keep a law; None where it applies to too few."""
    applies, keeps = law.holds(frame)
    return float(keeps.sum() / applies.sum()) if applies.sum() >= MIN_APPLIES else None


def _record(own: Found, frame: Frame, holdout: Frame | None) -> dict[str, Any]:
    """One law and the shares of rows that keep it."""
    return {
        "law": own.law.text,
        "train": own.train,
        "holdout": None if holdout is None else kept(own.law, holdout),
        "synthetic": kept(own.law, frame),
    }


def _real(record: dict[str, Any]) -> float:
    """Share of real rows that keep a law: of those held out, where there are enough."""
    return float(record["train"] if record["holdout"] is None else record["holdout"])


def _short(record: dict[str, Any]) -> float:
    """By how much fewer synthetic rows keep a law than real ones do."""
    return _real(record) - float(record["synthetic"])


def as_frame(table: Table, train: Table) -> Frame:
    """A table of arrays as the frame that laws are checked in; numbers that are whole in `train` become whole."""
    columns, cells = [], {}
    for feature, own, real in zip(table.features, table.columns, train.columns, strict=True):
        column, values, gaps = _labels(feature, own) if feature.categorical else _numbers(feature, own, real)
        columns.append(column)
        cells[feature.name] = Cells(values, gaps)
    return Frame(Schema(tuple(columns)), cells, table.n_rows)


def _labels(feature: Feature, codes: NDArray[Any]) -> tuple[Column, NDArray[Any], NDArray[np.bool_]]:
    names = np.array([None, *feature.labels], dtype=object)
    return Column(feature.name, CATEGORICAL, "object"), names[codes], codes == MISSING


def _numbers(
    feature: Feature, numbers: NDArray[np.float64], real: NDArray[np.float64]
) -> tuple[Column, NDArray[Any], NDArray[np.bool_]]:
    gaps = np.isnan(numbers)
    plain = np.where(gaps, 0.0, numbers)
    if feature.unit:
        kind, dtype = (DATETIME, "datetime64[us]") if feature.unit == "time" else (TIMEDELTA, "timedelta64[us]")
        ticks = np.clip(np.rint(plain * 1e6), -MAX_TICKS, MAX_TICKS).astype(np.int64)
        return Column(feature.name, kind, dtype), ticks, gaps
    known = real[~np.isnan(real)]
    whole = (known == np.rint(known)).all() and np.abs(known).max(initial=0) < MAX_TICKS
    if whole and (plain == np.rint(plain)).all() and np.abs(plain).max(initial=0) < MAX_TICKS:
        return Column(feature.name, NUMERIC, "int64"), plain.astype(np.int64), gaps
    return Column(feature.name, NUMERIC, "int64" if whole else "float64"), plain, gaps
