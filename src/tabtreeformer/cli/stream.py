"""`ttf fit` on a table that is read in parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..data.io import Place
    from ..data.io.chunked import Chunks
    from ..data.schema import Schema


def place_of(table: str, options: dict[str, Any]) -> Place:
    """Locate the table; a folder counts as one."""
    from ..data.io import Place, TableOptions, locate

    return (
        Place("folder", table, Path(table).resolve())
        if Path(table).is_dir()
        else locate(table, TableOptions(**options))
    )


def in_parts(
    table: str, stream: bool | None, cache_dir: Path | None, options: dict[str, Any], **whole: Any
) -> Chunks | None:
    """Open a table in parts if requested, or if it is large or a folder; None means to read it whole.

    `whole` lists the options that need all rows in memory.
    """
    from ..data.io.chunks import can_open, open_chunks, open_quickly
    from ..errors import ConfigError

    folder = Path(table).is_dir()
    if stream is False and folder:
        raise ConfigError(f"{table} is a folder, which is always read in parts; leave --no-stream out")
    if stream is False or (stream is None and not folder and not can_open(table, **options)):
        return None
    asked = stream or folder
    chunks = open_chunks(table, **options) if asked else open_quickly(table, **options)
    if chunks is None or not (asked or chunks.is_large):
        return None
    for name, value in whole.items():
        if value:
            raise ConfigError(
                f"--{name.replace('_', '-')} needs the whole table in memory, and {table} is read in parts; "
                f"leave it out{'' if folder else ', or add --no-stream'}"
            )
    return chunks if cache_dir is None else replace(chunks, cache_dir=_folder(cache_dir))


def settled(chunks: Chunks, categorical: list[str] | None, schema_file: Path | None) -> tuple[Chunks, Schema | None]:
    """Return what the options declare about columns; the rest is inferred while reading."""
    from ..data.schema import CATEGORICAL, Schema

    schema = None if schema_file is None else Schema.load(schema_file)
    return replace(chunks, kinds=dict.fromkeys(categorical or (), CATEGORICAL)), schema


def _folder(path: Path) -> Path:
    from ..errors import ConfigError

    if not path.is_dir():
        raise ConfigError(f"--cache-dir {path} is not a folder; create it first")
    return path
