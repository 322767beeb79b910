"""Dates and numbers stored as texts or Python objects: learned as dates and numbers, written in their original form.

In a CSV file dates are texts, but orders, limits and totals need times and numbers that pandas can compute with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from ..data.links import Link, Name, Tables
from ..data.schema import CONSTANT, DATETIME, MEASURED, NUMERIC, Column, Schema
from ..data.schema.column import NUMBER_OBJECT
from ..errors import ConfigError, SchemaError
from .rows import twice_if_alone
from .source import Database

Forms = tuple[Column, ...]
"""The original form of a table's columns."""


def in_plain_forms(
    tables: Tables, links: Sequence[Link], schemas: Mapping[str, Schema], orders: Mapping[str, Name]
) -> tuple[Database, dict[str, Forms]]:
    """The tables in plain form, and the original form of their columns."""
    _check_named(tables, orders)
    forms = find_forms(tables, schemas, links, orders)
    plain = {name: in_plain_form(frame, forms[name]) for name, frame in tables.items()}
    for name, column in orders.items():
        values = plain[name][column]
        is_number = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
        if not is_number and not pd.api.types.is_datetime64_any_dtype(values.dtype):
            raise SchemaError(f"column {column!r} of {name!r} is neither numbers nor times, and cannot order rows")
    return Database(plain, links, _described_again(schemas, plain, forms), dict(orders)), forms


def _check_named(tables: Tables, orders: Mapping[str, Name]) -> None:
    for name, column in orders.items():
        if name not in tables:
            raise ConfigError(f"order names a table {name!r}; there are {', '.join(map(repr, tables))}")
        if column not in tables[name].columns:
            raise SchemaError(f"table {name!r} has no column {column!r} to order by")
        if tables[name][column].isna().any():
            raise SchemaError(f"column {column!r} of {name!r} has missing values and cannot order rows; fill them")


def find_forms(
    tables: Tables, schemas: Mapping[str, Schema], links: Sequence[Link], orders: Mapping[str, Name]
) -> dict[str, Forms]:
    """Find the columns of each table that are learned in another form; keys are not changed."""
    keys = {(link.child, column) for link in links for column in link.columns}
    keys |= {(link.parent, column) for link in links for column in link.key}
    found: dict[str, Forms] = {}
    for name, frame in tables.items():
        schema = schemas.get(name) or Schema.infer(twice_if_alone(frame))
        found[name] = tuple(
            column
            for column in schema.columns
            if (name, column.name) not in keys
            and (column.kind in MEASURED or column.name == orders.get(name))
            and _has_other_form(frame[column.name], column)
        )
    return found


def _has_other_form(values: pd.Series, column: Column) -> bool:
    """Whether pandas cannot compute with the values directly."""
    if column.sort == "time":
        return not pd.api.types.is_datetime64_any_dtype(values.dtype)
    return column.sort == "number" and not pd.api.types.is_numeric_dtype(values.dtype)


def in_plain_form(frame: pd.DataFrame, forms: Forms) -> pd.DataFrame:
    """The frame with texts or objects converted to times and numbers."""
    changed = {column.name: _plain(frame[column.name], column) for column in forms if column.name in frame.columns}
    return _with(frame, changed)


def _plain(values: pd.Series, column: Column) -> pd.Series:
    known = values.notna().to_numpy()
    read = column.read(values[known]).to_numpy()
    if column.sort == "time":
        times = np.full(len(values), np.datetime64("NaT"), dtype=f"datetime64[{column.unit}]")
        times[known] = read.astype(np.int64).view(times.dtype)
        return pd.Series(times, index=values.index)
    whole = bool((read == np.round(read)).all())
    numbers = pd.Series(np.nan, index=values.index, dtype="Int64" if whole else "float64")
    numbers[known] = read.astype(np.int64) if whole else read
    return numbers.astype(np.int64) if whole and known.all() else numbers


def in_own_form(frame: pd.DataFrame, forms: Forms) -> pd.DataFrame:
    """The frame with times and numbers in their original form."""
    changed = {}
    for column in forms:
        values = frame[column.name]
        gaps = values.isna().to_numpy()
        if column.sort == "time":
            counts = values.to_numpy().astype(f"datetime64[{column.unit}]").astype(np.int64)
        else:
            whole = column.form == NUMBER_OBJECT and pd.api.types.is_integer_dtype(values.dtype)
            counts = values.to_numpy(dtype=np.int64 if whole else np.float64, na_value=0)
        written = column.write(np.where(gaps, 0, counts), gaps)
        changed[column.name] = written.set_axis(frame.index)
    return _with(frame, changed)


def _with(frame: pd.DataFrame, changed: Mapping[Name, pd.Series]) -> pd.DataFrame:
    if not changed:
        return frame
    whole = frame.copy()
    for name, values in changed.items():
        whole[name] = values
    return whole


def _described_again(schemas: Mapping[str, Schema], plain: Tables, forms: Mapping[str, Forms]) -> dict[str, Schema]:
    """The given schemas, with converted columns described again."""
    changed = {}
    for name, schema in schemas.items():
        columns = {c.name: c for c in schema.columns}
        for column in forms.get(name, ()):
            described = Schema.infer(twice_if_alone(plain[name][[column.name]])).columns[0]
            fits = described.kind != CONSTANT and column.kind in (NUMERIC, DATETIME)
            columns[column.name] = described.with_kind(column.kind) if fits else described
        changed[name] = replace(schema, columns=tuple(columns.values()))
    return changed
