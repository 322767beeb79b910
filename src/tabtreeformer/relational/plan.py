"""Decisions about each table before anything is learned: its keys, its parents, its order within a parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..data.links import Link, Name, Tables
from ..data.schema import IDENTIFIER, MEASURED, NUMERIC, Schema

MAX_CONTEXT = 12
"""Maximum columns of parents and grandparents in a child's context."""
MAX_WANTED = 6
"""Maximum wanted features of a further parent."""
RUNNING_SHARE = 0.8
"""A column orders the rows of a parent if it numbers them 1 to n for at least this share of the parents."""
AFFINITY = 0.4
"""A column helps to choose a parent if at least this share of its variance is between parents."""
MAX_AFFINITIES = 2
MAX_SUMMED, MIN_SUMMED_ROWS = 3, 2.0
"""Maximum number of columns with a running mean in the context, and the rows per parent from which this pays off."""


@dataclass(frozen=True, kw_only=True)
class TablePlan:
    """One table among others."""

    name: str
    columns: tuple[Name, ...]
    keys: tuple[Name, ...]
    """Columns with new unique values: the key that other tables refer to, and other identifiers."""
    own: tuple[Name, ...]
    """Columns that are learned."""
    main: Link | None = None
    """The link to the parent for whose rows this table's rows are drawn."""
    others: tuple[Link, ...] = ()
    """Links to further parents, which are chosen among existing rows."""
    loop: Link | None = None
    """The link of the table to itself."""
    order: Name | None = None
    """Column that orders the rows of a parent; without one they keep the order of the table."""
    summed: tuple[Name, ...] = ()
    """Columns whose mean over the previous rows is part of the context."""
    context: tuple[tuple[str, Name], ...] = ()
    """Context columns from parent and grandparents: table and column."""
    wanted: Mapping[str, tuple[Name, ...]] = field(default_factory=dict)
    """Wanted features of each further parent, by the text of the link."""
    affinities: Mapping[str, tuple[Name, ...]] = field(default_factory=dict)
    """Columns of the row, including its context, in which rows of the same further parent are similar."""
    labels: Mapping[str, tuple[Name, ...]] = field(default_factory=dict)
    """The wanted features that are labels and not quantities, by the text of the link."""
    apart: tuple[str, ...] = ()
    """Further links, by their texts, in which no parent occurs twice under the same main parent."""

    joint_keys: tuple[tuple[Name, ...], ...] = ()
    """Composite keys that other tables refer to, none of whose columns is a key on its own."""

    def links(self) -> tuple[Link, ...]:
        """All links to parents."""
        every = (self.main, *self.others, self.loop)
        return tuple(link for link in every if link is not None)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "columns": list(self.columns),
            "keys": list(self.keys),
            "own": list(self.own),
            "main": None if self.main is None else self.main.to_json(),
            "others": [link.to_json() for link in self.others],
            "loop": None if self.loop is None else self.loop.to_json(),
            "order": self.order,
            "summed": list(self.summed),
            "context": [list(pair) for pair in self.context],
            "wanted": {text: list(names) for text, names in self.wanted.items()},
            "affinities": {text: list(names) for text, names in self.affinities.items()},
            "labels": {text: list(names) for text, names in self.labels.items()},
            "apart": list(self.apart),
            "joint_keys": [list(key) for key in self.joint_keys],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TablePlan:
        """Inverse of `to_json`."""
        lists = {name: tuple(data[name]) for name in ("columns", "keys", "own", "summed", "apart")}
        return cls(
            name=data["name"],
            main=None if data["main"] is None else Link.from_json(data["main"]),
            others=tuple(Link.from_json(link) for link in data["others"]),
            loop=None if data["loop"] is None else Link.from_json(data["loop"]),
            order=data["order"],
            context=tuple((table, column) for table, column in data["context"]),
            wanted={text: tuple(names) for text, names in data["wanted"].items()},
            affinities={text: tuple(names) for text, names in data["affinities"].items()},
            labels={text: tuple(names) for text, names in data["labels"].items()},
            joint_keys=tuple(tuple(key) for key in data["joint_keys"]),
            **lists,
        )


