"""The protocol of a law, and the frame of plain columns that laws read and change.

A law relates columns. Before a table is tokenized, each law is *expressed*: columns that it determines are dropped, and
columns that it nearly determines are replaced by a small residual. After decoding it is *restored*, the exact inverse
for rows that keep it. Laws form a stack: each one expresses the frame left by the law before it, and they are restored
in reverse. A law never changes a column that it reads, so that these columns are available when it is restored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.schema import Column, Schema
from ..data.schema.values import LABEL, widened

Name = str | int
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Cells:
    """The values of one column as `Column.read` gives them (arbitrary where missing), and where they are missing."""

    values: NDArray[Any]
    gaps: Mask

    @classmethod
    def read(cls, series: pd.Series, column: Column) -> Cells:
        """Take the values out of a column of a table."""
        gaps = series.isna().to_numpy()
        there = column.read(series[~gaps]).to_numpy()
        empty = object if column.sort == LABEL else np.float64
        values = np.zeros(len(series), dtype=there.dtype if len(there) else empty)
        values[~gaps] = there
        return cls(values, gaps)


class Frame:
    """A table as plain columns, read lazily; columns that no law touches are never read."""

    def __init__(self, schema: Schema, columns: Mapping[Name, pd.Series | Cells], n_rows: int) -> None:
        """Take columns as series or as cells."""
        self.schema, self.n_rows = schema, n_rows
        self._columns = dict(columns)
        self._cells: dict[Name, Cells] = {n: c for n, c in columns.items() if isinstance(c, Cells)}

    @classmethod
    def read(cls, df: pd.DataFrame, schema: Schema) -> Frame:
        """Take a table that has passed `Schema.validate`."""
        return cls(schema, {name: df[name] for name in schema.names}, len(df))

    def cells(self, name: Name) -> Cells:
        """Values and gaps of a column."""
        if name not in self._cells:
            self._cells[name] = Cells.read(self._columns[name], self.schema.column(name))
        return self._cells[name]

    def values(self, name: Name) -> NDArray[Any]:
        """Plain values, arbitrary where missing."""
        return self.cells(name).values

    def gaps(self, name: Name) -> Mask:
        """Where a column is missing."""
        return self.cells(name).gaps

    def floats(self, name: Name) -> NDArray[np.float64]:
        """Values as floats, NaN where missing."""
        cells = self.cells(name)
        return np.where(cells.gaps, np.nan, cells.values.astype(np.float64))

    def widened(self, names: Sequence[Name]) -> Frame:
        """The frame with some columns rounded to 32-bit floats: 0.1 becomes 0.10000000149."""
        return self.changed(self.schema, {n: Cells(widened(self.values(n)), self.gaps(n)) for n in names})

    def labels(self, name: Name) -> NDArray[Any]:
        """Values as objects, None where missing."""
        cells = self.cells(name)
        labels = np.empty(len(cells.values), dtype=object)
        labels[:] = cells.values.tolist()
        labels[cells.gaps] = None
        return labels

    def present(self, *names: Name) -> Mask:
        """Rows in which all of these columns have a value."""
        gaps = np.zeros(self.n_rows, dtype=bool)
        for name in names:
            gaps |= self.gaps(name)
        return ~gaps

    def take(self, rows: NDArray[np.int64]) -> Frame:
        """Some of the rows."""
        columns: dict[Name, pd.Series | Cells] = {}
        for name, column in self._columns.items():
            if name in self._cells:
                columns[name] = Cells(self._cells[name].values[rows], self._cells[name].gaps[rows])
            else:
                assert isinstance(column, pd.Series)
                columns[name] = column.iloc[rows]
        return Frame(self.schema, columns, len(rows))

    def changed(self, schema: Schema, cells: Mapping[Name, Cells]) -> Frame:
        """The frame under another schema, with the columns in `cells` replaced."""
        same = {name: self._cells.get(name, self._columns[name]) for name in schema.names if name not in cells}
        return Frame(schema, {**same, **cells}, self.n_rows)

    def table(self, names: Sequence[Name] | None = None) -> pd.DataFrame:
        """The frame, or some of its columns, as a table of the schema's dtypes."""
        series = []
        columns = self.schema.columns if names is None else [self.schema.column(name) for name in names]
        for column in columns:
            own = self._columns[column.name]
            series.append(column.write(own.values, own.gaps) if isinstance(own, Cells) else own.reset_index(drop=True))
        table = pd.concat(series, axis=1) if series else pd.DataFrame(index=range(self.n_rows))
        table.columns = pd.Index([column.name for column in columns])
        return table


Self = TypeVar("Self", bound="Law")


class Law(Protocol):
    """One law; a frozen dataclass per form."""

    form: ClassVar[str]
    """Name of the form, as in `forms.FORMS` and in files."""

    @property
    def text(self) -> str:
        """The sentence, as read by `parse` of the same form."""

    @property
    def reads(self) -> tuple[Name, ...]:
        """Columns that the law reads and must not change."""

    @property
    def writes(self) -> tuple[Name, ...]:
        """Columns that `express` drops or replaces and `restore` brings back."""

    @property
    def support(self) -> int:
        """Rows of the table in which it applies and is kept."""

    @property
    def exceptions(self) -> int:
        """Rows in which it applies and is broken."""

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Rows to which it applies (no part is missing), and rows to which it applies and that keep it."""

    def learn(self: Self, frame: Frame, floor: int) -> Self:
        """Fit the law's parameters on all rows; every stored value comes from at least `floor` rows."""

    def reshape(self, schema: Schema) -> Schema:
        """The columns of a frame after `express`."""

    def express(self, frame: Frame) -> Frame:
        """Remove what the law determines; `restore` must bring back every row, even one that breaks it."""

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Inverse of `express`, for a frame of any values; `schema` is that of the frame before."""

    def to_json(self) -> dict[str, Any]:
        """JSON-compatible data, without any value of fewer rows than the floor."""

    @classmethod
    def from_json(cls: type[Self], data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""


Own = TypeVar("Own", bound="Counted")


class Counted:
    """A law that counts the rows that keep it and break it."""

    support: int
    exceptions: int

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Where it applies, and where it applies and is kept."""
        raise NotImplementedError

    def counted(self: Own, frame: Frame) -> Own:
        """The law with its support and exceptions."""
        applies, keeps = self.holds(frame)
        law: Any = self
        counted: Own = replace(law, support=int(keeps.sum()), exceptions=int((applies & ~keeps).sum()))
        return counted


class OneTarget(Counted):
    """A law about one column, its target."""

    target: Name

    @property
    def writes(self) -> tuple[Name, ...]:
        """The target."""
        return (self.target,)


class DropsTarget(OneTarget):
    """A law whose target is computed from the columns it reads and is dropped from the table."""

    def reshape(self, schema: Schema) -> Schema:
        """Without the target."""
        return replaced(schema, self.target, [])

    def express(self, frame: Frame) -> Frame:
        """Drop the target."""
        return frame.changed(self.reshape(frame.schema), {})


def replaced(schema: Schema, name: Name, columns: Sequence[Column]) -> Schema:
    """The schema with one column replaced by others (or by none)."""
    own: list[Column] = []
    for column in schema.columns:
        own.extend(columns if column.name == name else [column])
    return replace(schema, columns=tuple(own))


def fresh(name: str, schema: Schema) -> str:
    """A name that no column has."""
    while name in schema.names:
        name += "'"
    return name
