"""One column of the table to ids and back, whatever its kind; missing values have an id of their own.

Where a missing value goes, by the first slots of the column:

    category, or ids without bins   one more id
    a bin that limits its ids       one more bin, and in it one more id, which is an atom
    a bin that does not (the        one more bin; the quantile is 0 and says nothing
      paper's numbers)
    no slot (keys)                  a category of two ids: there, or missing

All further slots of a missing value hold 0 and say nothing. With a `rare_floor`, fewer missing values than that have no
id: they are taken for the commonest ids of the column, and are not written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..config import TokenConfig
from ..constraints.plain import Bounds
from ..errors import SchemaError
from ..schema import (
    BOOLEAN,
    CATEGORICAL,
    CONSTANT,
    DATETIME,
    IDENTIFIER,
    NUMERIC,
    TEXT,
    TIMEDELTA,
    Column,
)
from .atoms import AtomCodec
from .labels import LabelCodec
from .layout import Kind, Slot
from .numbering import RowNumbers
from .numeric import Ids, NumericCodec
from .times import TickCodec, TimeCodec
from .written import KeyCodec, TextCodec


@dataclass(frozen=True)
class ConstantCodec:
    """One value in every row, or none in any."""

    value: Any

    def slots(self, column: int) -> tuple[Slot, ...]:
        """None."""
        return ()

    def encode(self, values: pd.Series) -> Ids:
        """Values (N,) → ids (N, 0)."""
        return np.empty((len(values), 0), dtype=np.int64)

    def decode(self, ids: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """The value, as often as there are rows."""
        dtype = object if self.value is None or isinstance(self.value, str | bool) else None
        if isinstance(self.value, int) and self.value > np.iinfo(np.int64).max:
            dtype = np.uint64
        return np.full(len(ids), self.value, dtype=dtype)

    def to_json(self) -> Any:
        """Plain data."""
        return self.value

    @classmethod
    def from_json(cls, data: Any) -> ConstantCodec:
        """Inverse of `to_json`."""
        return cls(data)


Inner = LabelCodec | NumericCodec | AtomCodec | TickCodec | TimeCodec | KeyCodec | TextCodec | ConstantCodec
CODECS: Mapping[str, type[Inner]] = {
    "labels": LabelCodec,
    "quantile": NumericCodec,
    "atoms": AtomCodec,
    "ticks": TickCodec,
    "times": TimeCodec,
    "key": KeyCodec,
    "text": TextCodec,
    "constant": ConstantCodec,
}
NAMES = {codec: name for name, codec in CODECS.items()}
ALLOWED = {
    NUMERIC: ("quantile", "atoms"),
    CATEGORICAL: ("labels", "text"),
    BOOLEAN: ("labels",),
    DATETIME: ("times",),
    TIMEDELTA: ("ticks",),
    IDENTIFIER: ("key",),
    TEXT: ("text",),
    CONSTANT: ("constant",),
}
"""How columns of a kind are coded."""


@dataclass(frozen=True)
class ColumnCodec:
    """Fitted state of one column: that of its values, and whether any may be missing."""

    column: Column
    inner: Inner
    missing: bool
    common: tuple[int, ...] | None = None
    """Ids that stand for a missing value where too few rows lack one; None elsewhere."""

    @classmethod
    def learn(cls, series: pd.Series, column: Column, config: TokenConfig) -> ColumnCodec:
        """Fit the column; `series` has passed `Schema.validate`."""
        there = series[series.notna()]
        gaps = len(series) - len(there)
        values = column.read(there)
        if column.kind != CONSTANT and 0 < len(there) < min(config.rare_floor, len(series)):
            return cls(column, ConstantCodec(None), True)  # too few values to learn any: all are missing
        inner = _learn(column, values, config, gaps > 0)
        if not 0 < gaps < config.rare_floor or column.kind == CONSTANT:
            return cls(column, inner, gaps > 0)
        ids = inner.encode(values)
        return cls(column, inner, False, tuple(int(np.bincount(ids[:, k]).argmax()) for k in range(ids.shape[1])))

    @cached_property
    def _inner_slots(self) -> tuple[Slot, ...]:
        return self.inner.slots(0)

    @property
    def width(self) -> int:
        """How many slots the column has."""
        return len(self.slots(0))

    def slots(self, index: int) -> tuple[Slot, ...]:
        """The slots of the column that stands in place `index`."""
        slots = self.inner.slots(index)
        if not self.missing or isinstance(self.inner, ConstantCodec):
            return slots
        if not slots:
            return (Slot(Kind.CATEGORY, index, 2),)
        first, *rest = slots
        if first.kind == Kind.BIN and rest[0].ranges:
            ids = rest[0]
            more = replace(
                ids, size=ids.size + 1, ranges=(*ids.ranges, (ids.size, ids.size + 1)), atoms=ids.atoms | {ids.size}
            )
            return (replace(first, size=first.size + 1), more, *rest[1:])
        atoms = first.atoms | {first.size} if first.kind == Kind.QUANTILE else first.atoms
        return (replace(first, size=first.size + 1, atoms=atoms), *rest)

    @cached_property
    def marks(self) -> dict[int, int]:
        """Slot of the column → its id of a missing value, where there may be any; the last decides when decoding."""
        slots = self._inner_slots
        if not slots:
            return {0: 1}
        if slots[0].kind == Kind.BIN and slots[1].ranges:
            return {0: slots[0].size, 1: slots[1].size}
        return {0: slots[0].size}

    def encode(self, series: pd.Series) -> Ids:
        """Values (N,) → ids (N, width)."""
        gaps = series.isna().to_numpy()
        if gaps.any() and not self.missing and self.common is None:
            raise SchemaError(
                f"column {self.column.name!r} has no value in row {int(np.argmax(gaps))}, and had all when fitting; "
                f"drop the row or refit with it included"
            )
        ids = np.zeros((len(series), self.width), dtype=np.int64)
        if isinstance(self.inner, ConstantCodec):
            return ids
        inner = self.inner.encode(self.column.read(series[~gaps]))
        ids[np.flatnonzero(~gaps), : inner.shape[1]] = inner
        if gaps.any() and self.common is not None:
            ids[gaps] = self.common
        elif gaps.any() and self.width:
            for slot, mark in self.marks.items():
                ids[gaps, slot] = mark
        return ids

    def decode(
        self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Any ids within the slots → plain values (N,) and where they are missing (N,)."""
        gaps = np.zeros(len(ids), dtype=bool)
        if isinstance(self.inner, ConstantCodec):
            gaps[:] = self.inner.value is None
        elif self.missing:
            slot, mark = list(self.marks.items())[-1]
            gaps = ids[:, slot] == mark
            # What stands in the slots of a missing value is nothing to decode: 0 always is.
            ids = np.where(gaps[:, None], 0, ids)
        ids = ids[:, : len(self._inner_slots)]
        if isinstance(self.inner, KeyCodec | TextCodec):
            return self.inner.decode(ids, rng, rows), gaps
        return self.inner.decode(ids, rng), gaps

    @property
    def bounds(self) -> Bounds:
        """What a column with an order may hold."""
        inner = self.inner
        if isinstance(inner, ConstantCodec):  # too few rows had a value: none is written
            return Bounds(lambda values, up: values, -np.inf, np.inf, None)
        assert isinstance(inner, NumericCodec | AtomCodec | TickCodec | TimeCodec)
        return Bounds(inner.settle, inner.low, inner.high, getattr(inner, "decimals", 0))

    @property
    def note(self) -> str | None:
        """What the user should know about how the column is treated."""
        return f"{self.column.name!r}: {self.inner.note}" if isinstance(self.inner, KeyCodec | TextCodec) else None

    def to_json(self) -> dict[str, Any]:
        """Plain data under the name of the way of coding."""
        plain = {NAMES[type(self.inner)]: self.inner.to_json()} | ({"missing": True} if self.missing else {})
        return plain | ({"common": list(self.common)} if self.common is not None else {})

    @classmethod
    def from_json(cls, data: Mapping[str, Any], column: Column) -> ColumnCodec:
        """Inverse of `to_json`."""
        missing = bool(data.get("missing", False))
        names = [name for name in data if name not in ("missing", "common")]
        if len(names) != 1 or names[0] not in (*ALLOWED[column.kind], "constant"):
            raise ValueError(f"column {column.name!r} is {column.kind} but coded as {', '.join(names)}")
        codec = cls(column, CODECS[names[0]].from_json(data[names[0]]), missing)
        return codec if data.get("common") is None else replace(codec, common=_ids_of(codec, data["common"]))


