"""Tables that are read in parts, any number of times: files, folders of files, pyarrow datasets and readers.

Every part has the dtypes that the whole table would have: for CSV they are determined from all fields, and category
columns list the values of all parts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ...errors import ConfigError, SchemaError
from . import read_table
from .arrow_chunks import of_dataset, of_files, of_reader
from .chunked import MANY_BYTES, MEMORY_SHARE, SAMPLE_ROWS, Chunks, free_memory
from .frames import PYARROW, Kind, take_in
from .location import Place, TableOptions, check_file, form_of, locate

_FORMS = ("csv", "parquet", "feather")


def open_chunks(
    source: Any,
    rows: int | None = None,
    *,
    sample: int = SAMPLE_ROWS,
    cache_dir: str | os.PathLike[str] | None = None,
    kinds: Mapping[str | int, str] | None = None,
    **options: Any,
) -> Chunks:
    """Open a table for fitting in parts, with memory use that does not grow with the number of rows.

    Parameters
    ----------
    source
        A CSV, Parquet or Feather file, a folder of such files, a pyarrow dataset, or a RecordBatchReader (which is
        copied to disk first, since it can be read only once).
    rows
        Rows per part.
    sample
        Number of rows used to learn statistics and trees.
    cache_dir
        Folder for temporary files; defaults to the system's.
    kinds
        Column kinds to use instead of inferred ones, e.g. {"zone": "categorical"}.
    **options
        As for `read_table`.

    Examples
    --------
    >>> write_table(df, folder / "people.csv")
    >>> [len(part) for part in open_chunks(folder / "people.csv", rows=50)]
    [50, 50, 20]
    """
    for name, number in {"rows": rows, "sample": sample}.items():
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 2):
            raise ConfigError(f"{name} must be a whole number from 2, got {number!r}")
    folder = None if cache_dir is None else Path(cache_dir)
    if folder is not None and not folder.is_dir():
        raise ConfigError(f"cache_dir {folder} is not a folder; create it first")
    chunks = _open(source, TableOptions(**options), folder)
    return replace(chunks, rows=rows, sample=sample, cache_dir=folder, kinds=dict(kinds or {}))


def take_any(source: Any) -> tuple[Any, Kind]:
    """Return a table of any library as a DataFrame; a file is read whole if small, otherwise in parts."""
    if isinstance(source, Chunks):
        return source, source.kind
    if _arrow_source(source) is None and not isinstance(source, str | os.PathLike):
        return take_in(source)
    if not can_open(source):
        return read_table(source), Kind()
    if (chunks := open_quickly(source)) is None or not chunks.is_large:
        return (read_table(source), Kind()) if chunks is None else (chunks.whole(), chunks.kind)
    return chunks, chunks.kind


def can_open(source: Any, **options: Any) -> bool:
    """Whether a table can be read in parts."""
    if isinstance(source, str | os.PathLike):
        if Path(source).is_dir():
            return True
        place = locate(source, TableOptions(**options))
        return place.form in _FORMS and not place.is_pipe
    return _arrow_source(source) is not None


def open_quickly(source: Any, **options: Any) -> Chunks | None:
    """`open_chunks`, except for small CSV files, where scanning all fields takes as long as reading the file."""
    if isinstance(source, str | os.PathLike) and not Path(source).is_dir():
        place = locate(source, TableOptions(**options))
        assert place.path is not None
        check_file(place.path)
        size = place.path.stat().st_size
        if place.form == "csv" and size <= min(MANY_BYTES, MEMORY_SHARE * free_memory()):
            return None
    return open_chunks(source, **options)


def _open(source: Any, options: TableOptions, cache_dir: Path | None) -> Chunks:
    if (form := _arrow_source(source)) is not None:
        return of_dataset(source) if form == "dataset" else of_reader(source, cache_dir)
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    if path is not None and path.is_dir():
        places = _in_folder(path, options)
        base: Path | None = path
    else:
        place = locate(source, options)
        if place.form not in _FORMS:
            raise SchemaError(
                f"{place.name} is {place.form}, which is not read in parts; write it as Parquet first, or read it "
                f"whole with read_table"
            )
        if place.path is None:
            raise SchemaError(f"{place.name} is read once, not in parts; write it to a file first")
        check_file(place.path)
        places, base = [place], None
    return _of_text(str(source), places, options) if places[0].form == "csv" else of_files(places, base, _size(places))


def _arrow_source(source: Any) -> str | None:
    """Whether something is a pyarrow dataset or reader; pyarrow is not imported to find out."""
    if type(source).__module__.split(".")[0] != PYARROW:
        return None
    names = {base.__name__ for base in type(source).__mro__}
    return "dataset" if "Dataset" in names else "reader" if "RecordBatchReader" in names else None


def _in_folder(folder: Path, options: TableOptions) -> list[Place]:
    """The files of a table that is a folder, sorted by name, without hidden ones."""
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part[0] in "._" for part in path.relative_to(folder).parts)
    ]
    places = [Place(form, str(path), path) for path in files if (form := options.format or form_of(path.name))]
    if not places:
        raise SchemaError(
            f"{folder} is a folder without a file that is a table; {', '.join(_FORMS)} are read from folders"
        )
    for place in places:
        if place.form != places[0].form or place.form not in _FORMS:
            both = f"{places[0].name} is {places[0].form}, {place.name} is {place.form}"
            raise SchemaError(f"{folder} is not one table: {both}; name a folder of CSV, Parquet or Feather files only")
        assert place.path is not None
        check_file(place.path)
    return places


def _of_text(name: str, places: list[Place], options: TableOptions) -> Chunks:
    from .text import parse, settle

    forms, n_rows = settle(places, options)
    if n_rows == 0:
        raise SchemaError(f"{name} has {len(forms[0].header)} columns and no rows")

    def parts(rows: int) -> Iterator[pd.DataFrame]:
        for form in forms:
            yield from parse(form, options, rows)

    return Chunks(name, n_rows, _size(places), parts, len(forms[0].header))


def _size(places: list[Place]) -> int:
    return sum(place.path.stat().st_size for place in places if place.path is not None)
