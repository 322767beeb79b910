"""Links between tables: written, found and checked, and the order in which tables can be learned.

A link says that columns of a child table hold the key of a row of its parent table:
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

MAX_KEY_CANDIDATES = 3
"""Maximum unique columns of a table that are considered as its key when links are searched."""
_SIDE = re.compile(r"\s*([^.()]+?)\s*\.\s*(?:\(([^()]*)\)|([^()]+?))\s*")


@dataclass(frozen=True)
class Link:
    """`child.columns -> parent.key`."""

    child: str
    columns: tuple[Name, ...]
    parent: str
    key: tuple[Name, ...]
    why: str = ""
    """How the link was found; empty where it was given."""

    @property
    def text(self) -> str:
        """The readable form, which `parse_link` reads."""
        return f"{self.child}.{_written(self.columns)} -> {self.parent}.{_written(self.key)}"

    @property
    def to_itself(self) -> bool:
        """Whether parent and child are the same table, as employees and their managers are."""
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


def find_links(tables: Tables) -> list[Link]:
    """Links that are supported by names, types and values.

    The key of a parent is a column without repeats and gaps. A column of another table points to it if it is named
    after it (`customer_id` for `customers.id` or `customers.customer_id`), has the same type of values, and holds no
    value that the key lacks. Keys of several columns and a table that points to itself are found only where the name
    says so; give other links yourself.
    """
    keys = {name: _key_candidates(frame) for name, frame in tables.items()}
    found = []
    for child, frame in tables.items():
        for column in frame.columns:
            for parent in tables:
                link = _link_by_name(tables, child, column, parent, keys[parent])
                if link is not None:
                    found.append(link)
                    break
    return found


def _key_candidates(frame: pd.DataFrame) -> list[Name]:
    unique = [name for name in frame.columns if len(frame) and not frame[name].isna().any() and frame[name].is_unique]
    keyed = [name for name in unique if not pd.api.types.is_float_dtype(frame[name].dtype)]
    return keyed[:MAX_KEY_CANDIDATES]


def _link_by_name(tables: Tables, child: str, column: Name, parent: str, keys: Sequence[Name]) -> Link | None:
    for key in keys:
        if child == parent and column == key:
            return None  # its own key
        if not _named_after(str(column), parent, str(key), to_itself=child == parent):
            continue
        values, parents = tables[child][column], tables[parent][key]
        if type_family(values) != type_family(parents) or not values.dropna().isin(parents).all():
            continue
        if not values.notna().any():
            continue
        why = f"{column!r} is named after {parent}.{key}, and each of its values is a key there"
        return Link(child, (column,), parent, (key,), why)
    return None


def _named_after(column: str, parent: str, key: str, *, to_itself: bool) -> bool:
    """Whether a column is named after a key: customer_id for customers.id, race_id for race.race_id."""
    plain, key_words = _squeezed(column), _squeezed(key)
    stems = {_squeezed(parent), _squeezed(_singular(parent))}
    after_table = {stem + end for stem in stems for end in (key_words, "id", "key", "no", "number", "code", "")}
    if to_itself:  # managers of employees: parent_id, manager_id
        return column != key and plain.endswith(("parentid", "managerid", "bossid", "supervisorid", "reportsto"))
    if plain == key_words and plain not in {"id", "key", "code", "name", "index", "number", "no"}:
        return True
    return plain in after_table and (key_words in {"id", "key", "code", "no", "number"} or plain.endswith(key_words))


def _squeezed(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _singular(name: str) -> str:
    for ending, shorter in (("ies", "y"), ("sses", "ss"), ("s", "")):
        if name.lower().endswith(ending):
            return name[: -len(ending)] + shorter
    return name


def type_family(values: pd.Series) -> str:
    """Whole numbers, numbers, times or labels; whole numbers beside gaps, which pandas reads as floats, are whole."""
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
    """Refuse links whose key repeats or has gaps, whose types differ, or whose values point nowhere."""
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
    """Rows of the child whose key is there and points to no row of the parent."""
    values = tables[link.child][list(link.columns)]
    known = values.notna().all(axis=1)
    parents = tables[link.parent][list(link.key)]
    if len(link.columns) == 1:
        return known & ~values.iloc[:, 0].isin(parents.iloc[:, 0])
    index = pd.MultiIndex.from_frame(values)
    return known & ~index.isin(pd.MultiIndex.from_frame(parents))


def parent_numbers(frame: pd.DataFrame, parent: pd.DataFrame, link: Link) -> Ints:
    """The place in the parent table of the row that each row points to, -1 where it points to none (N,)."""
    values, keys = frame[list(link.columns)], parent[list(link.key)]
    if len(link.columns) == 1:
        index = pd.Index(keys.iloc[:, 0])
        return np.where(values.iloc[:, 0].isna(), -1, index.get_indexer(values.iloc[:, 0])).astype(np.int64)
    found = pd.MultiIndex.from_frame(keys).get_indexer(pd.MultiIndex.from_frame(values))
    return np.where(values.isna().any(axis=1), -1, found).astype(np.int64)


def order_tables(names: Sequence[str], links: Sequence[Link]) -> list[str]:
    """Tables so that parents come before their children; a cycle is an error that names it."""
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
