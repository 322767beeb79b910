"""Links between tables: written and checked, and the order in which tables can be learned.

A link says that columns of a child table contain the key of a row in its parent table:
`orders.customer_id -> customers.id`, or with several columns `lines.(order, shop) -> orders.(id, shop)`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import SchemaError

Name = str | int
Tables = Mapping[str, pd.DataFrame]
Ints = NDArray[np.int64]

_SIDE = re.compile(r"\s*([^.()]+?)\s*\.\s*(?:\(([^()]*)\)|([^()]+?))\s*")


@dataclass(frozen=True)
class Link:
    """`child.columns -> parent.key`."""

    child: str
    columns: tuple[Name, ...]
    parent: str
    key: tuple[Name, ...]
    why: str = ""
    """How the link was found; empty if it was given."""

    @property
    def text(self) -> str:
        """The readable form, as read by `parse_link`."""
        return f"{self.child}.{_written(self.columns)} -> {self.parent}.{_written(self.key)}"

    @property
    def to_itself(self) -> bool:
        """Whether parent and child are the same table, as with employees and their managers."""
        return self.child == self.parent

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {"child": self.child, "columns": list(self.columns), "parent": self.parent, "key": list(self.key)}

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Link:
        """Inverse of `to_json`."""
        columns, key = data["columns"], data["key"]
        assert isinstance(columns, list)
        assert isinstance(key, list)
        return cls(str(data["child"]), tuple(columns), str(data["parent"]), tuple(key))


def _written(columns: tuple[Name, ...]) -> str:
    return str(columns[0]) if len(columns) == 1 else f"({', '.join(map(str, columns))})"


def parse_link(text: str, tables: Tables) -> Link:
    """Parse a link; a table or column that does not exist is an error that lists the existing ones."""
    sides = [_SIDE.fullmatch(side) for side in text.split("->")]
    if len(sides) != 2 or sides[0] is None or sides[1] is None:
        raise SchemaError(f"cannot read the link {text!r}; write it as 'orders.customer_id -> customers.id'")
    (child, columns), (parent, key) = (_read_side(side, text, tables) for side in sides if side is not None)
    if len(columns) != len(key):
        raise SchemaError(f"link {text!r} has {len(columns)} columns on the left and {len(key)} on the right")
    return Link(child, columns, parent, key)


def _read_side(side: re.Match[str], text: str, tables: Tables) -> tuple[str, tuple[Name, ...]]:
    table = side.group(1)
    if table not in tables:
        raise SchemaError(f"link {text!r} names a table {table!r}; there are {', '.join(map(repr, tables))}")
    names = side.group(2).split(",") if side.group(2) is not None else [side.group(3)]
    known = {str(name): name for name in tables[table].columns}
    columns = []
    for name in (name.strip() for name in names):
        if name not in known:
            raise SchemaError(f"link {text!r} names a column {name!r}; {table!r} has {', '.join(map(repr, known))}")
        columns.append(known[name])
    return table, tuple(columns)


def type_family(values: pd.Series) -> str:
    """The type of a column's values; whole numbers that pandas reads as floats because of gaps count as whole."""
    dtype = values.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return "truth values"
    if pd.api.types.is_integer_dtype(dtype):
        return "whole numbers"
    if pd.api.types.is_float_dtype(dtype):
        known = values.dropna()
        return "whole numbers" if bool((known % 1 == 0).all()) else "numbers"
    return "times" if pd.api.types.is_datetime64_any_dtype(dtype) else "text"


def check_links(tables: Tables, links: Sequence[Link]) -> None:
    """Reject links whose key repeats or has gaps, whose types differ, or whose values point nowhere."""
    seen: set[tuple[str, tuple[Name, ...]]] = set()
    for link in links:
        if (link.child, link.columns) in seen:
            raise SchemaError(f"{link.child}.{_written(link.columns)} points to two tables; drop one of the links")
        seen.add((link.child, link.columns))
        key = tables[link.parent][list(link.key)]
        if not len(key):
            raise SchemaError(f"link {link.text!r}: the parent table {link.parent!r} has no rows")
        if key.isna().any(axis=None):
            raise SchemaError(f"link {link.text!r}: the key has missing values; fill them or drop the rows")
        repeated = key.duplicated()
        if repeated.any():
            first = key[repeated].iloc[0].tolist()
            raise SchemaError(
                f"link {link.text!r}: the key repeats in {int(repeated.sum()):,} rows of {link.parent!r}, e.g. "
                f"{first}; drop repeated rows or name a column without repeats"
            )
        for column, own in zip(link.columns, link.key, strict=True):
            sides = type_family(tables[link.child][column]), type_family(tables[link.parent][own])
            if sides[0] != sides[1] and tables[link.child][column].notna().any():
                raise SchemaError(
                    f"link {link.text!r}: {link.child}.{column} holds {sides[0]} and {link.parent}.{own} {sides[1]}; "
                    "convert one of them"
                )


def dangling(tables: Tables, link: Link) -> pd.Series:
    """Child rows whose key is present but matches no row of the parent."""
    values = tables[link.child][list(link.columns)]
    known = values.notna().all(axis=1)
    parents = tables[link.parent][list(link.key)]
    if len(link.columns) == 1:
        return known & ~values.iloc[:, 0].isin(parents.iloc[:, 0])
    index = pd.MultiIndex.from_frame(values)
    return known & ~index.isin(pd.MultiIndex.from_frame(parents))


def parent_numbers(frame: pd.DataFrame, parent: pd.DataFrame, link: Link) -> Ints:
    """The position in the parent table of the row that each row points to, -1 if none (N,)."""
    values, keys = frame[list(link.columns)], parent[list(link.key)]
    if len(link.columns) == 1:
        index = pd.Index(keys.iloc[:, 0])
        return np.where(values.iloc[:, 0].isna(), -1, index.get_indexer(values.iloc[:, 0])).astype(np.int64)
    found = pd.MultiIndex.from_frame(keys).get_indexer(pd.MultiIndex.from_frame(values))
    return np.where(values.isna().any(axis=1), -1, found).astype(np.int64)


def order_tables(names: Sequence[str], links: Sequence[Link]) -> list[str]:
    """Order tables so that parents come before their children; a cycle is an error that names it."""
    waiting, ordered = list(names), list[str]()
    while waiting:
        free = [
            name
            for name in waiting
            if all(link.parent in ordered for link in links if link.child == name and not link.to_itself)
        ]
        if not free:
            cycle = " -> ".join(link.text for link in links if link.child in waiting and link.parent in waiting)
            raise SchemaError(f"tables point to each other in a cycle ({cycle}); drop one of these links")
        ordered += free
        waiting = [name for name in waiting if name not in free]
    return ordered
