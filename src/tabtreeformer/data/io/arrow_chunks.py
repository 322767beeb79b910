"""Arrow tables in parts: Parquet and Feather files, folders of them, pyarrow datasets and readers."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..._runtime.scratch import Scratch
from ...errors import SchemaError, import_extra
from .chunked import Chunks
from .frames import PYARROW, Kind
from .location import Place


def of_files(places: list[Place], base: Path | None, n_bytes: int) -> Chunks:
    """Parquet or Feather files of one table; folder names such as `year=2024` become a column."""
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
        return of_dataset(dataset, name, n_bytes, keep_metadata=True)
    except SchemaError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise SchemaError(
            f"{name} cannot be read as {form}: it is damaged, cut off or of another kind ({error})"
        ) from error


def _common_schema(dataset: Any, places: list[Place]) -> Any:
    """The columns, which must match across files; one that is empty in a file takes its type from the others."""
    import pyarrow as pa

    schema = dataset.schema
    own: dict[str, tuple[Any, str]] = {}
    first: list[str] | None = None
    for place, fragment in zip(places, dataset.get_fragments(), strict=True):
        fields = fragment.physical_schema
        names = list(fields.names)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise SchemaError(f"{place.name}: column name {twice!r} occurs more than once; rename the columns")
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


def of_dataset(dataset: Any, name: str = "the dataset", n_bytes: int = 0, keep_metadata: bool = False) -> Chunks:
    """Little is read ahead, since that would cost the memory we want to save."""

    def batches(rows: int, columns: list[str] | None) -> Iterator[Any]:
        scanner = dataset.scanner(columns=columns, batch_size=rows, batch_readahead=1, fragment_readahead=1)
        yield from scanner.to_batches()

    chunks = _of_batches(name, dataset.schema, batches, int(dataset.count_rows()), n_bytes, keep_metadata)
    # Files give pandas tables, as small files do; a pyarrow dataset gives pyarrow tables.
    return chunks if keep_metadata else replace(chunks, kind=Kind(PYARROW, dataset.schema.remove_metadata()))


def of_reader(reader: Any, cache_dir: Path | None) -> Chunks:
    """Copy a reader that can be read only once to a file that can be read again."""
    import pyarrow as pa

    scratch = Scratch(cache_dir)
    path, n_rows = scratch.path / "table.arrows", 0
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

    weakref.finalize(batches, scratch.remove)  # the copy lives as long as its reader
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
        raise SchemaError(f"{name}: column name {twice!r} occurs more than once; rename the columns")
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
    """Join batches into tables of about this many rows."""
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
    """The values of each category column across all batches, in the order they have in the whole table."""
    import pyarrow as pa

    names = [column.name for column in schema if pa.types.is_dictionary(column.type)]
    known: dict[str, Any] = {}
    for batch in batches(1 << 17, names) if names else ():
        for name in names:
            new = batch.column(batch.schema.get_field_index(name)).slice(0, 0)
            both = [known[name], new] if name in known else [new]
            known[name] = pa.chunked_array(both).unify_dictionaries().chunk(0)
    return {name: column.dictionary for name, column in known.items()}