def make_plans(
    tables: Tables,
    schemas: Mapping[str, Schema],
    links: Sequence[Link],
    ordered: Sequence[str],
    orders: Mapping[str, Name],
) -> dict[str, TablePlan]:
    """Plans of all tables, parents before children."""
    plans: dict[str, TablePlan] = {}
    for name in ordered:
        plans[name] = _plan(name, tables, schemas, links, plans, orders.get(name))
    return plans


def _plan(
    name: str,
    tables: Tables,
    schemas: Mapping[str, Schema],
    links: Sequence[Link],
    plans: Mapping[str, TablePlan],
    order: Name | None,
) -> TablePlan:
    frame = tables[name]
    upward = [link for link in links if link.child == name and not link.to_itself]
    loop = next((link for link in links if link.child == name and link.to_itself), None)
    main = _main_link(frame, upward)
    others = tuple(link for link in upward if link != main)
    pointing = {column for link in (*upward, *([loop] if loop else [])) for column in link.columns}
    keys = _key_columns(frame, schemas[name], [link for link in links if link.parent == name], {*pointing, order})
    own = tuple(column for column in frame.columns if column not in keys and column not in pointing)
    if order is None and main is not None:
        order = _found_order(frame, main, own)
    wanted = {link.text: plans[link.parent].own[:MAX_WANTED] for link in others}
    if loop is not None:
        wanted[loop.text] = own[:MAX_WANTED]
    sources = {link.text: schemas[link.parent] for link in (*others, *([loop] if loop else []))}
    return TablePlan(
        name=name,
        columns=tuple(frame.columns),
        keys=keys,
        own=own,
        main=main,
        others=others,
        loop=loop,
        order=order,
        summed=_summed(frame, schemas[name], main, own, order),
        context=() if main is None else _context(main, plans),
        wanted=wanted,
        labels={
            text: tuple(c for c in names if sources[text].column(c).kind not in MEASURED)
            for text, names in wanted.items()
        },
        joint_keys=_joint_keys(frame, [link for link in links if link.parent == name], keys),
        apart=tuple(link.text for link in others if main is not None and _come_once(frame, main, link)),
    )


def _main_link(frame: pd.DataFrame, upward: Sequence[Link]) -> Link | None:
    """The link without missing values and with the fewest rows per parent: short sequences are learned best."""

    def cost(link: Link) -> tuple[bool, int]:
        sizes = frame.groupby(list(link.columns), sort=False).size()
        return bool(frame[list(link.columns)].isna().any(axis=None)), int(sizes.max()) if len(sizes) else 0

    return min(upward, key=cost) if upward else None


def _key_columns(
    frame: pd.DataFrame, schema: Schema, links: Sequence[Link], learned: set[Name | None]
) -> tuple[Name, ...]:
    """Columns with new unique values: identifiers, and the keys that links refer to."""
    referenced = {column for link in links for column in link.key}
    keys = [
        column
        for column in frame.columns
        if column not in learned
        and (schema.column(column).kind == IDENTIFIER or (column in referenced and frame[column].is_unique))
    ]
    return tuple(keys)


def _joint_keys(frame: pd.DataFrame, links: Sequence[Link], keys: Sequence[Name]) -> tuple[tuple[Name, ...], ...]:
    """Composite keys none of whose columns is a key on its own."""
    alone = {column for column in keys if frame[column].is_unique}
    several = dict.fromkeys(link.key for link in links if len(link.key) > 1)
    return tuple(key for key in several if not alone & set(key))


