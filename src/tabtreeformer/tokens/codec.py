"""A table to value ids and back: one id a category, a bin and its quantiles a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..config import TokenConfig
from ..schema import NUMERIC, Labels, Schema
from .atoms import AtomCodec
from .layout import Kind, Slot
from .numeric import NumericCodec


@dataclass(frozen=True)
class TableCodec:
    """Fitted state of all columns, in table order."""

    schema: Schema
    columns: tuple[Labels | NumericCodec | AtomCodec, ...]

    @classmethod
    def learn(cls, df: pd.DataFrame, schema: Schema, config: TokenConfig) -> TableCodec:
        """Fit every column; `df` has passed `Schema.validate`."""
        return cls(
            schema,
            tuple(
                _NUMERIC[config.scheme].learn(df[c.name], config) if c.kind == NUMERIC else Labels.learn(df[c.name])
                for c in schema.columns
            ),
        )

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Value slots in table order, the bin before the quantile."""
        slots: list[Slot] = []
        for index, codec in enumerate(self.columns):
            if isinstance(codec, Labels):
                slots.append(Slot(Kind.CATEGORY, index, len(codec.values)))
            elif isinstance(codec, AtomCodec):
                if codec.bin_starts:
                    slots.append(Slot(Kind.BIN, index, len(codec.bin_starts)))
                slots.append(Slot(Kind.QUANTILE, index, len(codec.lows), codec.ranges, codec.atoms))
            else:
                kinds = [Kind.BIN] + [Kind.QUANTILE] * (len(codec.sizes) - 1)
                slots += [Slot(kind, index, size) for kind, size in zip(kinds, codec.sizes, strict=True)]
        return tuple(slots)

    def encode(self, df: pd.DataFrame) -> NDArray[np.int64]:
        """Table → local ids (N, D)."""
        parts = []
        for column, codec in zip(self.schema.columns, self.columns, strict=True):
            ids = codec.encode(df[column.name])
            parts.append(ids[:, None] if isinstance(codec, Labels) else ids)
        return np.concatenate(parts, axis=1)

    def decode(self, ids: NDArray[Any], rng: np.random.Generator) -> pd.DataFrame:
        """Local ids (N, D), any within the slots' sizes → table with the schema's dtypes."""
        values, start = {}, 0
        for column, codec in zip(self.schema.columns, self.columns, strict=True):
            if isinstance(codec, Labels):
                values[column.name] = codec.decode(ids[:, start])
                start += 1
            else:
                width = len(codec.sizes)
                values[column.name] = codec.decode(ids[:, start : start + width], rng)
                start += width
        return self.schema.restore(values)

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data, one entry a column, each under the name of its way of coding."""
        return [
            {"labels": list(c.values)} if isinstance(c, Labels) else {_NAMES[type(c)]: c.to_json()}
            for c in self.columns
        ]

    @classmethod
    def from_json(cls, data: list[Mapping[str, Any]], schema: Schema) -> TableCodec:
        """Inverse of `to_json`."""
        columns: list[Labels | NumericCodec | AtomCodec] = []
        for column, entry in zip(schema.columns, data, strict=True):
            (name, state), *more = entry.items()
            if more or (name == "labels") == (column.kind == NUMERIC):
                raise ValueError(f"column {column.name!r} is {column.kind} but coded as {', '.join(entry)}")
            columns.append(Labels(tuple(state)) if name == "labels" else _NUMERIC[name].from_json(state))
        return cls(schema, tuple(columns))


_NUMERIC: Mapping[str, type[NumericCodec] | type[AtomCodec]] = {"quantile": NumericCodec, "atoms": AtomCodec}
_NAMES = {codec: name for name, codec in _NUMERIC.items()}
