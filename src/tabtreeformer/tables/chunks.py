"""Tables that are read in parts, as often as one asks: files, folders of files, datasets and readers of pyarrow.

Every part has the dtypes that the whole table would have: those of a CSV are settled by all of its fields, and the
lists of category columns are those of all parts together.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import ConfigError, SchemaError, import_extra
from . import read_table
from .frames import PYARROW, Kind, take_in
from .place import Place, TableOptions, check_file, form_of, locate

CELLS_AT_ONCE = 2_000_000
"""Cells of a part, unless its rows are given."""
SAMPLE_ROWS = 1_000_000
"""Rows that statistics and trees are learned from, about."""
MANY_ROWS = 2_000_000
MANY_BYTES = 1 << 30
"""Tables of more rows, or files of more bytes, are read in parts without being asked to."""
MEMORY_SHARE = 0.1
"""… and so are files of more than this share of the free memory."""

_FORMS = ("csv", "parquet", "feather")


@dataclass(frozen=True)
class Chunks:
    """A table in parts; made by `open_chunks`, taken by `TabTreeFormer.fit`."""

    name: str
    n_rows: int
    """Rows as the files state them."""
    n_bytes: int
    parts: Callable[[int], Iterator[pd.DataFrame]] = field(repr=False)
    """Reads the table from its start, in parts of about so many rows."""
    n_columns: int
    rows: int | None = None
    """Rows of a part."""
    sample: int = SAMPLE_ROWS
    """Rows that statistics and trees are learned from, about."""
    cache_dir: Path | None = None
    """Where the tokens of all rows are kept while fitting."""
    kinds: Mapping[str | int, str] = field(default_factory=dict)
    """Kinds of columns that are not to be inferred."""
    kind: Kind = field(default_factory=Kind)
    """What `sample` returns."""

    def __iter__(self) -> Iterator[pd.DataFrame]:
        """Read the table from its start."""
        return self.parts(self.rows or max(1000, CELLS_AT_ONCE // max(1, self.n_columns)))

    def whole(self) -> pd.DataFrame:
        """Read all of it at once."""
        return pd.concat(list(self), ignore_index=True)

    @property
    def is_large(self) -> bool:
        """Whether it had better not be read whole."""
        return self.n_rows > MANY_ROWS or self.n_bytes > min(MANY_BYTES, MEMORY_SHARE * free_memory())


def open_chunks(
    source: Any,
    rows: int | None = None,
    *,
    sample: int = SAMPLE_ROWS,
    cache_dir: str | os.PathLike[str] | None = None,
    kinds: Mapping[str | int, str] | None = None,
    **options: Any,
) -> Chunks:
    """Open a table that is to be fitted in parts: a CSV, Parquet or Feather file, a folder of such, a pyarrow dataset
    or a RecordBatchReader (which is copied to disk first, since it can be read only once).

    `rows` is the size of a part, `sample` the number of rows that statistics and trees are learned from, `cache_dir`
    the folder for temporary files (by default the system's), `kinds` says what columns are, as {"zone":
    "categorical"}. Further options are those of `read_table`.
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
    """Return a table of any library as a DataFrame; where a table is named or opened, read it whole if that is no
    burden, and open it in parts if it is.
    """
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
        return Path(source).is_dir() or locate(source, TableOptions(**options)).form in _FORMS
    return _arrow_source(source) is not None


def open_quickly(source: Any, **options: Any) -> Chunks | None:
    """`open_chunks`, but for a small CSV file: looking at all of its fields is what reading it does anyway."""
    if isinstance(source, str | os.PathLike) and not Path(source).is_dir():
        place = locate(source, TableOptions(**options))
        assert place.path is not None
        check_file(place.path)
        size = place.path.stat().st_size
        if place.form == "csv" and size <= min(MANY_BYTES, MEMORY_SHARE * free_memory()):
            return None
    return open_chunks(source, **options)


