"""What each column is: its name, its kind and its exact dtype; checked on the way in, restored on the way out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types as ptypes

from .errors import SchemaError

NUMERIC, CATEGORICAL = "numeric", "categorical"
KINDS = (NUMERIC, CATEGORICAL)
MAX_CATEGORIES = 1_000_000
FEW_CLASSES = 20
"""An integer target with at most this many values is a class label, not a quantity."""

Scalar = str | int | float | bool


@dataclass(frozen=True)
class Column:
    """One column: `dtype` is a name that pandas understands, or `category` with its own list."""

    name: str | int
    kind: str
    dtype: str
    categories: tuple[Scalar, ...] | None = None
    """All values of a pandas `category` dtype, used or not, in its order."""
    categories_dtype: str | None = None
    ordered: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain data; the fields of `category` only where there are any."""
        plain: dict[str, Any] = {"name": self.name, "kind": self.kind, "dtype": self.dtype}
        if self.categories is not None:
            plain |= {"categories": list(self.categories), "categories_dtype": self.categories_dtype}
            plain |= {"ordered": self.ordered}
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Column:
        """Inverse of `to_json`."""
        fields = dict(data)
        if fields.get("categories") is not None:
            fields["categories"] = tuple(fields["categories"])
        return cls(**fields)

    def restore(self, values: NDArray[Any]) -> pd.Series:
        """Give decoded values the column's own dtype."""
        if self.categories is not None:
            dtype = pd.CategoricalDtype(pd.Index(self.categories, dtype=self.categories_dtype), ordered=self.ordered)
            return pd.Series(pd.Categorical(values, dtype=dtype), name=self.name)
        if self.dtype == "object":
            return pd.Series(values, dtype=object, name=self.name)
        return pd.Series(pd.array(list(values) if values.dtype == object else values, dtype=self.dtype), name=self.name)


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order."""

    columns: tuple[Column, ...]

    @classmethod
    def infer(cls, df: pd.DataFrame, target: str | int | None = None) -> Schema:
        """Describe a table: numbers are numeric, everything else is categorical.

        An integer target of few values is taken for a class label. Other kinds: `with_kind`.
        """
        check_table(df)
        schema = cls(tuple(_describe(df[name], name) for name in df.columns))
        if target is not None:
            column = schema.column(target)
            whole = column.kind == NUMERIC and ptypes.is_integer_dtype(df[target].dtype)
            if whole and df[target].nunique() <= FEW_CLASSES:
                schema = schema.with_kind(target, CATEGORICAL)
        return schema

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
        """Return a copy in which `name` is of that kind."""
        if kind not in KINDS:
            raise SchemaError(f"column {name!r} cannot be of kind {kind!r}; known kinds: {', '.join(KINDS)}")
        old = self.column(name)
        if kind == NUMERIC and old.kind != NUMERIC and not ptypes.is_numeric_dtype(_dtype(old.dtype)):
            raise SchemaError(f"column {name!r} has dtype {old.dtype} and cannot be numeric; convert it first")
        return Schema(tuple(replace(c, kind=kind) if c is old else c for c in self.columns))

    def validate(self, df: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of `df` that the schema names, or say what cannot be used."""
        check_table(df)
        absent = [name for name in self.names if name not in df.columns]
        if absent:
            raise SchemaError(f"the table lacks {_listed(absent)}; it has {_listed(tuple(df.columns))}")
        df = df[list(self.names)]
        _refuse_missing(df)
        for column in self.columns:
            series = df[column.name]
            if column.kind == NUMERIC:
                _refuse_infinite(series, column.name)
            elif len(df) > MAX_CATEGORIES and series.nunique() > MAX_CATEGORIES:
                raise SchemaError(
                    f"column {column.name!r} has {series.nunique():,} distinct values, more than {MAX_CATEGORIES:,}; "
                    f"drop it or group its values"
                )
        return df

    def restore(self, values: Mapping[str | int, NDArray[Any]]) -> pd.DataFrame:
        """Build the table from decoded values: same columns, same order, same dtypes."""
        # Joined by position, then named: a dict of series would choke on names such as 0 and "0" no less than concat.
        frame = pd.concat([c.restore(values[c.name]) for c in self.columns], axis=1)
        frame.columns = pd.Index(list(self.names))
        return frame

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data."""
        return [c.to_json() for c in self.columns]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> Schema:
        """Inverse of `to_json`."""
        return cls(tuple(Column.from_json(c) for c in data))


@dataclass(frozen=True)
class Labels:
    """The distinct values of a categorical column, in the order of their codes 0, 1, 2, …"""

    values: tuple[Scalar, ...]

    @classmethod
    def learn(cls, series: pd.Series) -> Labels:
        """Collect the values of a column, sorted; those of an ordered or unordered `category` keep its order."""
        if isinstance(series.dtype, pd.CategoricalDtype):
            used = np.unique(series.cat.codes.to_numpy())
            return cls(tuple(_scalar(v) for v in series.cat.categories[used]))
        values = [_scalar(v) for v in series.unique().tolist()]
        return cls(tuple(sorted(set(values), key=lambda v: (type(v).__name__, v))))

    def encode(self, series: pd.Series) -> NDArray[np.int64]:
        """Return the code of each value; a value never seen is an error."""
        index = pd.Index(self.values, dtype=object)
        codes: NDArray[np.int64] = index.get_indexer(pd.Index(series.astype(object))).astype(np.int64)
        if (codes < 0).any():
            value = series.iloc[int(np.argmax(codes < 0))]
            raise SchemaError(
                f"column {series.name!r} holds {value!r}, unseen when fitting; drop the row or refit with it included"
            )
        return codes

    def decode(self, codes: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """Return the value of each code."""
        table = np.empty(len(self.values), dtype=object)
        table[:] = self.values
        values: NDArray[Any] = table[codes]
        return values


def check_table(df: Any) -> None:
    """Refuse what is not a table of at least two rows with distinct, plain column names."""
    if not isinstance(df, pd.DataFrame):
        raise SchemaError(f"a pandas DataFrame is needed, got {type(df).__name__}")
    if isinstance(df.columns, pd.MultiIndex):
        raise SchemaError("the columns have several levels; flatten them to one name a column first")
    odd = [name for name in df.columns if not isinstance(name, str | int | np.integer)]
    if odd:
        raise SchemaError(f"column name {odd[0]!r} is neither text nor a whole number; rename it")
    twice = df.columns[df.columns.duplicated()].unique().tolist()
    if twice:
        raise SchemaError(f"column name {twice[0]!r} stands more than once; rename the columns")
    if df.shape[1] == 0:
        raise SchemaError("the table has no columns")
    if len(df) < 2:
        raise SchemaError(f"the table has {len(df)} row{'s' * (len(df) != 1)}; at least 2 are needed")


def _describe(series: pd.Series, name: str | int) -> Column:
    """Take down one column."""
    name = int(name) if isinstance(name, np.integer) else name
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return Column(
            name=name,
            kind=CATEGORICAL,
            dtype="category",
            categories=tuple(_plain(v, name) for v in dtype.categories),
            categories_dtype=_dtype_name(dtype.categories.dtype),
            ordered=bool(dtype.ordered),
        )
    if ptypes.is_bool_dtype(dtype):
        return Column(name, CATEGORICAL, _dtype_name(dtype))
    if ptypes.is_complex_dtype(dtype):
        raise SchemaError(f"column {name!r} holds complex numbers; split it into two columns of numbers")
    if ptypes.is_integer_dtype(dtype) or ptypes.is_float_dtype(dtype):
        return Column(name, NUMERIC, _dtype_name(dtype))
    if ptypes.is_string_dtype(dtype) or ptypes.is_object_dtype(dtype):
        for value in series.dropna().unique() if _hashable(series, name) else ():
            _plain(value, name)
        return Column(name, CATEGORICAL, _dtype_name(dtype))
    raise SchemaError(
        f"column {name!r} has dtype {dtype}, which cannot be learned yet; convert it to numbers or text "
        f"(a date: df[{name!r}].astype('int64')), or drop it"
    )


def _hashable(series: pd.Series, name: str | int) -> bool:
    """Refuse lists, dicts and the like before pandas stumbles over them."""
    for value in series:
        if isinstance(value, list | dict | set | np.ndarray):
            raise SchemaError(
                f"column {name!r} holds a {type(value).__name__}, {value!r}; only plain values can be learned"
            )
    return True


def _plain(value: Any, name: str | int) -> Scalar:
    """Return text, a number or a truth value as a plain Python object; refuse anything else."""
    value = _scalar(value)
    if isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise SchemaError(
        f"column {name!r} holds {value!r} of type {type(value).__name__}; "
        f"only text, numbers and truth values can be learned: convert it, for example with .astype(str)"
    )


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _dtype_name(dtype: Any) -> str:
    """A name from which pandas makes the very same dtype."""
    if isinstance(dtype, pd.StringDtype):
        return f"string[{dtype.storage}]" if dtype.na_value is pd.NA else "str"
    return str(dtype)


def _dtype(name: str) -> Any:
    return ptypes.pandas_dtype(name)


def _refuse_missing(df: pd.DataFrame) -> None:
    missing = df.isna().sum()
    missing = missing[missing > 0]
    if missing.empty:
        return
    empty = [name for name, count in missing.items() if count == len(df)]
    if empty:
        raise SchemaError(f"column {empty[0]!r} has no value at all; drop it: df.drop(columns={empty!r})")
    counts = ", ".join(f"{name!r} ({count:,})" for name, count in missing.items())
    raise SchemaError(
        f"missing values cannot be learned yet, found in {counts}; "
        f"drop those rows: df.dropna(), or on the command line --drop-missing"
    )


def _refuse_infinite(series: pd.Series, name: str | int) -> None:
    values = series.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values)))
        raise SchemaError(f"column {name!r} holds {values[row]} in row {row}; replace infinities or drop the rows")


def _listed(names: Sequence[str | int], most: int = 20) -> str:
    text = ", ".join(repr(n) for n in names[:most])
    return text + (f" and {len(names) - most} more" if len(names) > most else "")
