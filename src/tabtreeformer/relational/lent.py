"""Columns of a parent that laws of a child read: the age at a visit follows from the date of birth of the patient."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from ..data.links import Link, Name, Tables, parent_numbers
from ..data.schema import IDENTIFIER, TEXT, Schema
from ..laws import Laws
from .rows import Ints, carried, take_rows


def lendable(link: Link, tables: Tables, schemas: Mapping[str, Schema], learned: Schema) -> dict[Name, str]:
    """Columns of the parent that its rows have as they are learned, and their names in the rows of a child."""
    names = [name for name in tables[link.parent].columns if name in learned.names and name not in link.key]
    kinds = {name: schemas[link.parent].column(name).kind for name in names if name in schemas[link.parent].names}
    return {name: carried(link.parent, name) for name, kind in kinds.items() if kind not in (IDENTIFIER, TEXT)}


def lent_columns(parent: pd.DataFrame, names: Mapping[Name, str], parents: Ints) -> pd.DataFrame:
    """The columns, for rows with these parents."""
    return take_rows(parent[list(names)].reset_index(drop=True), parents).set_axis(list(names.values()), axis=1)


def lent_schema(learned: Schema, names: Mapping[Name, str]) -> Schema:
    """What these columns are."""
    return Schema(tuple(replace(learned.column(name), name=text) for name, text in names.items()))


def with_lent(frame: pd.DataFrame, laws: Laws | None, link: Link | None, tables: Tables) -> pd.DataFrame:
    """Rows with the columns of their parents that laws read."""
    if laws is None or link is None or not laws.given:
        return frame
    above = tables[link.parent]
    names = {name: carried(link.parent, name) for name in above.columns if carried(link.parent, name) in laws.given}
    lent = lent_columns(above, names, parent_numbers(frame, above, link))
    return pd.concat([frame, lent.set_axis(frame.index)], axis=1)
