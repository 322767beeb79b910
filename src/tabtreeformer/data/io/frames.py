"""Tables of other libraries: polars and pyarrow tables in, the same type out. Neither is imported unless needed."""

from __future__ import annotations

import functools
import ipaddress
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from ..._runtime.warning import warn
from ...errors import ConfigError, ReadingWarning, SchemaError, import_extra

PANDAS, POLARS, PYARROW = "pandas", "polars", "pyarrow"
LIBRARIES = (PANDAS, POLARS, PYARROW)
CONTAINERS = (list, dict, set, frozenset, tuple, np.ndarray)
"""Container types."""
NAMED = (uuid.UUID, ipaddress.IPv4Address, ipaddress.IPv6Address)
"""Objects that are written as a single string."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Kind:
    """The library of a table, and its own types if the library has more types than pandas."""

    library: str = PANDAS
    types: Any = None
    """For pyarrow its schema; for polars its schema and that of the equivalent Arrow table."""

    def build(self, df: pd.DataFrame) -> Any:
        """Turn a DataFrame into a table of this kind."""
        if self.library == PANDAS:
            return df
        from . import arrow

        import_extra("pyarrow", "parquet")
        if self.library == PYARROW:
            return arrow.from_pandas(df, self.types)
        polars = import_extra("polars", "polars")
        if self.types is None:
            return polars.from_arrow(arrow.from_pandas(df))
        own, carried = self.types
        return polars.from_arrow(arrow.from_pandas(df, carried)).cast(dict(own))


def library_of(table: Any) -> str | None:
    """The library that a table belongs to; None if it is not a table."""
    if isinstance(table, pd.DataFrame):
        return PANDAS
    home, name = type(table).__module__.split(".")[0], type(table).__name__
    if (home, name) in ((POLARS, "DataFrame"), (PYARROW, "Table")):
        return home
    if (home, name) == (POLARS, "LazyFrame"):
        raise SchemaError("a polars LazyFrame is a query plan, not a table; call .collect() on it first")
    return None


def take_in(table: Any) -> tuple[Any, Kind]:
    """Return a table as a DataFrame, and its kind, to build similar tables; anything else is returned unchanged."""
    library = library_of(table)
    if library == PANDAS:
        return without_containers(table), Kind()
    if library is None:
        return table, Kind()
    from . import arrow

    import_extra("pyarrow", "parquet")
    carried = table.to_arrow() if library == POLARS else table
    names = list(carried.schema.names)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SchemaError(f"column name {twice!r} occurs more than once; rename the columns")
    # Metadata that pandas once wrote into the schema (an index, numeric names) is of no use here.
    carried = carried.replace_schema_metadata(None)
    types = carried.schema if library == PYARROW else (table.schema, carried.schema)
    return arrow.to_pandas(carried), Kind(str(library), types)


def without_containers(table: pd.DataFrame) -> pd.DataFrame:
    """Convert lists, dicts and sets in a column to JSON text, with a warning; UUIDs and IP addresses to text."""
    first = {name: _first(column) for name, column in table.items() if column.dtype.kind == "O"}
    named = [name for name, value in first.items() if isinstance(value, NAMED)]
    if named:
        table = table.assign(**{name: table[name].map(str, na_action="ignore") for name in named})
    held = [name for name, value in first.items() if isinstance(value, CONTAINERS)]
    if not held:
        return table
    holds = "columns {} hold" if len(held) > 1 else "column {} holds"
    warn(f"{holds.format(', '.join(map(repr, held)))} lists or dicts, kept as JSON text", ReadingWarning)
    return table.assign(**{name: table[name].map(_as_json) for name in held})


def _first(series: pd.Series) -> Any:
    """The first value that is not missing."""
    return next((value for value in series if isinstance(value, CONTAINERS) or not pd.isna(value)), None)


def _as_json(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, CONTAINERS) else value


def kind_named(output: str) -> Kind:
    """The kind of table for the library name that a user gives."""
    if output not in LIBRARIES:
        raise ConfigError(f"output must be one of {', '.join(LIBRARIES)}, got {output!r}")
    return Kind(output)


def taking_any_table(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let a function that takes DataFrames accept tables of other libraries too."""

    @functools.wraps(function)
    def taking(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        plain: Any = [take_in(a)[0] for a in args]
        named: Any = {name: take_in(a)[0] for name, a in kwargs.items()}
        return function(*plain, **named)

    return taking


def index_note(table: Any) -> str | None:
    """The note about an index that is more than a row counter; it is not learned."""
    if not isinstance(table, pd.DataFrame) or isinstance(table.index, pd.RangeIndex):
        return None
    names = [str(name) for name in table.index.names if name is not None]
    called = f" ({', '.join(names)})" if names else ""
    return f"the index{called} is ignored; to learn it, make it a column: df.reset_index()"
