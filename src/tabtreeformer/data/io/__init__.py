"""Tables from anywhere: files, databases and other libraries; internally they are pandas DataFrames.

A table is named by one string: a file (`people.csv`, `people.parquet`), a table in a file (`shop.duckdb#orders`,
`book.xlsx#Sheet2`) or a database (`sqlite:///shop.db#orders`, `postgresql://…`).
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..._runtime.files import check_writable
from ..._runtime.scratch import scratch_folder
from ...errors import OutputError, SchemaError
from .location import DIALECT, HOLDS_TABLES, Place, TableOptions, check_file, locate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DIALECT", "Place", "TableOptions", "check_target", "is_csv", "locate", "read_table", "write_table"]

_HOMES = {
    "csv": "text",
    "jsonl": "jsonl",
    "parquet": "arrow",
    "feather": "arrow",
    "excel": "excel",
    "duckdb": "duck",
    "sql": "database",
}
"""The module for each format; it is imported only when a table has that format."""
_EXTRAS = {"parquet": ("pyarrow", "parquet"), "feather": ("pyarrow", "parquet"), "excel": ("openpyxl", "excel")}


def read_table(source: str | os.PathLike[str], **options: Any) -> pd.DataFrame:
    """Read a table; an error names the file, and the line and column if known.

    Parameters
    ----------
    source
        A file, a table in a file (`shop.duckdb#orders`), a database URL, or `-` for standard input.
    **options
        Fields of `TableOptions`: `format`, `sep`, `encoding`, `quote`, `decimal`, `missing`, `query`, `table`,
        `sheet`.

    Examples
    --------
    >>> write_table(df, folder / "people.csv")
    >>> read_table(folder / "people.csv").shape
    (120, 3)
    """
    chosen = TableOptions(**options)
    place = locate(source, chosen)
    if place.path is not None:
        check_file(place.path)
    frame: pd.DataFrame = _read_pipe(place, chosen) if place.is_pipe else _call("read", place, chosen)
    if frame.shape[1] == 0:
        raise SchemaError(f"{place.name} has no columns")
    if len(frame) == 0:
        raise SchemaError(f"{place.name} has {frame.shape[1]} columns and no rows")
    return frame


def write_table(frame: Any, target: str | os.PathLike[str], **options: Any) -> None:
    """Write a table completely or not at all.

    Parameters
    ----------
    frame
        A pandas, polars or pyarrow table.
    target
        Like `source` of `read_table`; `-` is standard output. A file is replaced; a database table only with
        `overwrite=True`.
    **options
        As for `read_table`, plus `neutralize` and `overwrite`.

    Examples
    --------
    >>> write_table(df, folder / "people.jsonl")
    """
    from .frames import library_of, take_in

    chosen = TableOptions(**options)
    place = locate(target, chosen, OutputError)
    if library_of(frame) is None:
        raise SchemaError(f"only a table can be written, got {type(frame).__name__}")
    table = take_in(frame)[0]
    if place.is_pipe:
        _write_pipe(table, place, chosen)
    else:
        _call("write", place, chosen, table)


def is_csv(target: str | os.PathLike[str]) -> bool:
    """Whether the extension means CSV, other than tab-separated."""
    return os.fspath(target).lower().rstrip("/").endswith((".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zst"))


def check_target(target: str | os.PathLike[str], **options: Any) -> Place:
    """Reject an unwritable target right away rather than after hours of work."""
    from ...errors import import_extra

    chosen = TableOptions(**options)
    place = locate(target, chosen, OutputError)
    if place.form in _EXTRAS:
        import_extra(*_EXTRAS[place.form])
    if place.form in HOLDS_TABLES:
        _call("check", place, chosen)
    if place.path is not None:
        check_writable(place.path)
    return place


def _read_pipe(place: Place, options: TableOptions) -> pd.DataFrame:
    """Read standard input via a file, since a table is inspected before it is parsed."""
    with scratch_folder() as folder:
        path = folder / f"stdin{place.ending}"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        frame: pd.DataFrame = _call("read", replace(place, path=path), options)
        return frame


def _write_pipe(table: pd.DataFrame, place: Place, options: TableOptions) -> None:
    """Write to standard output once the whole table is ready."""
    with scratch_folder() as folder:
        path = folder / f"stdout{place.ending}"
        _call("write", replace(place, path=path), options, table)
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()


def _call(verb: str, place: Place, options: TableOptions, *table: Any) -> Any:
    module = importlib.import_module(f".{_HOMES[place.form]}", __name__)
    return getattr(module, f"{verb}_{place.form}")(*table, place, options)
