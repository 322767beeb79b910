"""Several tables at once: a folder of files, or all tables of a database."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ...errors import OutputError, SchemaError
from . import check_target, read_table, write_table
from .database import table_names as sql_tables
from .duck import table_names as duckdb_tables
from .location import DATABASES, Place, TableOptions, form_of, locate

DUCKDB = "duckdb"


def read_tables(source: str | os.PathLike[str], **options: Any) -> dict[str, pd.DataFrame]:
    """All tables of a folder (one per file, named after it) or of a database, by name."""
    path = Path(source)
    if path.is_dir():
        return _read_folder(path, options)
    place = locate(source, TableOptions(**options))
    if place.form not in DATABASES:
        raise SchemaError(f"{place.name} holds one table; name a folder of files or a database")
    names = tables_of(place)
    if not names:
        raise SchemaError(f"{place.name} has no tables")
    return {name: read_table(source, table=name, **options) for name in names}


def holds_several(source: str | os.PathLike[str], **options: Any) -> bool:
    """Whether a name refers to several tables: a database with more than one, or files with different columns.

    Files with the same columns are parts of one table.
    """
    path = Path(source)
    if path.is_dir():
        files = _files(path)
        return len({frozenset(_header(file, options)) for file in files}) > 1
    place = locate(source, TableOptions(**options))
    if place.form not in DATABASES or place.table is not None:
        return False
    if place.path is not None and not place.path.exists():
        return False  # reading it gives a better error
    return len(tables_of(place)) > 1


def tables_of(place: Place) -> list[str]:
    """Names of the tables of a database, without views."""
    return duckdb_tables(place) if place.form == DUCKDB else sql_tables(place)


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file() and form_of(file.name) is not None)


def _header(file: Path, options: Mapping[str, Any]) -> list[str]:
    """Names of the columns of a file; for CSV and Parquet, without reading the rows."""
    form = form_of(file.name)
    if form == "csv":
        chosen = {name: options[name] for name in ("sep", "encoding") if options.get(name)}
        sniffed = {"sep": None, "engine": "python"} | chosen
        return [str(name) for name in pd.read_csv(file, nrows=0, **sniffed).columns]
    if form == "parquet":
        from pyarrow import parquet

        return list(parquet.read_schema(file).names)
    return [str(name) for name in read_table(file, **options).columns]


def _read_folder(folder: Path, options: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    files = _files(folder)
    if not files:
        raise SchemaError(f"{folder} holds no tables; files must end in .csv, .parquet or another known ending")
    tables: dict[str, pd.DataFrame] = {}
    for file in files:
        name = file.name.split(".")[0]
        if name in tables:
            raise SchemaError(f"{folder} holds two files named {name!r}; rename one of them")
        tables[name] = read_table(file, **options)
    return tables


def is_folder(target: str) -> bool:
    """Whether tables go to files in a folder: an existing one, or a name that ends in a slash."""
    return target.endswith(("/", os.sep)) or Path(target).is_dir()


def check_tables_target(target: str, names: list[str], *, ending: str, overwrite: bool) -> None:
    """Reject a target that exists or cannot be written, before any work is done."""
    if not is_folder(target):
        for name in names:
            check_target(target, table=name, overwrite=overwrite)
        return
    for name in names:
        file = Path(target) / f"{name}{ending}"
        if file.exists() and not overwrite:
            raise OutputError(f"cannot write {file}: it exists; name another folder, or replace it with --overwrite")


def write_tables(tables: Mapping[str, pd.DataFrame], target: str, *, ending: str = ".csv", **options: Any) -> None:
    """Write tables to a folder (a name that ends in a slash), one file each, or to a database."""
    if is_folder(target):
        folder = Path(target)
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            write_table(table, folder / f"{name}{ending}", **options)
        return
    for name, table in tables.items():
        write_table(table, target, table=name, **options)
