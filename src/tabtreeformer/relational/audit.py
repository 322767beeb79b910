"""Searches the file of a database for rare values: values of fewer units than the floor.

A payment reference that one customer uses in a hundred payments is as rare as one that occurs once. Texts are searched
in all bytes, long numbers in everything stored as a number. Tables that are kept unchanged (`keep`) are public and
skipped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from ..artifact.archive import DATABASE, read_archive
from ..data.links import Tables
from ..errors import ConfigError
from ..privacy.audit import RARE_FLOOR, Audit, Finding
from ..privacy.audit.findings import gathered
from ..privacy.audit.rare import RareValues, is_distinctive, texts_inside
from .check import member_size
from .file import blaming_file, read_database
from .plain import in_plain_form
from .source import Database
from .units import Units


def audit_database(
    path: str | os.PathLike[str], tables: Tables, *, unit: str | None = None, rare_floor: int = RARE_FLOOR
) -> Audit:
    """Search the file of a database for values of its training tables that few units have.

    Parameters
    ----------
    path
        The file.
    tables
        All tables of the fit, by name.
    unit
        The table whose rows are protected, as in the fit.
    rare_floor
        A value of fewer units than this counts as rare: it could identify a person.
    """
    members = read_archive(path, member_size, DATABASE)
    with blaming_file(path):
        _, links, sequences, learned, _ = read_database(path, "cpu", False)
    if sequences is not None and len(tables) == 1:
        tables = sequences.parted(next(iter(tables.values())))
    absent = [name for name in learned if name not in tables]
    if absent:
        raise ConfigError(f"these are not the tables of the fit: {absent[0]!r} is missing")
    kept = [name for name, table in learned.items() if table.kept is not None]
    plain = {n: in_plain_form(tables[n].reset_index(drop=True), table.forms) for n, table in learned.items()}
    source = Database(plain, links, {}, {}).described()
    units = Units.of(source.tables, source.plans(), source.parents(), unit, kept)
    columns, common = _columns(source, units, kept, rare_floor)
    findings = list(gathered(_found(members, columns, common)))
    places = [
        {"member": name, "path": "bytes", "count": len(data), "kind": "bytes", "origin": "searched for rare values"}
        for name, data in members.items()
    ]
    return Audit(os.fspath(path), rare_floor, sum(map(len, source.tables.values())), places, findings)


def _columns(source: Database, units: Units, kept: list[str], floor: int) -> tuple[list[RareValues], set[Any]]:
    """Columns with each value once per unit, and the values that are frequent in some column or public."""
    columns, common = list[RareValues](), set[Any]()
    for name, frame in source.tables.items():
        for column in source.schemas[name].columns:
            pairs = pd.DataFrame({"unit": units.numbers[name], "value": frame[column.name].to_numpy()})
            values = pairs.dropna().drop_duplicates()["value"].astype(frame[column.name].dtype)
            texts = values.astype(object).map(str)
            counts = texts.value_counts()
            if name in kept:
                common |= set(counts.index)
                continue
            common |= set(counts.index[counts >= floor])
            rare = RareValues.of(values, column, floor)
            columns.append(RareValues(f"{name}.{column.name}", rare.values, rare.numeric, floor))
    return columns, common


def _found(members: Mapping[str, bytes], columns: list[RareValues], common: set[Any]) -> Iterator[Finding]:
    for member, column, text in texts_inside(members, columns):
        if text not in common:
            yield Finding("rare text", member, "bytes", column.name, values=(text,))
    numbers = [column for column in columns if column.numeric]
    for member, data in members.items():
        if member.endswith(".json"):
            for value in set(_numbers(json.loads(data))):
                for column in numbers:
                    if value in column.numbers and str(value) not in common:
                        yield Finding("rare value", member, "bytes", column.name, values=(value,))


def _numbers(content: Any) -> Iterator[float]:
    """All long numbers inside JSON."""
    if isinstance(content, Mapping):
        content = list(content.values())
    if isinstance(content, list):
        for part in content:
            yield from _numbers(part)
    elif is_distinctive(content):
        yield float(content)
