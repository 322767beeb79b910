"""The file of a database: its links, and the members of each table's model under its number."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..artifact.archive import DATABASE, dump_json, load_json, read_archive, write_archive
from ..artifact.fitted import MISFITS
from ..data.links import Link
from ..errors import ArchiveError, TabTreeFormerError
from ..synthesizer import TabTreeFormer
from .check import HEAD, check_database, member_size
from .inputs import Sequences
from .learned import LearnedTable


def write_database(
    path: str | os.PathLike[str],
    preset: str,
    links: Sequence[Link],
    sequences: Sequences | None,
    learned: Mapping[str, LearnedTable],
    privacy: Mapping[str, Any],
) -> None:
    """Write all tables to one file, atomically."""
    head = {
        "preset": preset,
        "links": [link.to_json() for link in links],
        "tables": {name: table.to_json() for name, table in learned.items()},
        "order": list(learned),
        "sequences": None if sequences is None else sequences.to_json(),
        "privacy": dict(privacy),
    }
    members = {HEAD: dump_json(head)}
    for number, table in enumerate(learned.values()):
        if table.model is not None:
            for name, data in table.model._as_it_is().to_members().items():
                members[f"t{number}_{name}"] = data
    write_archive(path, members, DATABASE)


def read_database(
    path: str | os.PathLike[str], device: str, verbose: bool
) -> tuple[str, tuple[Link, ...], Sequences | None, dict[str, LearnedTable], dict[str, Any]]:
    """Preset, links, sequences, tables and verdict of a file."""
    members = read_archive(path, member_size, DATABASE)
    head = load_json(members[HEAD])
    if not isinstance(head["preset"], str):
        raise ArchiveError("its preset is not a name")
    tables: dict[str, LearnedTable] = {}
    for number, name in enumerate(head["order"]):
        own = {k.split("_", 1)[1]: v for k, v in members.items() if k.startswith(f"t{number}_")}
        part = TabTreeFormer._of_members(own, os.fspath(path), device, verbose) if own else None
        tables[name] = LearnedTable.from_json(head["tables"][name], part)
    check_database(tables)
    sequences = None if head["sequences"] is None else Sequences.from_json(head["sequences"])
    privacy = head["privacy"]
    if not isinstance(privacy, dict) or not isinstance(privacy.get("reasons", []), list):
        raise ArchiveError("its verdict is invalid")
    return head["preset"], tuple(Link.from_json(link) for link in head["links"]), sequences, tables, privacy


@contextmanager
def blaming_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors in the content of a file into an error that names the file."""
    try:
        yield
    except ArchiveError:
        raise
    except TabTreeFormerError as error:
        raise ArchiveError(f"{os.fspath(path)} is invalid: {error}") from error
    except MISFITS as error:
        raise ArchiveError(f"{os.fspath(path)} is damaged: its parts are inconsistent ({error})") from error
