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


def check_output(path: Path, reads: Iterable[Source], overwrite: bool) -> None:
    """Refuse an output that is also an input or already exists, before any work is done."""
    from .._runtime.files import check_writable
    from ..errors import OutputError

    check_writable(path)
    for source in reads:
        if source is not None and _is_read(path, source):
            raise OutputError(f"cannot write {path}: it is an input of this command; name another output")
    if path.exists() and not overwrite:
        raise OutputError(
            f"cannot write {path}: it already exists; name another output, or replace it with --overwrite"
        )


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
    from ..data.io import TableOptions, locate
    from ..errors import SchemaError

    try:
        other = locate(source, TableOptions())
    except SchemaError:
        return False
    if place.path is None or other.path is None:
        same = place.url is not None and place.url == other.url
    else:
        same = other.path.exists() and place.path.exists() and os.path.samefile(place.path, other.path)
    return same and other.table in (table, None)
