"""The columns of a table, in order: inferred, edited, kept in a file, checked and restored."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..._runtime.files import replacing
from ..._runtime.fragments import card, table
from ...errors import SchemaError
from ..io.frames import take_in
from .column import Column, Scalar
from .dtypes import dtype_name
from .infer import check_text, describe
from .kinds import CONSTANT, NUMERIC
from .values import LABEL, NUMBER, as_numbers

FILE_FORMAT = 1
MAX_COLUMNS = 10_000
"""More columns are not learned: a model file holds no more, and every row would be as long a sequence."""
MAX_EXACT = 2**53
"""Beyond this, floats do not hold every whole number."""
MANY_ROWS = 5
"""A value that this many rows have is written again as it is, so it has to be exact."""
MAX_NUMBER = 1e300
"""Sums, differences and products with small factors of larger numbers overflow."""


@dataclass(frozen=True, repr=False)
class Schema:
    """The columns of a table, in order."""

    columns: tuple[Column, ...]
    constraints: tuple[str, ...] | None = None
    """Relations between columns that new rows keep, e.g. `end >= start`; None: those that are found when fitting."""

    @classmethod
    def infer(cls, df: Any, target: str | int | None = None) -> Schema:
        """Describe a table, of pandas, polars or pyarrow; each column says in `why` how it came to its kind.

        Parameters
        ----------
        df
            The table.
        target
            Column to predict: whole numbers with few values are then taken for class labels.

        Examples
        --------
        >>> [(column.name, column.kind) for column in Schema.infer(df).columns]
        [('age', 'numeric'), ('job', 'categorical'), ('smokes', 'boolean')]
        """
        df, _ = take_in(df)
        check_table(df)
        return cls(tuple(describe(df[name], name, target=name == target) for name in df.columns))

    def __repr__(self) -> str:
        """A line per column: name, kind, dtype and why it is of that kind."""
        rows = [(repr(c.name), c.kind, c.dtype, c.why) for c in self.columns]
        widths = [max(len(row[place]) for row in rows) if rows else 0 for place in range(3)]
        lines = [
            "  ".join((*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3])).rstrip()
            for row in rows
        ]
        kept = [f"keeps {text}" for text in self.constraints or ()]
        return "\n".join([f"Schema of {len(rows)} columns", *(f"  {line}" for line in [*lines, *kept])])

    def _repr_html_(self) -> str:
        columns = [(c.name, c.kind, c.dtype, c.why) for c in self.columns]
        parts = [table(("column", "kind", "dtype", "why"), columns)]
        if self.constraints:
            parts.append(table(("new rows keep",), [(text,) for text in self.constraints]))
        return card(f"Schema of {len(columns)} columns", *parts)

    @property
    def names(self) -> tuple[str | int, ...]:
        """Column names, in order."""
        return tuple(c.name for c in self.columns)

    def column(self, name: str | int) -> Column:
        """Look one column up."""
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(f"there is no column {name!r}; the table has {_listed(self.names)}")

    def with_kind(self, name: str | int, kind: str) -> Schema:
        """Return a copy in which `name` is of that kind, e.g. `categorical`.

        Examples
        --------
        >>> Schema.infer(df).with_kind("age", "categorical").column("age").kind
        'categorical'
        """
        changed = self.column(name).with_kind(kind)
        return replace(self, columns=tuple(changed if c.name == name else c for c in self.columns))

    def with_placeholder(self, name: str | int, placeholder: str) -> Schema:
        """Return a copy in which rare values of the text column `name` are written so: `{n}` is a running number.

        Examples
        --------
        >>> Schema.infer(df).with_kind("job", "text").with_placeholder("job", "job {n}").column("job").placeholder
        'job {n}'
        """
        changed = replace(self.column(name), placeholder=placeholder)
        return replace(self, columns=tuple(changed if c.name == name else c for c in self.columns))

    def with_meaning(self, name: str | int, meaning: str | None, locale: str | None = None) -> Schema:
        """Return a copy in which the texts of `name` mean that, e.g. `person`, for a locale such as `de_DE`."""
        changed = replace(self.column(name), meaning=meaning, locale=locale)
        return replace(self, columns=tuple(changed if c.name == name else c for c in self.columns))

    def with_public(
        self,
        name: str | int,
        *,
        values: Sequence[Scalar] | None = None,
        low: Scalar | None = None,
        high: Scalar | None = None,
    ) -> Schema:
        """Return a copy that states what is public about a column: all values it may have, or the ends of its range.

        None of the values is then too rare to be kept, and differential privacy spends nothing on finding them.

        Parameters
        ----------
        name
            The column.
        values
            All values that it may have.
        low, high
            Ends of its range: numbers, or dates as text.

        Examples
        --------
        >>> Schema.infer(df).with_public("age", low=0, high=120).column("age").high
        120
        """
        changed = replace(self.column(name), values=None if values is None else tuple(values), low=low, high=high)
        if (low is None) != (high is None):
            raise SchemaError(f"column {name!r}: give both ends of its range, or none")
        if low is not None and high is not None and not changed.number(low) < changed.number(high):
            raise SchemaError(f"column {name!r}: low must be below high, got {low!r} and {high!r}")
        return replace(self, columns=tuple(changed if c.name == name else c for c in self.columns))

    def validate(self, df: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of `df` that the schema names, or say what cannot be used."""
        check_table(df)
        absent = [name for name in self.names if name not in df.columns]
        if absent:
            raise SchemaError(f"the table lacks {_listed(absent)}; it has {_listed(tuple(df.columns))}")
        df = df[list(self.names)]
        for column in self.columns:
            series = df[column.name]
            if column.sort == NUMBER and column.form is None:
                _refuse_extreme(series, column)
            elif column.sort == LABEL:
                check_text(series, column.name)
            if series.isna().all() and column.kind != CONSTANT:
                raise SchemaError(
                    f"column {column.name!r} has no value at all, and is {column.kind} in the schema; "
                    f"make it constant: schema.with_kind({column.name!r}, 'constant')"
                )
        return df

    def restore(
        self,
        values: Mapping[str | int, NDArray[Any]],
        missing: Mapping[str | int, NDArray[np.bool_]] | None = None,
    ) -> pd.DataFrame:
        """Build the table from decoded values: same columns, same order, same dtypes."""
        # Joined by position, then named: a dict of series would choke on names such as 0 and "0" no less than concat.
        gaps = missing or {}
        frame = pd.concat([c.write(values[c.name], gaps.get(c.name)) for c in self.columns], axis=1)
        frame.columns = pd.Index(list(self.names))
        return frame

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data."""
        return [c.to_json() for c in self.columns]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> Schema:
        """Inverse of `to_json`."""
        return cls(tuple(Column.from_json(c) for c in data))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file for people to read and edit."""
        content: dict[str, Any] = {"format": FILE_FORMAT, "columns": self.to_json()}
        if self.constraints is not None:
            content["constraints"] = list(self.constraints)
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Read what `save` wrote and a person may have edited; what cannot be used is named."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise SchemaError(f"there is no file {os.fspath(path)}") from error
        except (OSError, ValueError) as error:
            raise SchemaError(f"{os.fspath(path)} cannot be read as JSON: {error}") from error
        columns = content.get("columns") if isinstance(content, dict) else None
        if not isinstance(columns, list) or not all(isinstance(c, dict) and "name" in c for c in columns):
            raise SchemaError(f"{os.fspath(path)} is not a schema: it lists no columns; write one with ttf schema")
        if content.get("format", FILE_FORMAT) > FILE_FORMAT:
            raise SchemaError(f"{os.fspath(path)} was written by a newer version of tabtreeformer; update it")
        try:
            schema = cls.from_json(columns)
        except (TypeError, ValueError) as error:
            raise SchemaError(f"{os.fspath(path)}: {error}") from error
        constraints = content.get("constraints")
        return replace(schema, constraints=None if constraints is None else tuple(constraints))

    def matched(self, df: pd.DataFrame) -> Schema:
        """The schema for a table whose dtypes have changed since, as those of a CSV do: kinds and forms stay.

        A schema file lists kinds; the dtypes to come back are those of the table at hand.
        """
        df = self.validate(df)
        columns = []
        for column in self.columns:
            series = df[column.name]
            if column.dtype != dtype_name(series.dtype) or column.categories is not None:
                fresh = describe(series, column.name)
                fresh = replace(fresh, form=column.form) if column.form is not None else fresh
                fresh = fresh if fresh.kind == column.kind else fresh.with_kind(column.kind)
                kept = {
                    name: getattr(column, name)
                    for name in ("placeholder", "meaning", "locale", "values", "low", "high", "why")
                }
                column = replace(fresh, **kept)
            columns.append(column)
        return replace(self, columns=tuple(columns))


