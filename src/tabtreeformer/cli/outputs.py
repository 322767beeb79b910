"""Checks of output paths: never an input file, and an existing file only with `--overwrite`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..data.io import Place

Source = str | Path | None
"""A table or file that a command reads; None where the option was not given."""


def check_outputs(paths: Iterable[Path | None], reads: Iterable[Source], overwrite: bool) -> None:
    """The same for several files, which must differ."""
    from ..errors import OutputError

    named, reads = [path for path in paths if path is not None], list(reads)
    for k, path in enumerate(named):
        if any(path.resolve() == other.resolve() for other in named[:k]):
            raise OutputError(f"cannot write {path} twice; name two outputs")
        check_output(path, reads, overwrite)


def files_in(query: str | None) -> list[Path]:
    """The files that a query names, as DuckDB does: 'parts/*.parquet'."""
    import glob
    import re

    names = [a or b for a, b in re.findall(r"'([^']+)'|\"([^\"]+)\"", query or "")]
    return [Path(file) for name in names if "\0" not in name for file in glob.glob(name, recursive=True)]


def check_output(path: Path, reads: Iterable[Source], overwrite: bool) -> None:
    """Refuse an output that is also an input or already exists, before any work is done."""
    from .._runtime.files import check_writable
    from ..errors import OutputError

    check_writable(path)
    check_not_read(path, reads)
    if path.exists() and not overwrite:
        raise OutputError(
            f"cannot write {path}: it already exists; name another output, or replace it with --overwrite"
        )


def check_not_read(path: Path, reads: Iterable[Source]) -> None:
    """Refuse a file or folder that is read, or is in a folder that is read."""
    from ..errors import OutputError

    for source in reads:
        if source is not None and _is_read(path, source):
            raise OutputError(f"cannot write {path}: it is an input of this command; name another output")


def check_table_output(target: str, reads: Iterable[Source], options: Mapping[str, Any]) -> Place:
    """As `check_output`, for a table, which may also go to a database."""
    from ..data.io import check_target
    from ..data.io.location import DATABASES
    from ..errors import OutputError

    place = check_target(target, **options)
    if place.form not in DATABASES:
        if place.path is not None:
            check_output(place.path, reads, bool(options.get("overwrite")))
        return place
    table = options.get("table") or place.table
    for source in reads:
        if source is not None and _same_table(place, table, source):
            raise OutputError(
                f"cannot write table {table!r} of {place.name}: it is an input of this command; name another"
            )
    return place


def _is_read(path: Path, source: str | Path) -> bool:
    """Return whether a path is an input file, or in an input folder."""
    from ..data.io import TableOptions, locate
    from ..errors import SchemaError

    read: Path | None = Path(source)
    if isinstance(source, str) and not Path(source).exists():
        try:
            read = locate(source, TableOptions()).path
        except SchemaError:
            return False
    if read is None or not read.exists() or not path.exists():
        return False
    return os.path.samefile(path, read) or (read.is_dir() and read.resolve() in path.resolve().parents)


def _same_table(place: Place, table: str | None, source: str | Path) -> bool:
    """Whether a table of a database is what is read; a view or a query may read any of its tables."""
    from ..data.io import TableOptions, locate
    from ..data.io.several import tables_of
    from ..errors import SchemaError

    try:
        other = locate(source, TableOptions())
    except SchemaError:
        return False
    if place.path is None or other.path is None:
        same = place.url is not None and place.url == other.url
    else:
        same = other.path.exists() and place.path.exists() and os.path.samefile(place.path, other.path)
    if not same or table is None or other.table is None:
        return same
    return _same_name(table, other.table) or not any(_same_name(name, other.table) for name in tables_of(other))


def _same_name(one: str, other: str) -> bool:
    """Whether two names can mean one table: `people`, `People` and `main.people` can, `a.people` and `b.people` not."""
    (schema, _, name), (schema_2, _, name_2) = (text.casefold().rpartition(".") for text in (one, other))
    return name == name_2 and (schema == schema_2 or not (schema and schema_2))
