"""The columns of a table, in order: inferred, edited, saved to a file, checked and restored."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..._runtime.fragments import card, table
from ...errors import SchemaError
from ..io.frames import take_in
from .check import check_table, refuse_extreme
from .column import Column, Scalar
from .dtypes import dtype_name
from .file import read_schema, write_schema
from .infer import check_text, describe
from .kinds import CONSTANT
from .values import LABEL, NUMBER


@dataclass(frozen=True, repr=False)
class Schema:
    """The columns of a table, in order.

    Examples
    --------
    >>> Schema.infer(df).names
    ('age', 'job', 'smokes')
    """

    columns: tuple[Column, ...]
    """What each column is, in the order of the table."""
    constraints: tuple[str, ...] | None = None
    """Relations between columns that new rows satisfy, e.g. `end >= start`; None: those found when fitting."""

    @classmethod
    def infer(cls, df: Any, target: str | int | None = None) -> Schema:
        """Describe a pandas, polars or pyarrow table; each column gives the reason for its kind in `why`.

        Parameters
        ----------
        df
            The table.
        target
            Column to predict: whole numbers with few distinct values are then treated as class labels.

        Examples
        --------
        >>> [(column.name, column.kind) for column in Schema.infer(df).columns]
        [('age', 'numeric'), ('job', 'categorical'), ('smokes', 'boolean')]
        """
        df, _ = take_in(df)
        check_table(df)
        return cls(tuple(describe(df[name], name, target=name == target) for name in df.columns))

    def __repr__(self) -> str:
        """One line per column: name, kind, dtype and the reason for its kind."""
        rows = [(repr(c.name), c.kind, c.dtype, c.why) for c in self.columns]
        widths = [max(len(row[place]) for row in rows) if rows else 0 for place in range(3)]
        lines = [
            "  ".join((*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3])).rstrip()
            for row in rows
        ]
        kept = [f"law: {text}" for text in self.constraints or ()]
        return "\n".join([f"Schema of {len(rows)} columns", *(f"  {line}" for line in [*lines, *kept])])

    def _repr_html_(self) -> str:
        columns = [(c.name, c.kind, c.dtype, c.why) for c in self.columns]
        parts = [table(("column", "kind", "dtype", "why"), columns)]
        if self.constraints:
            parts.append(table(("law",), [(text,) for text in self.constraints]))
        return card(f"Schema of {len(columns)} columns", *parts)

    @property
    def names(self) -> tuple[str | int, ...]:
        """Column names, in order."""
        return tuple(c.name for c in self.columns)

    def column(self, name: str | int) -> Column:
        """Look up one column.

        Parameters
        ----------
        name
            Its name.

        Examples
        --------
        >>> Schema.infer(df).column("age").dtype
        'int64'
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(f"there is no column {name!r}; the table has {_listed(self.names)}")

    def with_kind(self, name: str | int, kind: str) -> Schema:
        """Return a copy in which a column has another kind.

        Parameters
        ----------
        name
            The column.
        kind
            E.g. `categorical`, `numeric` or `text`.

        Examples
        --------
        >>> Schema.infer(df).with_kind("age", "categorical").column("age").kind
        'categorical'
        """
        changed = self.column(name).with_kind(kind)
        return replace(self, columns=tuple(changed if c.name == name else c for c in self.columns))

    def with_placeholder(self, name: str | int, placeholder: str) -> Schema:
        """Return a copy in which rare values of a text column are replaced by a placeholder.

        Parameters
        ----------
        name
            The column.
        placeholder
            The text to write instead; `{n}` becomes a running number.

        Examples
        --------
        >>> Schema.infer(df).with_kind("job", "text").with_placeholder("job", "job {n}").column("job").placeholder
        'job {n}'
        """
        changed = replace(self.column(name), placeholder=placeholder)
        return replace(self, columns=tuple(changed if c.name == name else c for c in self.columns))

    def with_meaning(self, name: str | int, meaning: str | None, locale: str | None = None) -> Schema:
        """Return a copy that states what the texts of a column mean, so that new ones are made up accordingly.

        Parameters
        ----------
        name
            The column.
        meaning
            E.g. `person`, `town` or `email`; None for texts without a known meaning.
        locale
            Language and country of names, e.g. `de_DE`.

        Examples
        --------
        >>> Schema.infer(df).with_meaning("job", "company").column("job").meaning
        'company'
        """
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

        No value is then too rare to be kept, and differential privacy spends no budget on finding them.

        Parameters
        ----------
        name
            The column.
        values
            All values that the column may have.
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
        """Return the columns named in the schema; raise an error for a table that cannot be used.

        Parameters
        ----------
        df
            The table; other columns are dropped.

        Examples
        --------
        >>> Schema.infer(df[["age"]]).validate(df).shape
        (120, 1)
        """
        check_table(df)
        absent = [name for name in self.names if name not in df.columns]
        if absent:
            raise SchemaError(f"the table lacks {_listed(absent)}; it has {_listed(tuple(df.columns))}")
        df = df[list(self.names)]
        for column in self.columns:
            series = df[column.name]
            if column.sort == NUMBER and column.form is None:
                refuse_extreme(series, column)
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
        """Build a table with the schema's columns, in order and with their dtypes.

        Parameters
        ----------
        values
            Plain values by column.
        missing
            Where values are missing, by column; columns without missing values can be left out.

        Examples
        --------
        >>> Schema.infer(df[["age"]]).restore({"age": np.array([23, 45])})["age"].tolist()
        [23, 45]
        """
        # Joined by position, then named: like concat, a dict of series would fail on names such as 0 and "0".
        gaps = missing or {}
        frame = pd.concat([c.write(values[c.name], gaps.get(c.name)) for c in self.columns], axis=1)
        frame.columns = pd.Index(list(self.names))
        return frame

    def to_json(self) -> list[dict[str, Any]]:
        """Return the columns as plain data, which `from_json` reads.

        Examples
        --------
        >>> Schema.infer(df).to_json()[0]["kind"]
        'numeric'
        """
        return [c.to_json() for c in self.columns]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> Schema:
        """Build a schema from the output of `to_json`.

        Parameters
        ----------
        data
            One dict per column.

        Examples
        --------
        >>> schema = Schema.infer(df)
        >>> Schema.from_json(schema.to_json()) == schema
        True
        """
        return cls(tuple(Column.from_json(c) for c in data))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON file for people to read and edit.

        Parameters
        ----------
        path
            The file; an existing one is replaced.

        Examples
        --------
        >>> Schema.infer(df).save(folder / "schema.json")
        """
        write_schema(path, self.to_json(), self.constraints)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a file written by `save` and perhaps edited by hand; an error names what is invalid.

        Parameters
        ----------
        path
            The file.

        Examples
        --------
        >>> Schema.infer(df).save(folder / "schema.json")
        >>> Schema.load(folder / "schema.json").names
        ('age', 'job', 'smokes')
        """
        content = read_schema(path)
        try:
            schema = cls.from_json(content["columns"])
        except (TypeError, ValueError) as error:
            raise SchemaError(f"{os.fspath(path)}: {error}") from error
        constraints = content.get("constraints")
        return replace(schema, constraints=None if constraints is None else tuple(constraints))

    def matched(self, df: pd.DataFrame) -> Schema:
        """Return the schema with the dtypes of this table; kinds and forms stay the same.

        A schema file states kinds, but a table reread from CSV may have different dtypes than before: new rows get
        those of the given table.

        Parameters
        ----------
        df
            The table.

        Examples
        --------
        >>> Schema.infer(df).matched(df.astype({"age": "float64"})).column("age").dtype
        'float64'
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


def _listed(names: Sequence[str | int], most: int = 20) -> str:
    text = ", ".join(repr(n) for n in names[:most])
    return text + (f" and {len(names) - most} more" if len(names) > most else "")
