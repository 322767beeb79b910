"""A table to value ids and back: one id per category, a bin and quantile or one interval per number, and so on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..config.settings import TokenConfig
from ..data.schema import IDENTIFIER, MEASURED, Schema
from ..laws import Laws
from ..laws.laws import EVERY_ROW, LEARNED
from .codecs.base import Allowed
from .codecs.column import ColumnCodec
from .codecs.key_repeats import learn_shared, with_shared
from .codecs.labels import protected_column
from .codecs.row_numbers import RowNumbers
from .codecs.stand_ins import with_stand_ins
from .constraints import Plain, RuleSet
from .constraints.plain_columns import Bounds
from .layout import Slot, SlotKind

NO_RULES = RuleSet()
MAX_SAID = 20
"""Maximum number of laws listed during fitting; the summary has all of them."""
NOTHING = Slot(SlotKind.CATEGORY, -1, 1)
"""The only slot of a table with nothing to learn, since every row needs one. It belongs to no column."""


@dataclass(frozen=True)
class TableCodec:
    """Fitted state of all columns that are learned, in table order, and of the laws between columns.

    A table is expressed by its laws before encoding, and restored by them after decoding: `columns` belong to the
    expressed table, `schema` to the table itself.
    """

    schema: Schema
    columns: tuple[ColumnCodec, ...]
    rules: RuleSet = NO_RULES
    """Relations that decoded rows satisfy, for a table learned under differential privacy."""
    found: Laws | None = None
    """Laws of the table; None if there are none."""
    shared: tuple[str | int, ...] = ()
    """Columns whose values are the same in all rows of a key."""

    @classmethod
    def learn(
        cls,
        df: pd.DataFrame,
        schema: Schema,
        config: TokenConfig,
        laws: Laws | None = None,
        units: NDArray[np.int64] | None = None,
    ) -> TableCodec:
        """Fit every column that remains after the laws; `df` has passed `Schema.validate`.

        `units` says which rows belong to the same person (N,): the floor for rare values then counts people, since
        each person counts only once per value.
        """
        schema = with_stand_ins(protected_schema(schema, df, config.rare_floor, units), df)
        if laws is None or not laws.laws:
            columns = (ColumnCodec.learn(once_per_unit(df[c.name], units), c, config) for c in schema.columns)
            return cls(schema, tuple(columns))._sharing(df, config.rare_floor)
        laws = replace(laws, schema=schema)
        expressed = laws.express(df)
        kept = laws.expressed_schema.columns
        columns = (ColumnCodec.learn(once_per_unit(expressed[c.name], units), c, config) for c in kept)
        return cls(schema, tuple(columns), found=laws)._sharing(expressed, config.rare_floor)

    def _sharing(self, df: pd.DataFrame, floor: int) -> TableCodec:
        """The codec with the columns whose values are the same in all rows of a key."""
        key = self._shared_key
        if key is None:
            return self
        others = [c.column.name for c in self.columns if c.column.kind != IDENTIFIER]
        return replace(self, shared=learn_shared(df[key.column.name], df[others], floor))

    @property
    def _shared_key(self) -> ColumnCodec | None:
        """The first key shared by several rows."""
        rows = RowNumbers.first(1)
        return next((c for c in self.columns if c.inner.owners(rows) is not rows), None)

    @cached_property
    def laws(self) -> Laws:
        """The laws of the table."""
        return Laws(self.schema) if self.found is None else self.found

    @property
    def expressed(self) -> Schema:
        """The learned columns: those that remain after the laws."""
        return self.laws.expressed_schema

    @property
    def texts(self) -> tuple[str, ...]:
        """The laws as sentences."""
        return (*self.laws.texts, *self.rules.texts)

    def place_of(self, name: str | int) -> int | None:
        """Position of a column of the table among the learned ones; None if a law computes or replaces it."""
        return self.expressed.names.index(name) if self.laws.passes(name) else None

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Value slots in table order."""
        slots = tuple(slot for index, codec in enumerate(self.columns) for slot in codec.slots(index))
        return slots or (NOTHING,)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about how columns are handled."""
        said = [*self.laws.announced(), *(f"{EVERY_ROW}: {text}" for text in self.rules.texts)]
        known = [name for name in self.shared if name in self.laws.schema.names]  # laws learn columns of their own too
        if self._shared_key is not None and known:
            names = ", ".join(map(repr, known))
            said.append(f"{LEARNED}: rows that share {self._shared_key.column.name!r} have the same {names}")
        more = (f"… and {len(said) - MAX_SAID:,} more laws",) if len(said) > MAX_SAID else ()
        return (*(codec.note for codec in self.columns if codec.note is not None), *said[:MAX_SAID], *more)

    def encode(self, df: pd.DataFrame) -> NDArray[np.int64]:
        """Table → local ids (N, D)."""
        return self.encode_expressed(self.laws.express(df))

    def encode_expressed(self, df: pd.DataFrame) -> NDArray[np.int64]:
        """Expressed table → local ids (N, D)."""
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
        """Any valid local ids (N, D) → table with the schema's dtypes.

        If a table is written in parts, `rows` says which of its rows these are, so that no key occurs twice. Values
        of columns that `within` limits, by position, stay inside the limits.
        """
        return self.laws.restore(self.decode_expressed(ids, rng, rows, within), rng)

    def decode_expressed(
        self,
        ids: NDArray[Any],
        rng: np.random.Generator,
        rows: RowNumbers | None = None,
        within: Mapping[int, Allowed] | None = None,
    ) -> pd.DataFrame:
        """Local ids (N, D) → the table that `Laws.restore` expects."""
        values, gaps, start = {}, {}, 0
        owners = self._owners(rows or RowNumbers.first(len(ids)), ids)
        for place, codec in enumerate(self.columns):
            name, width = codec.column.name, codec.width
            own = ids[:, start : start + width]
            numbered = owners if codec.column.kind != IDENTIFIER else rows
            values[name], gaps[name] = codec.decode(own, rng, numbered)
            if within and place in within:
                values[name] = codec.move_into(within[place], own, values[name], gaps[name], rng)
            start += width
        if self.rules.rules:
            self.rules.keep(Plain(values, gaps), self._bounds, rng)
        if not self.columns:
            return pd.DataFrame(index=range(len(ids)))
        return self.expressed.restore(values, gaps)

    def with_shared(self, expressed: pd.DataFrame, rows: RowNumbers) -> pd.DataFrame:
        """For rows that are free or all under the same conditions: rows of a key get the values they share."""
        key = self._shared_key
        return expressed if key is None else with_shared(expressed, self.shared, key.inner.owners(rows))

    def _owners(self, rows: RowNumbers, ids: NDArray[Any]) -> RowNumbers:
        """The owner of each row: rows that share a key share the names made up for it.

        If every row is a different person, its names are a woman's or a man's, according to its ids.
        """
        for codec in self.columns:
            owners = codec.inner.owners(rows)
            if owners is not rows:
                return owners
        start = 0
        for codec in self.columns:
            people = codec.people(ids[:, start : start + codec.width])
            if people is not None:
                return replace(rows, people=people)
            start += codec.width
        return rows

    @cached_property
    def _bounds(self) -> dict[str | int, Bounds]:
        """The values that ordered columns may have."""
        return {c.column.name: c.bounds for c in self.columns if c.column.kind in MEASURED}

    def to_json(self) -> dict[str, Any]:
        """Plain data, one entry per column, each under the name of its codec."""
        plain = {"columns": [codec.to_json() for codec in self.columns], "rules": self.rules.to_json()}
        shared = {"shared": list(self.shared)} if self.shared else {}
        return plain | ({"laws": self.laws.to_json()} if self.laws.laws else {}) | shared

    @classmethod
    def from_json(cls, data: Mapping[str, Any], schema: Schema) -> TableCodec:
        """Inverse of `to_json`."""
        laws = Laws.from_json(data.get("laws", []), schema)
        pairs = zip(data["columns"], laws.expressed_schema.columns, strict=True)
        columns = tuple(ColumnCodec.from_json(entry, column) for entry, column in pairs)
        shared = tuple(data.get("shared", ()))
        if not {*shared} <= {*laws.expressed_schema.names}:
            raise ValueError("rows of a key share a column that there is not")
        rules = RuleSet.from_json(data["rules"], schema)
        return cls(schema, columns, rules, laws if laws.laws else None, shared)


def protected_schema(schema: Schema, df: pd.DataFrame, floor: int, units: NDArray[np.int64] | None = None) -> Schema:
    """The schema without dtype categories that too few rows have, or too few people if `units` are given."""
    columns = (protected_column(c, once_per_unit(df[c.name], units), floor) for c in schema.columns)
    return replace(schema, columns=tuple(columns))


def once_per_unit(values: pd.Series, units: NDArray[np.int64] | None) -> pd.Series:
    """Each value once per person; all values if there are no `units`."""
    if units is None:
        return values
    repeated = pd.DataFrame({"unit": units, "value": values.to_numpy()}).duplicated().to_numpy()
    return values[~repeated]