def check_table(df: Any) -> None:
    """Refuse what is not a table of at least two rows with distinct, plain column names."""
    if not isinstance(df, pd.DataFrame):
        raise SchemaError(f"a pandas DataFrame is needed, got {type(df).__name__}")
    if df.shape[1] > MAX_COLUMNS:
        raise SchemaError(f"the table has {df.shape[1]:,} columns, more than {MAX_COLUMNS:,}; choose those that matter")
    if isinstance(df.columns, pd.MultiIndex):
        raise SchemaError("the columns have several levels; flatten them to one name per column first")
    odd = [name for name in df.columns if not isinstance(name, str | int | np.integer)]
    if odd:
        raise SchemaError(f"column name {odd[0]!r} is neither text nor a whole number; rename it")
    twice = df.columns[df.columns.duplicated()].unique().tolist()
    if twice:
        raise SchemaError(f"column name {twice[0]!r} occurs more than once; rename the columns")
    for name in df.columns:
        if isinstance(name, str) and not name.isascii():
            check_text(pd.Series([name], dtype=object), name)
    if df.shape[1] == 0:
        raise SchemaError("the table has no columns")
    if len(df) < 2:
        raise SchemaError(f"the table has {len(df)} row{'s' * (len(df) != 1)}; at least 2 are needed")


