"""Rows as they are learned: what a row carries from its parent and from the row before it, and its own columns.

Columns of such a row, in order (all names are texts):

    race.year             what it carries from its parent
    place among siblings  and their number: how many rows the parent has, and which of them this is
    previous points       what the row before it had
    points                its own columns; the column that orders rows is the step from the row before
    driver.nationality    what it asks of a further parent
    number of results     how many children it has by each link, where their order starts, and what is typical of them
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.links import Link, Name
from .plan import TablePlan

Ints = NDArray[np.int64]
SIBLINGS, PLACE, LEVEL = "number of siblings", "place among siblings", "links to the top"


def carried(table: str, column: Name) -> str:
    """Name of a parent's column in a child's row."""
    return f"{table}.{column}"


def previous(column: Name) -> str:
    """Name of the column for the value that the row before had."""
    return f"previous {column}"


def step(column: Name) -> str:
    """Name of the step of the ordering column from the row before."""
    return f"step of {column}"


def reached(column: Name) -> str:
    """Name of the value that the ordering column had in the row before, in the first row where the order starts."""
    return f"{column} so far"


def mean_so_far(column: Name) -> str:
    """Name of the mean of a column over the rows before."""
    return f"mean {column} so far"


def wanted(link: Link, column: Name) -> str:
    """Name of a column that is asked of a further parent."""
    return f"{link.parent} {_by(link)}: {column}"


def has_parent(link: Link) -> str:
    """Name of the column that says whether a row points to a further parent at all."""
    return f"has {link.parent} {_by(link)}"


def n_children(link: Link) -> str:
    """Name of a parent's column that counts its children."""
    return f"number of {link.child} {_by(link)}"


def first_of(link: Link, column: Name) -> str:
    """Name of a parent's column that says where the order of its children starts."""
    return f"first {column} of {link.child} {_by(link)}"


def typical(link: Link, column: Name) -> str:
    """Name of a parent's column that says what is typical of its children."""
    return f"typical {column} of {link.child} {_by(link)}"


def _by(link: Link) -> str:
    """Which of several links between two tables is meant."""
    return f"by {'+'.join(map(str, link.columns))}"


@dataclass(frozen=True)
class Groups:
    """The rows of a child in the order of their parents and of their place among siblings."""

    order: Ints
    """Row numbers of the child table in that order (N,)."""
    parents: Ints
    """Number of the parent of each, -1 for none (N,)."""
    place: Ints
    """From 1 (N,)."""
    siblings: Ints
    """(N,)."""

    @classmethod
    def of(cls, parents: Ints, by: pd.Series | None) -> Groups:
        """Group rows by their parents; a row without a parent is a group of its own."""
        keys = (np.arange(len(parents)), parents) if by is None else (by.rank(method="first").to_numpy(), parents)
        order = np.lexsort(keys)
        own = parents[order]
        starts = np.flatnonzero(np.concatenate([[True], (own[1:] != own[:-1]) | (own[1:] < 0)]))
        sizes = np.diff(np.append(starts, len(own)))
        place = np.arange(len(own)) - np.repeat(starts, sizes) + 1
        return cls(order, own, place, np.repeat(sizes, sizes))


def children_facts(
    link: Link, parents: Ints, n_parents: int, ordering: pd.Series | None, alike: Mapping[str, pd.Series]
) -> pd.DataFrame:
    """What a parent knows of its children by one link: their number, where they start, what is typical of them."""
    known = parents >= 0
    facts: dict[str, Any] = {n_children(link): np.bincount(parents[known], minlength=n_parents)}
    frame = pd.DataFrame(facts)
    if ordering is not None:
        first = ordering[known].groupby(parents[known]).min()
        frame[first_of(link, str(ordering.name))] = _filled(first, n_parents).astype(ordering.dtype).to_numpy()
    for name, values in alike.items():
        middle = values[known].groupby(parents[known]).median()
        frame[typical(link, name)] = _filled(middle, n_parents).to_numpy()
    return frame


def _filled(facts: pd.Series, n_parents: int) -> pd.Series:
    """Facts of all parents; those without children, whose facts are never read, borrow one from the others in turn."""
    absent = np.setdiff1d(np.arange(n_parents), facts.index.to_numpy())
    borrowed = facts.iloc[np.arange(len(absent)) % max(len(facts), 1)].set_axis(absent)
    return pd.concat([facts, borrowed]).sort_index()


