"""Finds links between tables by names, types and values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from .links import Link, Name, Tables, type_family

MAX_KEY_CANDIDATES = 3
"""Maximum unique columns of a table that are considered as its key."""
GENERIC = {"id", "key", "code", "name", "index", "number", "no"}
"""Key names that say nothing about their table."""
ENDS = ("id", "key", "no", "number", "code", "")
ABOVE = re.compile(
    r"(parent|predecessor|referrer|mgr)(id|key|no|num|number|code)$"
    r"|(manager|boss|supervisor|superior|reportsto|referredby|replyto)(id|key|no|num|number|code)?$"
)
"""Typical names of columns that point to another row of their own table."""
MAX_OWN = 0.5
"""Maximum share of the rows that may point to themselves."""


@dataclass(frozen=True)
class Search:
    """The result of a search for links."""

    links: list[Link]
    left_out: list[Link]
    """Links, found by the end of a column's name, that would make tables point to each other in a cycle."""


def find_links(tables: Tables) -> list[Link]:
    """Links supported by names, types and values, as found by `search_links`."""
    return search_links(tables).links


def search_links(tables: Tables) -> Search:
    """Links supported by names, types and values.

    The key of a parent is a column without repeats or gaps. A column of another table points to it if it is named
    after it (`customer_id` for `customers.id` or `customers.customer_id`), has the same type of values, and contains
    no value that the key lacks. A column whose name ends that way (`home_team_id` for `teams.id`) points to it too,
    unless tables would then point to each other in a cycle. Keys of several columns are not searched for, and links
    from a table to itself are found only if the name says so; specify other links yourself.
    """
    keys = {name: _key_candidates(frame) for name, frame in tables.items()}
    found: list[tuple[bool, Link]] = []
    for child, frame in tables.items():
        for column in frame.columns:
            if not _names_row(str(column), child) or column not in keys[child]:
                found += _best(tables, child, column, keys)
    links = [link for exact, link in found if exact]
    left_out = []
    for exact, link in found:
        if exact:
            continue
        if not link.to_itself and _leads(links, link.parent, link.child):
            left_out.append(link)
        else:
            links.append(link)
    order = [link for _, link in found]
    return Search(sorted(links, key=order.index), left_out)


def _best(tables: Tables, child: str, column: Name, keys: dict[str, list[Name]]) -> list[tuple[bool, Link]]:
    """The best link of a column, if any, and whether the column's whole name matches.

    A key that is named after its own table takes precedence over the same key in another table.
    """
    possible = []
    for place, parent in enumerate(tables):
        for key in keys[parent]:
            exact = _named_after(str(column), parent, str(key), to_itself=child == parent)
            ending = not exact and _ends_like(str(column), parent, str(key))
            if (exact or ending) and _fits(tables, (child, column), (parent, key)):
                said = "is named after" if exact else "ends like"
                why = f"{column!r} {said} {parent}.{key}, and each of its values is a key there"
                rank = (not exact, not _names_row(str(key), parent), place)
                possible.append((rank, Link(child, (column,), parent, (key,), why)))
    best = min(possible, key=lambda pair: pair[0], default=None)
    return [] if best is None else [(not best[0][0], best[1])]


def _key_candidates(frame: pd.DataFrame) -> list[Name]:
    unique = [name for name in frame.columns if len(frame) and not frame[name].isna().any() and frame[name].is_unique]
    keyed = [name for name in unique if not pd.api.types.is_float_dtype(frame[name].dtype)]
    return keyed[:MAX_KEY_CANDIDATES]


def _fits(tables: Tables, child: tuple[str, Name], parent: tuple[str, Name]) -> bool:
    """Whether every value of a column is a key, and not simply the key of its own row."""
    if child == parent:
        return False
    values, keys = tables[child[0]][child[1]], tables[parent[0]][parent[1]]
    if type_family(values) != type_family(keys) or not values.notna().any() or not values.dropna().isin(keys).all():
        return False
    return child[0] != parent[0] or float((values == keys).mean()) <= MAX_OWN


def _leads(links: Sequence[Link], start: str, end: str) -> bool:
    """Whether links lead from one table to another, from children to parents."""
    reached, open_tables = {start}, [start]
    while open_tables:
        here = open_tables.pop()
        above = {link.parent for link in links if link.child == here} - reached
        reached |= above
        open_tables += above
    return end in reached


def _named_after(column: str, parent: str, key: str, *, to_itself: bool) -> bool:
    """Whether a column is named after a key: customer_id for customers.id, race_id for race.race_id."""
    plain, key_words = _squeezed(column), _squeezed(key)
    if to_itself:  # managers of employees: parent_id, manager_id
        return column != key and ABOVE.search(plain) is not None
    if plain == key_words and plain not in GENERIC:
        return True
    after_table = {stem + end for stem in _stems(parent) for end in (key_words, *ENDS)}
    return plain in after_table and (key_words in GENERIC - {"name", "index"} or plain.endswith(key_words))


def _ends_like(column: str, parent: str, key: str) -> bool:
    """Whether the end of a column's name is named after a key: home_team_id for teams.id."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", column)
    ends = (" ".join(words[start:]) for start in range(1, len(words)))
    if not _squeezed(key).endswith(ENDS[:-1]):  # a billing address is not a key, even if addresses do not repeat
        return False
    return any(_named_after(end, parent, key, to_itself=False) for end in ends)


def _names_row(column: str, table: str) -> bool:
    """Whether a column's name is typical for the key of its own table: film_id in film."""
    return _squeezed(column) in {stem + end for stem in _stems(table) for end in ENDS}


def _stems(table: str) -> set[str]:
    return {_squeezed(table), _squeezed(_singular(table))}


def _squeezed(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _singular(name: str) -> str:
    for ending, shorter in (("ies", "y"), ("sses", "ss"), ("s", "")):
        if name.lower().endswith(ending):
            return name[: -len(ending)] + shorter
    return name
