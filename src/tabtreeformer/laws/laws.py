"""The laws of one table: a stack that is expressed from first to last and restored from last to first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.schema import Schema
from ..errors import SchemaError
from .base import Frame, Law, Name
from .forms import FORMS

EVERY_ROW, LEARNED = "every row keeps", "also learned"
"""Prefixes of printed laws: kept by every new row, or broken by some rows of the table."""


@dataclass(frozen=True)
class Laws:
    """Laws in the order of expression, and the schema of the original table."""

    schema: Schema
    laws: tuple[Law, ...] = ()
    given: tuple[Name, ...] = ()
    """Columns that laws read and never write, because they are known before a row is written."""

    @cached_property
    def schemas(self) -> tuple[Schema, ...]:
        """The schema before each law, and after the last."""
        schemas = [self.schema]
        for law in self.laws:
            schemas.append(law.reshape(schemas[-1]))
        return tuple(schemas)

    @property
    def expressed_schema(self) -> Schema:
        """The schema of the columns that remain to be learned."""
        return self.schemas[-1]

    def express(self, df: pd.DataFrame) -> pd.DataFrame:
        """Turn a table of the schema into the shorter table that is tokenized."""
        if not self.laws:
            return df
        frame = Frame.read(df, self.schema)
        for law in self.laws:
            frame = law.express(frame)
        return frame.table()

    def restore(self, df: pd.DataFrame, rng: np.random.Generator, names: Sequence[Name] | None = None) -> pd.DataFrame:
        """Inverse of `express`: all columns of the schema, with order and dtypes, or only some of them."""
        if not self.laws:
            return df if names is None else df[list(names)]
        frame = Frame.read(df, self.expressed_schema)
        for law, before in zip(reversed(self.laws), reversed(self.schemas[:-1]), strict=True):
            frame = law.restore(frame, rng, before)
        return frame.table(names)

    @property
    def texts(self) -> tuple[str, ...]:
        """The sentences, as accepted by `constraints=[…]` and schema files."""
        return tuple(law.text for law in self.laws)

    def say(self) -> tuple[str, ...]:
        """The sentences with support and exceptions."""
        return tuple(_say(law) for law in self.laws)

    def announced(self) -> tuple[str, ...]:
        """The sentences, each marked as kept in every new row or as learned approximately."""
        pairs = zip(self.laws, self.say(), strict=True)
        return tuple(f"{EVERY_ROW if always(law) else LEARNED}: {text}" for law, text in pairs)

    @property
    def n_always(self) -> int:
        """Laws that every new row keeps."""
        return sum(always(law) for law in self.laws)

    @cached_property
    def origins(self) -> dict[Name, Name]:
        """For each learned column, the column of the original table that it represents."""
        origins: dict[Name, Name] = {name: name for name in self.schema.names}
        for law, before, after in zip(self.laws, self.schemas, self.schemas[1:], strict=False):
            fresh = [name for name in after.names if name not in before.names]
            for place, name in enumerate(fresh):
                origins[name] = origins[law.writes[min(place, len(law.writes) - 1)]]
        return {name: origins[name] for name in self.expressed_schema.names}

    def n_broken(self, df: pd.DataFrame) -> int:
        """Number of rows that break a law which every new row keeps."""
        frame = Frame.read(df, self.schema)
        broken = np.zeros(len(df), dtype=bool)
        for law in self.laws:
            if always(law) and {*law.reads, *law.writes} <= {*self.schema.names}:
                applies, keeps = law.holds(frame)
                broken |= applies & ~keeps
        return int(broken.sum())

    def passes(self, name: Name) -> bool:
        """Whether a column is learned unchanged: no law computes or replaces it."""
        return name in self.expressed_schema.names and name in self.schema.names

    def makers(self, name: Name) -> tuple[Law, ...]:
        """The laws involved in a column: the one that writes it, then those that write the columns it reads."""
        found: list[Law] = []
        pending: list[Name] = [name]
        while pending:
            own = pending.pop(0)
            for law in self.laws:
                if own in law.writes and law not in found:
                    found.append(law)
                    pending.extend(law.reads)
        return tuple(found)

    def log_scales(self, df: pd.DataFrame) -> dict[Name, NDArray[np.float64]]:
        """For learned columns that rescale numbers: the log of the factor in each row of a table (N,).

        The density of a number is the density of its learned replacement times this factor.
        """
        scales: dict[Name, NDArray[np.float64]] = {}
        frame = Frame.read(df, self.schema)
        for law, before, after in zip(self.laws, self.schemas, self.schemas[1:], strict=False):
            stretch = getattr(law, "log_scale", None)
            fresh = [name for name in after.names if name not in before.names]
            if stretch is not None and fresh:
                scales[fresh[0]] = stretch(frame)
            frame = law.express(frame)
        return scales

    def determined(self, df: pd.DataFrame) -> dict[Name, NDArray[np.bool_]]:
        """For learned columns that follow from others in some rows: a mask of those rows (N,)."""
        found: dict[Name, NDArray[np.bool_]] = {}
        if not any(hasattr(law, "determined") for law in self.laws):
            return found
        frame = Frame.read(df, self.schema)
        for law in self.laws:
            follows = getattr(law, "determined", None)
            if follows is not None:
                found[law.writes[0]] = follows(frame)
            frame = law.express(frame)
        return found

    def explain(self) -> dict[Name, str]:
        """A sentence per column on how it is learned."""
        words: dict[Name, str] = {}
        for name in self.schema.names:
            own = [law for law in self.laws if name in law.writes]
            left = [column for column, origin in self.origins.items() if origin == name]
            if name in left:
                flags = "".join(f", beside {column!r}" for column in left if column != name)
                right = f", corrected by: {'; '.join(law.text for law in own)}" if own else ""
                words[name] = f"as it is{flags}{right}"
            elif left:
                words[name] = f"as {', '.join(repr(column) for column in left)}: {own[-1].text}"
            else:
                words[name] = f"computed: {own[-1].text}"
        return words

    def by_column(self) -> dict[Name, Law]:
        """The law that drops or replaces each column, if any."""
        return {name: law for law in self.laws for name in law.writes}

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data, one entry per law under the name of its form."""
        return [{law.form: law.to_json()} for law in self.laws]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]], schema: Schema) -> Laws:
        """Inverse of `to_json`."""
        laws: list[Law] = []
        for entry in data:
            if len(entry) != 1 or next(iter(entry)) not in FORMS:
                raise ValueError(f"unknown form of a law: {next(iter(entry), None)!r}")
            form, state = next(iter(entry.items()))
            laws.append(FORMS[form].law.from_json(state))
        return cls(schema, tuple(laws))