def context_rows(plan: TablePlan, ancestors: pd.DataFrame, parents: Ints, place: Ints, siblings: Ints) -> pd.DataFrame:
    """What rows carry from their parents, and their place: all of it is known before a row is written."""
    names = [carried(table, column) for table, column in plan.context]
    return take_rows(ancestors[names], parents).assign(**{SIBLINGS: siblings, PLACE: place})


def with_steps(own: pd.DataFrame, order: Name, groups: Groups) -> pd.DataFrame:
    """Own columns in the order of the groups, with the step from the row before in place of the ordering column.

    The first row of a parent has no step: where the order starts is a fact of the parent.
    """
    values = own[order]
    before = values.shift(1).where(pd.Series(groups.place > 1))
    steps = values - before.fillna(values).astype(values.dtype)
    position = list(own.columns).index(order)
    names = [step(order) if name == order else name for name in own.columns]
    columns = [steps if k == position else own.iloc[:, k] for k in range(len(names))]
    frame = pd.concat(columns, axis=1)
    frame.columns = pd.Index(names)
    return frame


def with_previous(own: pd.DataFrame, place: Ints, siblings: Ints) -> pd.DataFrame:
    """Columns of the row before, missing in the first row of a parent; none where no parent has two rows."""
    if not len(siblings) or siblings.max() < 2:
        return pd.DataFrame(index=own.index)
    shifted = own.shift(1)
    return as_previous(shifted.where(pd.Series(place > 1, index=own.index)))


def summaries(own: pd.DataFrame, names: Sequence[Name], groups: Groups) -> pd.DataFrame:
    """Means of columns over the rows of the same parent before each row, missing in the first."""
    group = np.cumsum(groups.place == 1)
    columns = {}
    for name in names:
        values = own[name].astype(np.float64)
        known = values.notna().groupby(group).cumsum() - values.notna()
        total = values.fillna(0).groupby(group).cumsum() - values.fillna(0)
        columns[mean_so_far(name)] = (total / known.where(known > 0)).to_numpy()
    return pd.DataFrame(columns, index=own.index)


def order_reached(values: pd.Series, groups: Groups) -> pd.DataFrame:
    """The ordering column of the row before; of the first row its own, where the order starts."""
    before = values.shift(1).where(pd.Series(groups.place > 1, index=values.index), values)
    return before.astype(values.dtype).to_frame(reached(str(values.name)))


def as_previous(frame: pd.DataFrame) -> pd.DataFrame:
    """Values that the row before had, in dtypes that can be missing."""
    columns = {previous(name): can_be_missing(frame[name]) for name in frame.columns}
    return pd.DataFrame(columns, index=frame.index)


def can_be_missing(values: pd.Series) -> pd.Series:
    """Values in a dtype that can hold missing ones."""
    if pd.api.types.is_bool_dtype(values.dtype) or _is_truth(values):
        return values.map({True: "yes", False: "no"}).astype(object)
    if pd.api.types.is_integer_dtype(values.dtype):
        return values.astype(np.float64)
    return values


def _is_truth(values: pd.Series) -> bool:
    known = values.dropna()
    return values.dtype == object and len(known) > 0 and known.map(type).eq(bool).all()


def take_rows(frame: pd.DataFrame, numbers: Ints) -> pd.DataFrame:
    """Rows by their numbers, all missing where the number is -1; dtypes change only where that is needed."""
    if not len(frame):
        return frame.reindex(range(len(numbers)))
    taken = frame.take(np.maximum(numbers, 0)).reset_index(drop=True)
    absent = numbers < 0
    if absent.any() and taken.shape[1]:
        taken = pd.concat([can_be_missing(taken[name]).mask(pd.Series(absent)) for name in taken.columns], axis=1)
    return taken


def twice_if_alone(frame: pd.DataFrame) -> pd.DataFrame:
    """A table with one row, twice: it can be described and learned, and its values are as rare as before."""
    return pd.concat([frame, frame], ignore_index=True) if len(frame) == 1 else frame