def _learn(column: Column, values: pd.Series, config: TokenConfig, gaps: bool) -> Inner:
    """Fit what is there of a column."""
    kind = column.kind
    if kind == NUMERIC:
        return (AtomCodec if config.scheme == "atoms" else NumericCodec).learn(values, config)
    if kind == DATETIME:
        return TimeCodec.learn(values, column.unit, config)
    if kind == TIMEDELTA:
        return TickCodec.learn(values, column.unit, config)
    if kind == IDENTIFIER:
        return KeyCodec.learn(values, column, config)
    if kind == TEXT:
        return TextCodec.learn(values, column, config)
    if kind == CONSTANT:
        return _constant(column, values, gaps)
    if kind == BOOLEAN and values.nunique() > 2:
        raise SchemaError(f"column {column.name!r} is boolean in the schema and has {values.nunique():,} values")
    labels = LabelCodec.learn(values, column, config.rare_floor)
    if labels is None:  # every value is rare, and any text may be written
        return TextCodec.learn(values, column, config)
    return labels


def _ids_of(codec: ColumnCodec, ids: Any) -> tuple[int, ...]:
    """Ids of one value, if the column has such."""
    sizes = [slot.size for slot in codec.slots(0)]
    if len(ids) != len(sizes) or not all(type(i) is int and 0 <= i < n for i, n in zip(ids, sizes, strict=True)):
        raise ValueError(f"column {codec.column.name!r} takes missing values for ids that it does not have")
    return tuple(ids)


def _constant(column: Column, values: pd.Series, gaps: bool) -> ConstantCodec:
    distinct = values.unique().tolist()
    if len(distinct) + (gaps and bool(distinct)) > 1:
        raise SchemaError(
            f"column {column.name!r} is constant in the schema, and holds {distinct[0]!r} and "
            f"{'missing values' if gaps else repr(distinct[1])}; infer the schema anew"
        )
    return ConstantCodec(distinct[0] if distinct else None)
