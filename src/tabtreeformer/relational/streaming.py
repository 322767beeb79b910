"""Writes new tables to files piece by piece, with one piece of a large table in memory at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from ..data.io.location import TableOptions, locate
from ..errors import OutputError
from ..sampling.streaming.parts import check_form, join, write_part

Pieces = Iterable[tuple[str, pd.DataFrame]]
"""Names of tables and their pieces; all pieces of a table are consecutive."""


def check_files(target: str | os.PathLike[str], names: Iterable[str], ending: str, *, overwrite: bool) -> None:
    """Refuse files that exist or cannot be written in pieces, before anything is computed."""
    for name in names:
        file = Path(target) / f"{name}{ending}"
        check_form(locate(file, TableOptions(), OutputError), TableOptions())
        if file.exists() and not overwrite:
            raise OutputError(
                f"cannot write {file}: it already exists; name another folder, or replace it with overwrite=True"
            )


def write_folder(pieces: Pieces, target: str | os.PathLike[str], ending: str) -> dict[str, int]:
    """Write every table to a file in a folder; returns the number of rows of each, by name."""
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, own in groupby(pieces, key=lambda pair: pair[0]):
        written[name] = write_file((piece for _, piece in own), folder / f"{name}{ending}")
    return written


def write_file(pieces: Iterator[pd.DataFrame], file: Path, **options: Any) -> int:
    """Write the pieces of a table to a file, atomically; returns the number of rows."""
    chosen = TableOptions(**options)
    place = locate(file, chosen, OutputError)
    check_form(place, chosen)
    n_rows = 0
    with TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as parts:
        paths: list[Path] = []
        for number, piece in enumerate(pieces):
            paths.append(Path(parts) / f"{number:06d}{''.join(file.suffixes)}")
            write_part(piece, paths[-1], place, chosen, header=number == 0)
            n_rows += len(piece)
        join(paths, file, place.form)
    return n_rows
