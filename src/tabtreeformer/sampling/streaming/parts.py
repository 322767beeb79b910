"""Writes parts of a table as files, and joins them to one file."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ..._runtime.files import replacing
from ...data.io.arrow import write_parquet
from ...data.io.jsonl import write_jsonl
from ...data.io.location import Place, TableOptions
from ...data.io.text import write_csv
from ...errors import ConfigError, OutputError

FORMS = ("parquet", "csv", "jsonl")
"""File formats that can be written in parts."""
ROW_GROUP = 131_072
"""Row-group size of a joined Parquet file."""


def check_form(place: Place, options: TableOptions) -> None:
    """Refuse what cannot be written in parts."""
    if place.form not in FORMS:
        raise ConfigError(f"{place.name}: rows can be streamed to {', '.join(FORMS)}, not to {place.form}")
    if (options.encoding or "utf-8").lower().replace("_", "-").startswith(("utf-16", "utf-32", "utf-8-sig")):
        raise ConfigError(f"{place.name}: parts in {options.encoding} cannot be joined; use utf-8")


def write_part(frame: pd.DataFrame, path: Path, place: Place, options: TableOptions, *, header: bool) -> None:
    """Write one part of `place`, atomically."""
    part = dataclasses.replace(place, name=path.name, path=path)
    if place.form == "csv":
        write_csv(frame, part, options, header=header)
    else:
        {"parquet": write_parquet, "jsonl": write_jsonl}[place.form](frame, part, options)


def join(parts: Sequence[Path], target: Path, form: str) -> None:
    """Join parts to one file, with one part in memory at a time."""
    with replacing(target) as temporary:
        if form == "parquet":
            _join_parquet(parts, temporary)
        else:  # text files can be concatenated, also compressed ones
            with temporary.open("wb") as whole:
                for part in parts:
                    with part.open("rb") as piece:
                        shutil.copyfileobj(piece, whole, 1 << 20)


def _join_parquet(parts: Sequence[Path], target: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    schemas = [parquet.read_schema(part) for part in parts]
    try:
        # In a part without any value, a column has no type.
        schema = pa.unify_schemas([s.remove_metadata() for s in schemas]).with_metadata(schemas[0].metadata)
        with parquet.ParquetWriter(target, schema) as writer:
            for part in parts:
                file = parquet.ParquetFile(part)
                for group in range(file.num_row_groups):
                    writer.write_table(file.read_row_group(group).cast(schema), row_group_size=ROW_GROUP)
    except pa.ArrowException as error:
        raise OutputError(f"parts are inconsistent: {error}") from error
