"""Parts of a table as files, and one file of them."""

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
"""Forms of files that can be written in parts."""
ROW_GROUP = 131_072
"""Rows of a group in a Parquet file made of parts."""


def check_form(place: Place, options: TableOptions) -> None:
    """Refuse what cannot be written in parts."""
    if place.form not in FORMS:
        raise ConfigError(f"{place.name}: rows can be streamed to {', '.join(FORMS)}, not to {place.form}")
    if (options.encoding or "utf-8").lower().replace("_", "-").startswith(("utf-16", "utf-32", "utf-8-sig")):
        raise ConfigError(f"{place.name}: parts of {options.encoding} cannot be put together; stream utf-8")


def write_part(frame: pd.DataFrame, path: Path, place: Place, options: TableOptions, *, header: bool) -> None:
    """Write some rows of what becomes `place`, whole or not at all."""
    part = dataclasses.replace(place, name=path.name, path=path)
    if place.form == "csv":
        write_csv(frame, part, options, header=header)
    else:
        {"parquet": write_parquet, "jsonl": write_jsonl}[place.form](frame, part, options)


def join(parts: Sequence[Path], target: Path, form: str) -> None:
    """Make one file of parts, of which one at a time is in memory."""
    with replacing(target) as temporary:
        if form == "parquet":
            _join_parquet(parts, temporary)
        else:  # texts one after the other are a text, also packed: readers unpack one piece after the other
            with temporary.open("wb") as whole:
                for part in parts:
                    with part.open("rb") as piece:
                        shutil.copyfileobj(piece, whole, 1 << 20)


def _join_parquet(parts: Sequence[Path], target: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    schemas = [parquet.read_schema(part) for part in parts]
    try:
        # A column in which a part has no value at all has no type there.
        schema = pa.unify_schemas([s.remove_metadata() for s in schemas]).with_metadata(schemas[0].metadata)
        with parquet.ParquetWriter(target, schema) as writer:
            for part in parts:
                file = parquet.ParquetFile(part)
                for group in range(file.num_row_groups):
                    writer.write_table(file.read_row_group(group).cast(schema), row_group_size=ROW_GROUP)
    except pa.ArrowException as error:
        raise OutputError(f"parts do not fit together: {error}") from error