def _refuse_extreme(series: pd.Series, column: Column) -> None:
    """Refuse infinities, and in a numeric column what floats cannot compute with or do not hold exactly."""
    name, computes = column.name, column.kind == NUMERIC
    numbers = as_numbers(series.dropna())
    if numbers.dtype.kind in "iu":
        if computes:
            _refuse_inexact(numbers, name)
        return
    values = numbers.astype(np.float64)
    extreme = ~(np.abs(values) <= (MAX_NUMBER if computes else np.finfo(np.float64).max))
    if not extreme.any():
        return
    bad = int(np.argmax(extreme))
    row = int(np.flatnonzero(series.notna().to_numpy())[bad])
    way_out = "replace infinities" if np.isinf(values[bad]) else f"scale the column to below {MAX_NUMBER:g}"
    raise SchemaError(f"column {name!r} holds {values[bad]} in row {row}; {way_out} or drop the rows")


def _refuse_inexact(numbers: NDArray[Any], name: str | int) -> None:
    """Refuse whole numbers beyond 2^53 that would come back as their neighbours: codes rather than quantities."""
    if not len(numbers) or (numbers.max() <= MAX_EXACT and numbers.min() >= -MAX_EXACT):
        return
    distinct, counts = np.unique(numbers, return_counts=True)
    floats = distinct.astype(np.float64)
    inside = floats < float(np.iinfo(distinct.dtype).max)
    inexact = ~inside
    inexact[inside] = floats[inside].astype(distinct.dtype) != distinct[inside]
    merged = np.append(np.diff(floats) == 0, False)
    bad = merged | (inexact & (counts >= MANY_ROWS))
    if bad.any():
        raise SchemaError(
            f"column {name!r} holds {distinct[np.argmax(bad)]}, and numbers beyond 2**53 are not kept exactly; if it "
            f"is a code, make it categorical or text; if it is a quantity, subtract a constant or scale it"
        )


def _listed(names: Sequence[str | int], most: int = 20) -> str:
    text = ", ".join(repr(n) for n in names[:most])
    return text + (f" and {len(names) - most} more" if len(names) > most else "")
