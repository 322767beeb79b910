"""Databases behind a SQLAlchemy URL (extra `sql`). Passwords never reach a message."""

from __future__ import annotations

import contextlib
import re
import uuid
import warnings
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ..errors import ConfigError, MissingExtraError, OutputError, SchemaError, TabTreeFormerError, import_extra
from .columns import from_rows
from .place import Place, TableOptions, check_file, check_names, choose_table, hide_passwords

ROWS_AT_ONCE = 10_000
_WRITES = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*(insert|update|delete|drop|alter|create|truncate|replace|merge|grant|attach|copy)\b",
    re.IGNORECASE | re.DOTALL,
)


def read_sql(place: Place, options: TableOptions) -> pd.DataFrame:
    """Read the rows of a query or of a table; nothing is ever committed."""
    refuse_writing(options.query)
    if place.path is not None:
        check_file(place.path)  # SQLite would make an empty database of a name that was mistyped
    with _connected(place, SchemaError) as (sql, engine):
        query = _query(sql, engine, place, options)
        with engine.connect().execution_options(stream_results=True) as connection:
            result = connection.execute(query)
            if not result.returns_rows:
                raise SchemaError(f"{place.name}: the query gives no rows; ask for some, as SELECT * FROM orders")
            names = list(map(str, result.keys()))
            check_names(place, names)
            columns: list[list[Any]] = [[] for _ in names]
            while rows := result.fetchmany(ROWS_AT_ONCE):
                for values, more in zip(columns, zip(*rows, strict=True), strict=True):
                    values.extend(more)
    return from_rows(names, columns)


def check_sql(place: Place, options: TableOptions) -> None:
    """Say early that a table cannot be written: no name, no connection, or already there."""
    table = target_table(place, options)
    with _connected(place, OutputError) as (sql, engine):
        if not options.overwrite and _exists(sql, engine, table):
            refuse_overwriting(place, table)


def write_sql(df: pd.DataFrame, place: Place, options: TableOptions) -> None:
    """Write a table under a passing name and give it its own at the end, so that it is there whole or not at all."""
    table = target_table(place, options)
    schema, name = _parts(table)
    passing = f"ttf_{uuid.uuid4().hex[:12]}"
    with _connected(place, OutputError) as (sql, engine):
        there = _exists(sql, engine, table)
        if there and not options.overwrite:
            refuse_overwriting(place, table)
        quote = engine.dialect.identifier_preparer.quote
        inside = "" if schema is None else f"{quote(schema)}."
        try:
            with engine.begin() as connection:
                df.to_sql(passing, connection, schema=schema, index=False, chunksize=ROWS_AT_ONCE)
            with engine.begin() as connection:
                if there:
                    connection.execute(sql.text(f"DROP TABLE {inside}{quote(name)}"))
                connection.execute(sql.text(f"ALTER TABLE {inside}{quote(passing)} RENAME TO {quote(name)}"))
        except BaseException:
            with contextlib.suppress(sql.exc.SQLAlchemyError), engine.begin() as connection:
                connection.execute(sql.text(f"DROP TABLE IF EXISTS {inside}{quote(passing)}"))
            raise


def target_table(place: Place, options: TableOptions) -> str:
    """The table to write, which has to be named."""
    if options.query is not None:
        raise ConfigError("--query reads rows; name the table to write with --table")
    table = options.table or place.table
    if not table:
        raise OutputError(f"name the table of {place.name} to write with --table")
    return table


def refuse_overwriting(place: Place, table: str) -> None:
    """Keep what is there."""
    raise OutputError(f"{place.name} has a table {table!r} already; name another, or replace it with --overwrite")


def refuse_writing(query: str | None) -> None:
    """A query is there to read."""
    if query is not None and (match := _WRITES.match(query)):
        raise ConfigError(f"the query must read rows, but it starts with {match[1].upper()}")


@contextlib.contextmanager
def _connected(place: Place, fault: type[SchemaError] | type[OutputError]) -> Iterator[tuple[Any, Any]]:
    """Give the SQLAlchemy module and an engine; every error of theirs becomes one line without a password."""
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
        # What the driver itself said: the wrapped message quotes the statement and rows of data.
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
    if message:  # raised here and not where it was caught, so that no chained error shows the URL
        hidden = message if not password else message.replace(str(password), "***")
        raise fault(f"{place.name}: {hide_passwords(hidden)}")


def _query(sql: Any, engine: Any, place: Place, options: TableOptions) -> Any:
    """What to ask for; the types of a table are looked up, since SQLite by itself would give dates as text."""
    if options.query is not None:
        return sql.text(options.query.replace(":", r"\:"))  # a colon is one, and no parameter
    wanted = options.table or place.table
    if wanted is None or not _exists(sql, engine, wanted):
        inspector = sql.inspect(engine)
        wanted = choose_table(place, wanted, [*inspector.get_table_names(), *inspector.get_view_names()], "table")
    schema, name = _parts(wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sql.exc.SAWarning)  # a type that SQLAlchemy does not know comes as it is
        return sql.select(sql.Table(name, sql.MetaData(), schema=schema, autoload_with=engine))


def _exists(sql: Any, engine: Any, table: str) -> bool:
    schema, name = _parts(table)
    inspector = sql.inspect(engine)
    return bool(inspector.has_table(name, schema=schema))


def _parts(table: str) -> tuple[str | None, str]:
    schema, dot, name = table.rpartition(".")
    return (schema, name) if dot else (None, table)
