"""Databases given by a SQLAlchemy URL (extra `sql`). Passwords never appear in messages."""

from __future__ import annotations

import contextlib
import sqlite3
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from ...errors import ConfigError, MissingExtraError, OutputError, SchemaError, TabTreeFormerError, import_extra
from .columns import from_rows
from .location import Place, TableOptions, check_file, check_names, choose_table, hide_passwords
from .queries import check_query

ROWS_AT_ONCE = 10_000
READ_ONLY = {
    "postgresql": "SET TRANSACTION READ ONLY",
    "oracle": "SET TRANSACTION READ ONLY",
    "mysql": "START TRANSACTION READ ONLY",
    "mariadb": "START TRANSACTION READ ONLY",
}
"""How to open a read-only transaction, where supported; all transactions are rolled back anyway."""


def read_sql(place: Place, options: TableOptions) -> pd.DataFrame:
    """Read the rows of a query or table from a database opened read-only."""
    check_query(options.query)
    if place.path is not None:
        check_file(place.path)
    with _connected(place, SchemaError) as (sql, engine):
        read_only(sql, engine, place.path)
        query = _query(sql, engine, place, options)
        with engine.connect().execution_options(stream_results=True) as connection:
            if (opening := READ_ONLY.get(engine.dialect.name)) is not None:
                connection.execute(sql.text(opening))
            result = connection.execute(query)
            if not result.returns_rows:
                raise SchemaError(f"{place.name}: the query gives no rows; ask for some, e.g. SELECT * FROM orders")
            names = list(map(str, result.keys()))
            check_names(place, names)
            columns: list[list[Any]] = [[] for _ in names]
            while rows := result.fetchmany(ROWS_AT_ONCE):
                for values, more in zip(columns, zip(*rows, strict=True), strict=True):
                    values.extend(more)
    return from_rows(names, columns)


def table_names(place: Place) -> list[str]:
    """Names of all tables of a database, without views."""
    with _connected(place, SchemaError) as (sql, engine):
        read_only(sql, engine, place.path)
        names: list[str] = list(sql.inspect(engine).get_table_names())
    return names


def check_sql(place: Place, options: TableOptions) -> None:
    """Fail early if a table cannot be written: no name, no connection, or it already exists."""
    table = target_table(place, options)
    with _connected(place, OutputError) as (sql, engine):
        if not options.overwrite and _exists(sql, engine, table):
            refuse_overwriting(place, table)


def write_sql(df: pd.DataFrame, place: Place, options: TableOptions) -> None:
    """Write a table under a temporary name and rename it at the end, so that it is never left half-written."""
    table = target_table(place, options)
    schema, name = _parts(table)
    passing = f"ttf_{uuid.uuid4().hex[:12]}"
    with _connected(place, OutputError) as (sql, engine):
        there = _exists(sql, engine, table)
        if there and not options.overwrite:
            refuse_overwriting(place, table)
        quote = engine.dialect.identifier_preparer.quote
        inside = "" if schema is None else f"{quote(schema)}."
        written = False
        try:
            with engine.begin() as connection:
                df.to_sql(passing, connection, schema=schema, index=False, chunksize=ROWS_AT_ONCE)
            with engine.begin() as connection:
                if engine.dialect.name == "sqlite":
                    # Python's driver opens no transaction for these, so a failure would leave no table at all;
                    # without the pragma, renaming fails if a view reads the table.
                    connection.exec_driver_sql("PRAGMA legacy_alter_table = ON")
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                if there:
                    connection.execute(sql.text(f"DROP TABLE {inside}{quote(name)}"))
                connection.execute(sql.text(f"ALTER TABLE {inside}{quote(passing)} RENAME TO {quote(name)}"))
            written = True
        finally:
            if not written:
                with contextlib.suppress(sql.exc.SQLAlchemyError), engine.begin() as connection:
                    connection.execute(sql.text(f"DROP TABLE IF EXISTS {inside}{quote(passing)}"))


def target_table(place: Place, options: TableOptions) -> str:
    """The table to write, which must be named."""
    if options.query is not None:
        raise ConfigError("--query reads rows; name the table to write with --table")
    table = options.table or place.table
    if not table:
        raise OutputError(f"name the table of {place.name} to write with --table")
    return table