def _found_order(frame: pd.DataFrame, main: Link, own: Sequence[Name]) -> Name | None:
    """A column that orders the rows of a parent: a time in whose order they are already, or else one that counts them.

    If they are counted, the one time that rises with the count is taken: its steps are learned, and the count follows.
    """
    groups = frame.groupby(list(main.columns), sort=False)
    sizes = groups.size()
    if not len(sizes) or sizes.max() < 2:
        return None
    several = sizes[sizes > 1]
    numbers = [c for c in own if pd.api.types.is_numeric_dtype(frame[c].dtype) and not frame[c].isna().any()]
    for column in numbers:
        if pd.api.types.is_bool_dtype(frame[column].dtype) or not bool((frame[column] % 1 == 0).all()):
            continue
        facts = groups[column].agg(["min", "max", "nunique"]).loc[several.index]
        counts = (facts["min"] == 1) & (facts["max"] == several) & (facts["nunique"] == several)
        if counts.mean() >= RUNNING_SHARE:
            risen = _rising(frame.sort_values(column), main, own, several.index)
            return risen[0] if len(risen) == 1 else column
    risen = _rising(frame, main, own, several.index)
    return min(risen, key=lambda name: frame[name].mean()) if risen else None


def _rising(frame: pd.DataFrame, main: Link, own: Sequence[Name], several: pd.Index) -> list[Name]:
    """Times without gaps that rise from row to row of most parents, of those with several rows."""
    times = [c for c in own if pd.api.types.is_datetime64_any_dtype(frame[c].dtype) and not frame[c].isna().any()]
    groups = frame.groupby(list(main.columns), sort=False)
    rising = {c: groups[c].apply(lambda values: values.is_monotonic_increasing).loc[several].mean() for c in times}
    return [name for name in times if rising[name] >= RUNNING_SHARE]


def _summed(
    frame: pd.DataFrame, schema: Schema, main: Link | None, own: Sequence[Name], order: Name | None
) -> tuple[Name, ...]:
    """The first numeric columns, if parents have several rows."""
    if main is None or frame.groupby(list(main.columns), sort=False).size().mean() < MIN_SUMMED_ROWS:
        return ()
    numbers = [c for c in own if c != order and schema.column(c).kind == NUMERIC]
    plain = [c for c in numbers if pd.api.types.is_numeric_dtype(frame[c].dtype)]
    return tuple(plain[:MAX_SUMMED])


def _context(main: Link, plans: Mapping[str, TablePlan]) -> tuple[tuple[str, Name], ...]:
    """Own columns of the parent, followed by its own context."""
    parent = plans[main.parent]
    own = tuple((parent.name, column) for column in parent.own)
    return (*own, *parent.context)[:MAX_CONTEXT]


def _come_once(frame: pd.DataFrame, main: Link, link: Link) -> bool:
    """Whether no further parent occurs twice under the same main parent."""
    both = frame[[*main.columns, *link.columns]].dropna()
    return bool(len(both)) and not bool(both.duplicated().any())


def find_affinities(rows: pd.DataFrame, parents: np.ndarray[Any, Any]) -> tuple[Name, ...]:
    """Find numbers and times in which rows of the same parent are similar: most of their variance is
    between parents.
    """
    found = []
    known = parents >= 0
    for column in rows.columns:
        values = rows[column]
        if pd.api.types.is_datetime64_any_dtype(values.dtype):
            values = values.astype("int64").where(values.notna())
        numeric = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
        if not numeric or values.nunique() < 3:
            continue
        numbers = values.astype(np.float64)[known]
        means = numbers.groupby(parents[known]).transform("mean")
        total = float(numbers.var())
        share = 1 - float((numbers - means).var()) / total if total > 0 else 0.0
        # A parent with few rows explains them by chance.
        free = len(np.unique(parents[known])) / max(int(known.sum()), 1)
        if share - free > AFFINITY * (1 - free):
            found.append((share, column))
    best = sorted(found, key=lambda pair: -pair[0])[:MAX_AFFINITIES]
    return tuple(column for _, column in best)
