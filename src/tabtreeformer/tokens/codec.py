"""A table to value ids and back: one id a category, a bin and its quantiles a number, and so on by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..config import TokenConfig
from ..constraints import Plain, RuleSet, find_constraints
from ..constraints.plain import Bounds
from ..schema import MEASURED, Schema
from .allowed import Allowed, fit_in
from .column import ColumnCodec
from .labels import protected_column
from .layout import Kind, Slot
from .numbering import RowNumbers

NO_RULES = RuleSet()
NOTHING = Slot(Kind.CATEGORY, -1, 1)
"""The only slot of a table in which nothing is to be learned: a row has to have one. It is of no column."""


@dataclass(frozen=True)
class TableCodec:
    """Fitted state of all columns, in table order."""

    schema: Schema
    columns: tuple[ColumnCodec, ...]
    rules: RuleSet = NO_RULES
    """Relations between columns that decoded rows keep."""

    @classmethod
    def learn(
        cls,
        df: pd.DataFrame,
        schema: Schema,
        config: TokenConfig,
        constraints: Sequence[str] | Literal["auto"] | None = None,
    ) -> TableCodec:
        """Fit every column; `df` has passed `Schema.validate`. `auto` finds the relations that hold."""
        schema = protected_schema(schema, df, config.rare_floor)
        columns = tuple(ColumnCodec.learn(df[c.name], c, config) for c in schema.columns)
        if constraints is None or not len(constraints):
            return cls(schema, columns)
        texts = find_constraints(df, schema) if constraints == "auto" else constraints
        return cls(schema, columns, RuleSet.learn(texts, df, schema, config.rare_floor))

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Value slots in table order, the bin before the quantile."""
        slots = tuple(slot for index, codec in enumerate(self.columns) for slot in codec.slots(index))
        return slots or (NOTHING,)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about how columns are treated."""
        kept = (f"every row keeps: {text}" for text in self.rules.texts)
        return (*(codec.note for codec in self.columns if codec.note is not None), *kept)

    def encode(self, df: pd.DataFrame) -> NDArray[np.int64]:
        """Table → local ids (N, D)."""
        parts = [codec.encode(df[codec.column.name]) for codec in self.columns]
        ids = np.concatenate(parts, axis=1)
        return ids if ids.shape[1] else np.zeros((len(df), 1), dtype=np.int64)

    def decode(
        self,
        ids: NDArray[Any],
        rng: np.random.Generator,
        rows: RowNumbers | None = None,
        within: Mapping[int, Allowed] | None = None,
    ) -> pd.DataFrame:
        """Local ids (N, D), any within the slots' sizes → table with the schema's dtypes.

        Where a table is written in parts, `rows` says which of its rows these are: no key comes twice. Values of the
        columns that `within` limits, by their place, stay inside them.
        """
        values, gaps, start = {}, {}, 0
        for place, codec in enumerate(self.columns):
            name, width = codec.column.name, codec.width
            own = ids[:, start : start + width]
            values[name], gaps[name] = codec.decode(own, rng, rows)
            if within and place in within:
                values[name] = fit_in(codec, within[place], own, values[name], gaps[name], rng)
            start += width
        if self.rules.rules:
            self.rules.keep(Plain(values, gaps), self._bounds, rng)
        return self.schema.restore(values, gaps)

    @cached_property
    def _bounds(self) -> dict[str | int, Bounds]:
        """What columns with an order may hold."""
        return {c.column.name: c.bounds for c in self.columns if c.column.kind in MEASURED}

    def to_json(self) -> dict[str, Any]:
        """Plain data, one entry a column, each under the name of its way of coding."""
        return {"columns": [codec.to_json() for codec in self.columns], "rules": self.rules.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], schema: Schema) -> TableCodec:
        """Inverse of `to_json`."""
        pairs = zip(data["columns"], schema.columns, strict=True)
        columns = tuple(ColumnCodec.from_json(entry, column) for entry, column in pairs)
        return cls(schema, columns, RuleSet.from_json(data["rules"], schema))


def protected_schema(schema: Schema, df: pd.DataFrame, floor: int) -> Schema:
    """The schema without categories of a dtype that too few rows have."""
    return replace(schema, columns=tuple(protected_column(c, df[c.name], floor) for c in schema.columns))