def free_memory() -> int:
    """Bytes that programs can still have, about."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 8 << 30  # no way to ask without another package


def _open(source: Any, options: TableOptions, cache_dir: Path | None) -> Chunks:
    if (form := _arrow_source(source)) is not None:
        return _of_dataset(source) if form == "dataset" else _of_reader(source, cache_dir)
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
        assert place.path is not None
        check_file(place.path)
        places, base = [place], None
    return _of_text(str(source), places, options) if places[0].form == "csv" else _of_files(places, base)


def _arrow_source(source: Any) -> str | None:
    """Whether something is a dataset or a reader of pyarrow; it is not imported for that."""
    if type(source).__module__.split(".")[0] != PYARROW:
        return None
    names = {base.__name__ for base in type(source).__mro__}
    return "dataset" if "Dataset" in names else "reader" if "RecordBatchReader" in names else None


def _in_folder(folder: Path, options: TableOptions) -> list[Place]:
    """The files of a table that is a folder, in the order of their names; hidden ones do not count."""
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part[0] in "._" for part in path.relative_to(folder).parts)
    ]
    places = [Place(form, str(path), path) for path in files if (form := options.format or form_of(path.name))]
    if not places:
        raise SchemaError(f"{folder} is a folder without a file that is a table; {', '.join(_FORMS)} are read so")
    for place in places:
        if place.form != places[0].form or place.form not in _FORMS:
            both = f"{places[0].name} is {places[0].form}, {place.name} is {place.form}"
            raise SchemaError(f"{folder} is not one table: {both}; name a folder of CSV, Parquet or Feather files only")
        assert place.path is not None
        check_file(place.path)
    return places


# ---- CSV


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


# ---- Arrow


def _of_files(places: list[Place], base: Path | None) -> Chunks:
    """Parquet or Feather files of one table; folders named as `year=2024` are a column."""
    import_extra("pyarrow", "parquet")
    import pyarrow as pa
    import pyarrow.dataset as ds

    form = "parquet" if places[0].form == "parquet" else "feather"
    folders = {} if base is None else {"partitioning": "hive", "partition_base_dir": str(base)}
    name = places[0].name if base is None else str(base)
    try:
        dataset = ds.dataset([str(place.path) for place in places], format=form, **folders)
        dataset = ds.dataset(
            [str(place.path) for place in places], format=form, schema=_common_schema(dataset, places), **folders
        )
        return _of_dataset(dataset, name, _size(places), keep_metadata=True)
    except SchemaError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise SchemaError(
            f"{name} cannot be read as {form}: it is damaged, cut off or of another kind ({error})"
        ) from error


def _common_schema(dataset: Any, places: list[Place]) -> Any:
    """The columns of all files, which must be alike; a column without any value in one file is of the others' type."""
    import pyarrow as pa

    schema = dataset.schema
    own: dict[str, tuple[Any, str]] = {}
    first: list[str] | None = None
    for place, fragment in zip(places, dataset.get_fragments(), strict=True):
        fields = fragment.physical_schema
        names = list(fields.names)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise SchemaError(f"{place.name}: column name {twice!r} stands more than once; rename the columns")
        first = first or names
        odd = next((name for name in (*first, *names) if (name in first) != (name in names)), None)
        if odd is not None:
            lacking, having = (places[0], place) if odd in names else (place, places[0])
            raise SchemaError(f"{lacking.name} lacks the column {odd!r} that {having.name} has; make the files alike")
        for column in fields:
            known, where = own.setdefault(column.name, (column.type, place.name))
            if pa.types.is_null(known):
                own[column.name] = column.type, place.name
            elif not pa.types.is_null(column.type) and column.type != known:
                raise SchemaError(
                    f"{place.name}: column {column.name!r} is of type {column.type}, in {where} it is {known}; "
                    f"make the files alike"
                )
    for name, (kind, _) in own.items():
        schema = schema.set(schema.get_field_index(name), schema.field(name).with_type(kind))
    return schema


