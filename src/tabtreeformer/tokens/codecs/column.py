"""One column of the table to ids and back, whatever its kind; missing values have their own id.

How a missing value is encoded, depending on the first slot of the column:

    category, or interval of a number   one more id; for a number it is an atom
    bin (the paper's numbers)           one more bin; the quantile is 0 and means nothing
    no slot (keys)                      a category of two ids: present, or missing

All other slots of a missing value are 0 and mean nothing. With a `rare_floor`, fewer missing values than that get no
id: they are encoded as the most common ids of the column, and are never written.

Shapes: `N` values, `S` ids of a slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...config.settings import TokenConfig
from ...data.schema import CONSTANT, Column
from ...errors import ConditionError, SchemaError
from ..conditions import Condition
from ..constraints.plain_columns import Bounds
from ..layout import Slot, SlotKind
from .base import Allowed, Codec, Floats, Ids, Mask, Span
from .constant import ConstantCodec
from .registry import codec_class, learn_codec
from .row_numbers import RowNumbers


@dataclass(frozen=True)
class ColumnCodec:
    """Fitted state of one column: the codec of its values, and whether any may be missing."""

    column: Column
    inner: Codec
    missing: bool
    common: tuple[int, ...] | None = None
    """Ids that encode a missing value if too few rows have one; otherwise None."""

    @classmethod
    def learn(cls, series: pd.Series, column: Column, config: TokenConfig) -> ColumnCodec:
        """Fit the column; `series` has passed `Schema.validate`."""
        there = series[series.notna()]
        gaps = len(series) - len(there)
        values = column.read(there)
        if column.kind == CONSTANT and gaps and len(there):
            raise SchemaError(
                f"column {column.name!r} is constant in the schema, and holds {values.iloc[0]!r} and missing values; "
                f"infer the schema again"
            )
        if column.kind != CONSTANT and 0 < len(there) < min(config.rare_floor, len(series)):
            return cls(column, ConstantCodec(None), True)  # too few values to learn any: treat all as missing
        inner = learn_codec(values, column, config)
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
        """The slots of the column at this index."""
        slots = self.inner.slots(index)
        if not self.missing or self.inner.is_constant():
            return slots
        if not slots:
            return (Slot(SlotKind.CATEGORY, index, 2),)
        first, *rest = slots
        atoms = first.atoms | {first.size} if first.kind == SlotKind.QUANTILE else first.atoms
        return (replace(first, size=first.size + 1, atoms=atoms), *rest)

    @property
    def missing_id(self) -> int:
        """The id of a missing value in the column's first slot, if values may be missing."""
        return self._inner_slots[0].size if self._inner_slots else 1

    def encode(self, series: pd.Series) -> Ids:
        """Values (N,) → ids (N, width)."""
        gaps = series.isna().to_numpy()
        if gaps.any() and not self.missing and self.common is None:
            raise SchemaError(
                f"column {self.column.name!r} has no value in row {int(np.argmax(gaps))}, and had one in every row "
                f"when fitting; drop the row or refit with it included"
            )
        ids = np.zeros((len(series), self.width), dtype=np.int64)
        if self.inner.is_constant():
            return ids
        inner = self.inner.encode(self.column.read(series[~gaps]))
        ids[np.flatnonzero(~gaps), : inner.shape[1]] = inner
        if gaps.any() and self.common is not None:
            ids[gaps] = self.common
        elif gaps.any() and self.width:
            ids[gaps, 0] = self.missing_id
        return ids

    def decode(
        self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None
    ) -> tuple[NDArray[Any], Mask]:
        """Any valid ids (N, width) → plain values (N,) and where they are missing (N,)."""
        gaps = np.full(len(ids), self.inner.is_empty())
        if self.missing and not self.inner.is_constant():
            gaps = ids[:, 0] == self.missing_id
            # The slots of a missing value may contain anything, but 0 can always be decoded.
            ids = np.where(gaps[:, None], 0, ids)
        return self.inner.decode(ids[:, : len(self._inner_slots)], rng, rows), gaps

    def people(self, ids: NDArray[Any]) -> NDArray[np.int64] | None:
        """The category of the person in each row (N,), if the column has one; arbitrary for missing values."""
        own = ids[:, : len(self._inner_slots)]
        if self.missing and own.shape[1]:
            own = np.where((ids[:, 0] == self.missing_id)[:, None], 0, own)
        return self.inner.people(own)

    @property
    def bounds(self) -> Bounds:
        """The values that an ordered column may have."""
        bounds = self.inner.bounds()
        assert bounds is not None
        return bounds

    @property
    def note(self) -> str | None:
        """What the user should know about how the column is handled."""
        note = self.inner.note()
        return None if note is None else f"{self.column.name!r}: {note}"

    # ---- conditions and likelihoods

    def allow(self, condition: Condition) -> Allowed:
        """What a condition allows in the column, or an error that says why it allows nothing."""
        if condition.operator == "missing":
            return self._allow_missing(condition)
        allowed = self.inner.allow(condition, self.column)
        if not self.missing:
            return allowed
        slots = self.slots(0)
        if not slots:
            return allowed
        present = np.arange(slots[0].size) != self.missing_id
        if allowed.masks and allowed.masks[0] is not None:
            present[: self.missing_id] = allowed.masks[0]
        return Allowed((present, *allowed.masks[1:]), allowed.spans)

    def _allow_missing(self, condition: Condition) -> Allowed:
        if self.inner.is_empty():
            return Allowed(())
        if not self.missing:
            had = "no missing values" if self.common is None else "too few missing values to learn any"
            raise ConditionError(f"column {self.column.name!r} had {had} when fitting; {condition} is impossible")
        first, *rest = self.slots(0)
        return Allowed((np.arange(first.size) == self.missing_id, *(None for _ in rest)))

    def move_into(
        self, allowed: Allowed, ids: NDArray[Any], values: NDArray[Any], gaps: Mask, rng: np.random.Generator
    ) -> NDArray[Any]:
        """Move decoded values of allowed ids into the spans; values already inside stay unchanged."""
        outside = np.flatnonzero(~_inside(values, allowed.spans) & ~gaps) if allowed.spans else np.empty(0, np.int64)
        if not len(outside):
            return values
        moved = values.copy()
        own = ids[outside, : len(self._inner_slots)]
        moved[outside] = self.inner.draw_within(allowed.spans, own, values[outside], rng)
        return moved

    def meets(self, allowed: Allowed, series: pd.Series) -> Mask:
        """Which values of a column meet the condition that `allowed` came from."""
        if not self.missing and self.common is None and series.isna().any():
            # A law has emptied a column learned without gaps: a missing value meets no condition.
            whole = series.notna().to_numpy()
            met = np.zeros(len(series), dtype=bool)
            met[whole] = self.meets(allowed, series[whole])
            return met
        ids = self.encode(series)
        met = np.ones(len(series), dtype=bool)
        for place, mask in enumerate(allowed.masks):
            if mask is not None:
                met &= mask[ids[:, place]]
        if allowed.spans:
            there = series.notna().to_numpy()
            bounds = self.bounds  # a value beyond them counts as the nearest one the column may have
            values = np.clip(self.column.read(series[there]).to_numpy(), bounds.low, bounds.high)
            met[there] &= _inside(values, allowed.spans)
        return met

    def log_widths(self, ids: NDArray[Any]) -> Floats:
        """Log of the width that each row's ids represent (N,); 0 for a missing value."""
        if not self._inner_slots:
            return np.zeros(len(ids))
        logs = self.inner.log_widths(ids[:, : len(self._inner_slots)])
        return np.where(ids[:, 0] == self.missing_id, 0.0, logs) if self.missing else logs

    # ---- plain data

    def to_json(self) -> dict[str, Any]:
        """Plain data under the name of the codec."""
        plain = {self.inner.name: self.inner.to_json()} | ({"missing": True} if self.missing else {})
        return plain | ({"common": list(self.common)} if self.common is not None else {})

    @classmethod
    def from_json(cls, data: Mapping[str, Any], column: Column) -> ColumnCodec:
        """Inverse of `to_json`."""
        missing = bool(data.get("missing", False))
        names = [name for name in data if name not in ("missing", "common")]
        if len(names) != 1:
            raise ValueError(f"column {column.name!r} is {column.kind} but coded as {', '.join(names)}")
        codec = cls(column, codec_class(names[0], column).from_json(data[names[0]]), missing)
        return codec if data.get("common") is None else replace(codec, common=_ids_of(codec, data["common"]))


def _inside(values: NDArray[Any], spans: tuple[Span, ...]) -> Mask:
    """Which values are inside a span (N,)."""
    inside = np.zeros(len(values), dtype=bool)
    for low, high in spans:
        inside |= (values >= low) & (values <= high)
    return inside


def _ids_of(codec: ColumnCodec, ids: Any) -> tuple[int, ...]:
    """The ids of one value, if the column has any."""
    sizes = [slot.size for slot in codec.slots(0)]
    if len(ids) != len(sizes) or not all(type(i) is int and 0 <= i < n for i, n in zip(ids, sizes, strict=True)):
        raise ValueError(f"column {codec.column.name!r} encodes missing values as ids that it does not have")
    return tuple(ids)
