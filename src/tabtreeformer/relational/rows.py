"""Extended rows: context from the parent and the previous row, and the row's own columns.

Columns of such a row, in order (all names are texts):

    race.year         context from its parent
    place among siblings  and their number: the position of the row, and how many rows the parent has
    previous points       value of the previous row
    points                its own columns; the ordering column is stored as the step from the previous row
    driver.nationality    wanted feature of a further parent
    number of results     facts about its children by link: their number, where their order starts, typical values
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
    """Name of the column for the value of the previous row."""
    return f"previous {column}"


def step(column: Name) -> str:
    """Name of the column for the step of the ordering column from the previous row."""
    return f"step of {column}"


def reached(column: Name) -> str:
    """Name of the column for the previous value of the ordering column; in the first row, the start of the order."""
    return f"{column} so far"


def mean_so_far(column: Name) -> str:
    """Name of the column for the mean over the previous rows."""
    return f"mean {column} so far"


def wanted(link: Link, column: Name) -> str:
    """Name of a wanted feature of a further parent."""
    return f"{link.parent} {_by(link)}: {column}"


def has_parent(link: Link) -> str:
    """Name of the column for whether a row has this further parent."""
    return f"has {link.parent} {_by(link)}"


def n_children(link: Link) -> str:
    """Name of a parent's column for the number of its children."""
    return f"number of {link.child} {_by(link)}"


def first_of(link: Link, column: Name) -> str:
    """Name of a parent's column for the start of its children's order."""
    return f"first {column} of {link.child} {_by(link)}"


def typical(link: Link, column: Name) -> str:
    """Name of a parent's column for a typical value of its children."""
    return f"typical {column} of {link.child} {_by(link)}"


def _by(link: Link) -> str:
    """Tell apart several links between two tables."""
    return f"by {'+'.join(map(str, link.columns))}"


@dataclass(frozen=True)
class Groups:
    """The rows of a child sorted by parent and by position among siblings."""

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
        """Group rows by parent; a row without a parent forms its own group."""
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
    """Facts about the children of each parent by one link: number, start of the order, typical values."""
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
    """Facts of all parents; parents without children, whose facts are never read, get those of others in turn."""
    absent = np.setdiff1d(np.arange(n_parents), facts.index.to_numpy())
    borrowed = facts.iloc[np.arange(len(absent)) % max(len(facts), 1)].set_axis(absent)
    return pd.concat([facts, borrowed]).sort_index()


def context_rows(plan: TablePlan, ancestors: pd.DataFrame, parents: Ints, place: Ints, siblings: Ints) -> pd.DataFrame:
    """The context from parents, and the position; all known before a row is drawn."""
    names = [carried(table, column) for table, column in plan.context]
    return take_rows(ancestors[names], parents).assign(**{SIBLINGS: siblings, PLACE: place})


def with_steps(own: pd.DataFrame, order: Name, groups: Groups) -> pd.DataFrame:
    """Own columns in group order, with the ordering column replaced by the step from the previous row.

    The first row of a parent has no step: the start of the order is a fact of the parent.
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
    """Columns of the previous row, missing in the first row of a parent; none if no parent has two rows."""
    if not len(siblings) or siblings.max() < 2:
        return pd.DataFrame(index=own.index)
    shifted = own.shift(1)
    return as_previous(shifted.where(pd.Series(place > 1, index=own.index)))


def summaries(own: pd.DataFrame, names: Sequence[Name], groups: Groups) -> pd.DataFrame:
    """Means of columns over the previous rows of the same parent; missing in the first row."""
    group = np.cumsum(groups.place == 1)
    columns = {}
    for name in names:
        values = own[name].astype(np.float64)
        known = values.notna().groupby(group).cumsum() - values.notna()
        total = values.fillna(0).groupby(group).cumsum() - values.fillna(0)
        columns[mean_so_far(name)] = (total / known.where(known > 0)).to_numpy()
    return pd.DataFrame(columns, index=own.index)


def order_reached(values: pd.Series, groups: Groups) -> pd.DataFrame:
    """The ordering column of the previous row; in the first row, its own value."""
    before = values.shift(1).where(pd.Series(groups.place > 1, index=values.index), values)
    return before.astype(values.dtype).to_frame(reached(str(values.name)))


def as_previous(frame: pd.DataFrame) -> pd.DataFrame:
    """Values of the previous row, in nullable dtypes."""
    columns = {previous(name): can_be_missing(frame[name]) for name in frame.columns}
    return pd.DataFrame(columns, index=frame.index)


def can_be_missing(values: pd.Series) -> pd.Series:
    """Values in a nullable dtype."""
    if pd.api.types.is_bool_dtype(values.dtype) or _is_truth(values):
        return values.map({True: "yes", False: "no"}).astype(object)
    if pd.api.types.is_integer_dtype(values.dtype):
        return values.astype(np.float64)
    return values


def _is_truth(values: pd.Series) -> bool:
    known = values.dropna()
    return values.dtype == object and len(known) > 0 and known.map(type).eq(bool).all()


def take_rows(frame: pd.DataFrame, numbers: Ints) -> pd.DataFrame:
    """Rows by number, all missing where the number is -1; dtypes change only if necessary."""
    if not len(frame):
        return frame.reindex(range(len(numbers)))
    taken = frame.take(np.maximum(numbers, 0)).reset_index(drop=True)
    absent = numbers < 0
    if absent.any() and taken.shape[1]:
        taken = pd.concat([can_be_missing(taken[name]).mask(pd.Series(absent)) for name in taken.columns], axis=1)
    return taken


def twice_if_alone(frame: pd.DataFrame) -> pd.DataFrame:
    """Duplicate the row of a one-row table, so that it can be described and learned; its values stay as
    rare as before.
    """
    return pd.concat([frame, frame], ignore_index=True) if len(frame) == 1 else frame