def refuse_overwriting(place: Place, table: str) -> None:
    """Protect an existing table."""
    raise OutputError(f"{place.name} has a table {table!r} already; name another, or replace it with --overwrite")


def read_only(sql: Any, engine: Any, path: Path | None) -> None:
    """Let SQLite itself refuse everything but reads; engines of other databases stay unchanged."""
    if engine.dialect.name != "sqlite":
        return

    def connecting(dialect: Any, record: Any, arguments: list[Any], options: dict[str, Any]) -> None:
        if path is not None:
            arguments[0] = f"{path.absolute().as_uri()}?mode=ro"
            options["uri"] = True

    def connected(connection: Any, record: Any) -> None:
        connection.set_authorizer(_authorize)

    sql.event.listen(engine, "do_connect", connecting)
    sql.event.listen(engine, "connect", connected)


def _authorize(action: int, first: str | None, *rest: str | None) -> int:
    """Allow reads, functions that load no code, and what SQLAlchemy needs to look up the columns of a table."""
    reading = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_TRANSACTION}
    if action == sqlite3.SQLITE_FUNCTION:
        allowed = str(rest[0]).lower() != "load_extension"
    elif action == sqlite3.SQLITE_PRAGMA:
        allowed = str(first).lower() in _LOOKING_UP
    else:
        allowed = action in reading
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


_LOOKING_UP = frozenset({
    "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list",
    "database_list", "read_uncommitted",
})  # fmt: skip


@contextlib.contextmanager
def _connected(place: Place, fault: type[SchemaError] | type[OutputError]) -> Iterator[tuple[Any, Any]]:
    """Yield the SQLAlchemy module and an engine; their errors become one line without a password."""
    sql: Any = import_extra("sqlalchemy", "sql")
    engine, password = None, None
    message = ""
    try:
        url = sql.engine.make_url(place.url)
        password = url.password
        engine = sql.create_engine(url)
        yield sql, engine
    except sql.exc.NoSuchModuleError:
        message = f"no database is known as {str(place.url).split(':')[0]!r}; a URL looks like sqlite:///shop.db"
    except (sql.exc.DBAPIError, pd.errors.DatabaseError) as error:
        # The driver's own message: the wrapped one quotes the statement and rows of data.
        inner = getattr(error, "orig", None) or getattr(error.__cause__, "orig", None) or "the database refused"
        message = " ".join(str(inner).split())
    except sql.exc.SQLAlchemyError as error:
        message = " ".join(str(error).split())
    except (ValueError, TypeError) as error:
        if isinstance(error, TabTreeFormerError):
            raise
        message = f"a value is not of its column's type ({error})"
    except ModuleNotFoundError as error:
        if isinstance(error, MissingExtraError):
            raise
        raise MissingExtraError(
            f"the driver {error.name} of {place.name} is not installed; install it with pip"
        ) from None
    finally:
        if engine is not None:
            engine.dispose()
    if message:  # raised here rather than where it was caught, so that no chained error shows the URL
        hidden = message if not password else message.replace(str(password), "***")
        raise fault(f"{place.name}: {hide_passwords(hidden)}")


def _query(sql: Any, engine: Any, place: Place, options: TableOptions) -> Any:
    """The query to run; the types of a table are looked up, since SQLite by itself returns dates as text."""
    if options.query is not None:
        return sql.text(options.query.replace(":", r"\:"))  # a colon is just a colon, not a parameter
    wanted = options.table or place.table
    if wanted is None or not _exists(sql, engine, wanted):
        inspector = sql.inspect(engine)
        wanted = choose_table(place, wanted, [*inspector.get_table_names(), *inspector.get_view_names()], "table")
    schema, name = _parts(wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sql.exc.SAWarning)  # types unknown to SQLAlchemy are returned as they are
        return sql.select(sql.Table(name, sql.MetaData(), schema=schema, autoload_with=engine))


def _exists(sql: Any, engine: Any, table: str) -> bool:
    schema, name = _parts(table)
    inspector = sql.inspect(engine)
    return bool(inspector.has_table(name, schema=schema))


def _parts(table: str) -> tuple[str | None, str]:
    schema, dot, name = table.rpartition(".")
    return (schema, name) if dot else (None, table)