def always(law: Law) -> bool:
    """Whether every new row keeps a law: it has no exceptions and is not of the kind `nearly`, `often` or `about`."""
    if law.form == "same":  # "often equals", however often
        return False
    return not law.exceptions and getattr(law, "exact", True) and not getattr(law, "near", False)


def replaces(law: Law, schema: Schema) -> bool:
    """Whether a law drops or replaces its columns; other laws keep them and correct rows."""
    return law.reshape(schema) != schema


def must_precede(first: Law, second: Law, schema: Schema) -> bool:
    """Whether one law must be expressed before another: it reads or needs columns that the other changes.

    For one column, a law that corrects rows is restored after one that computes it; of two that correct rows, the form
    that comes later in `FORMS` is restored first.
    """
    if set(second.writes) & set(first.reads):
        return True
    if not set(first.writes) & set(second.writes):
        return False
    own, other = replaces(first, schema), replaces(second, schema)
    if own != other:
        return other
    places = list(FORMS)
    return places.index(first.form) < places.index(second.form)


def in_order(laws: Sequence[Law], schema: Schema) -> tuple[Law, ...]:
    """Sort laws so that each is expressed before those that change what it needs; a cycle is an error."""
    left, ordered = list(laws), []
    while left:
        free = [law for law in left if not any(must_precede(other, law, schema) for other in left if other is not law)]
        if not free:
            texts = ", ".join(repr(law.text) for law in left)
            raise SchemaError(f"constraints {texts} cannot all be kept: each changes what another reads; drop one")
        ordered.append(free[0])
        left = [law for law in left if law is not free[0]]
    return tuple(ordered)


def _say(law: Law) -> str:
    own = getattr(law, "said", None)
    if isinstance(own, str):
        return own
    if not law.exceptions:
        none = "" if getattr(law, "near", False) else ", no exception"
        return f"{law.text} ({law.support:,} rows{none})"
    share = law.exceptions / (law.support + law.exceptions)
    plural = "exception" if law.exceptions == 1 else "exceptions"
    return f"{law.text} ({law.support:,} rows, {law.exceptions:,} {plural}: {share:.1%})"
