"""DuckDB (extra `duckdb`): a table or query of a database file, or a query over any files that DuckDB can read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from ..._runtime.files import replacing
from ...errors import OutputError, SchemaError, import_extra
from . import arrow
from .database import refuse_overwriting, target_table
from .location import Place, TableOptions, check_file, check_names, choose_table
from .queries import check_query

TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
NO_VIEWS = " AND table_type = 'BASE TABLE'"


_SHUT = ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions")
"""Settings that let a query download and run code."""


def read_duckdb(place: Place, options: TableOptions) -> pd.DataFrame:
    """Read the rows of one SELECT or table.

    A database file is opened read-only, and its queries cannot access any other file. Without a database, a query may
    read files, but cannot load extensions or access the network.
    """
    check_query(options.query)
    if place.path is not None:
        check_file(place.path)
    elif options.query is None:
        raise SchemaError("DuckDB without a file needs a query, e.g. --query \"select * from 'parts/*.parquet'\"")
    with _connected(place, place.path, SchemaError, read_only=True) as connection:
        query = options.query
        if query is None:
            table = choose_table(place, options.table, _tables(connection), "table")
            query = f"SELECT * FROM {_quote(table)}"
        statements = connection.extract_statements(query)
        if len(statements) != 1 or "SELECT" not in str(statements[0].type):
            raise SchemaError(f"{place.name}: the query must be one SELECT; ask for rows, e.g. SELECT * FROM orders")
        relation = connection.sql(query)
        if relation is None:
            raise SchemaError(f"{place.name}: the query gives no rows; ask for some, e.g. SELECT * FROM orders")
        check_names(place, list(relation.columns))
        return arrow.to_pandas(relation.to_arrow_table())


def check_duckdb(place: Place, options: TableOptions) -> None:
    """Fail early if a table cannot be written."""
    table = target_table(place, options)
    if place.path is None:
        raise OutputError("DuckDB without a file keeps nothing; name one, e.g. shop.duckdb#orders")
    if place.path.exists():
        with _connected(place, place.path, OutputError, read_only=True) as connection:
            there = {name.casefold() for name in _tables(connection)}  # as DuckDB compares names
            if table.casefold() in there and not options.overwrite:
                refuse_overwriting(place, table)


def write_duckdb(df: pd.DataFrame, place: Place, options: TableOptions) -> None:
    """Write a table in one transaction; a new database is created completely or not at all."""
    check_duckdb(place, options)
    table = target_table(place, options)
    assert place.path is not None
    if place.path.exists():
        _store(df, place, place.path, table)
    else:
        with replacing(place.path) as temporary:
            _store(df, place, temporary, table)


def _store(df: pd.DataFrame, place: Place, path: Path, table: str) -> None:
    pyarrow: Any = import_extra("pyarrow", "duckdb")
    try:
        rows = arrow.from_pandas(df)
    except pyarrow.ArrowException as error:
        raise OutputError(f"cannot write {place.name}: {'; '.join(str(a) for a in error.args)}") from error
    with _connected(place, path, OutputError, read_only=False) as connection:
        connection.register("ttf_rows", rows)
        connection.execute("BEGIN")
        connection.execute(f"CREATE OR REPLACE TABLE {_quote(table)} AS SELECT * FROM ttf_rows")
        connection.execute("COMMIT")


@contextlib.contextmanager
def _connected(
    place: Place, path: Path | None, fault: type[SchemaError] | type[OutputError], *, read_only: bool
) -> Iterator[Any]:
    duckdb: Any = import_extra("duckdb", "duckdb")
    import_extra("pyarrow", "duckdb")
    connection = None
    try:
        connection = duckdb.connect(":memory:" if path is None else str(path), read_only=read_only and path is not None)
        if read_only:
            for setting in _SHUT if path is None else ("enable_external_access", *_SHUT):
                connection.execute(f"SET {setting} = false")
            connection.execute("SET lock_configuration = true")
        yield connection
    except duckdb.Error as error:
        raise fault(f"{place.name}: {str(error).splitlines()[0]}") from error
    finally:
        if connection is not None:
            connection.close()


def table_names(place: Place) -> list[str]:
    """Names of all tables of a database file, without views."""
    if place.path is None:
        raise SchemaError("DuckDB without a file has no tables; name one, e.g. shop.duckdb")
    check_file(place.path)
    with _connected(place, place.path, SchemaError, read_only=True) as connection:
        return _tables(connection, NO_VIEWS)


def _tables(connection: Any, only: str = "") -> list[str]:
    return [row[0] for row in connection.execute(TABLES + only).fetchall()]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