def _of_dataset(dataset: Any, name: str = "the dataset", n_bytes: int = 0, keep_metadata: bool = False) -> Chunks:
    """Nothing is read far ahead, since that would cost the memory that is to be saved."""

    def batches(rows: int, columns: list[str] | None) -> Iterator[Any]:
        scanner = dataset.scanner(columns=columns, batch_size=rows, batch_readahead=1, fragment_readahead=1)
        yield from scanner.to_batches()

    chunks = _of_batches(name, dataset.schema, batches, int(dataset.count_rows()), n_bytes, keep_metadata)
    # What is read from files is pandas' as it is from a file that fits memory; a dataset of pyarrow is pyarrow's.
    return chunks if keep_metadata else replace(chunks, kind=Kind(PYARROW, dataset.schema.remove_metadata()))


def _of_reader(reader: Any, cache_dir: Path | None) -> Chunks:
    """Copy what can be read once to a file that can be read again."""
    import pyarrow as pa

    folder = tempfile.mkdtemp(prefix="tabtree-", dir=cache_dir)
    path, n_rows = Path(folder) / "table.arrows", 0
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
            n_rows += batch.num_rows

    def batches(rows: int, columns: list[str] | None) -> Iterator[Any]:
        with pa.memory_map(str(path)) as source:
            for batch in pa.ipc.open_stream(source):
                for start in range(0, batch.num_rows, rows):
                    part = batch.slice(start, rows)
                    yield part if columns is None else part.select(columns)

    weakref.finalize(batches, shutil.rmtree, folder, ignore_errors=True)  # the copy lives as long as its reader
    chunks = _of_batches("the reader", reader.schema, batches, n_rows, path.stat().st_size)
    return replace(chunks, kind=Kind(PYARROW, reader.schema.remove_metadata()))


def _of_batches(
    name: str,
    schema: Any,
    batches: Callable[[int, list[str] | None], Iterator[Any]],
    n_rows: int,
    n_bytes: int,
    keep_metadata: bool = False,
) -> Chunks:
    names = list(schema.names)
    twice = next((column for column in names if names.count(column) > 1), None)
    if twice is not None:
        raise SchemaError(f"{name}: column name {twice!r} stands more than once; rename the columns")
    if not names or not n_rows:
        raise SchemaError(f"{name} has {len(names) or 'no'} columns" + " and no rows" * bool(names))
    lists = _category_lists(schema, batches)

    def parts(rows: int) -> Iterator[pd.DataFrame]:
        from .arrow import to_pandas

        for table in _tables(batches(rows, None), rows):
            frame = to_pandas(table if keep_metadata else table.replace_schema_metadata(None))
            for column in lists.keys() & frame.columns:
                own = frame[column].cat
                frame[column] = own.set_categories(pd.Index(lists[column].to_pandas(), dtype=own.categories.dtype))
            yield frame.reset_index(drop=True)

    return Chunks(name, n_rows, n_bytes, parts, len(names))


def _tables(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """Join batches to tables of about so many rows."""
    import pyarrow as pa

    held: list[Any] = []
    for batch in batches:
        held += [batch] * bool(batch.num_rows)
        if sum(part.num_rows for part in held) >= rows:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _category_lists(schema: Any, batches: Callable[[int, list[str] | None], Iterator[Any]]) -> dict[str, Any]:
    """The values of each category column, all batches together, in the order in which a whole table has them."""
    import pyarrow as pa

    names = [column.name for column in schema if pa.types.is_dictionary(column.type)]
    known: dict[str, Any] = {}
    for batch in batches(1 << 17, names) if names else ():
        for name in names:
            new = batch.column(batch.schema.get_field_index(name)).slice(0, 0)
            both = [known[name], new] if name in known else [new]
            known[name] = pa.chunked_array(both).unify_dictionaries().chunk(0)
    return {name: column.dictionary for name, column in known.items()}
