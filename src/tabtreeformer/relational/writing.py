"""Draws the rows of one table for existing parents: rows in order, then further parents, then keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.links import Link, Name
from . import rows
from .bounds import Bound, checked, largest_step
from .matching import as_labels, fitted_places, match
from .plan import TablePlan
from .rows import Ints

Complete = Callable[[pd.DataFrame, int], pd.DataFrame]
"""Completes extended rows whose first columns are given, with a seed."""


@dataclass
class Written:
    """Rows of a table while its database is being drawn."""

    frame: pd.DataFrame
    """Extended rows; own columns are final, except for the step of the ordering column."""
    carried: pd.DataFrame
    """The context for children."""
    parents: dict[str, Ints]
    """The parent of each row, by the text of the link; -1 for none."""
    ordering: pd.Series | None = None

    def first(self, n: int) -> Written:
        """The first n rows."""
        return self.part(0, n)

    def take(self, numbers: Ints) -> Written:
        """Rows by their numbers."""
        parents = {text: own[numbers] for text, own in self.parents.items()}
        ordering = None if self.ordering is None else self.ordering.iloc[numbers].reset_index(drop=True)
        frame, carried = (part.take(numbers).reset_index(drop=True) for part in (self.frame, self.carried))
        return Written(frame, carried, parents, ordering)

    def part(self, first: int, end: int) -> Written:
        """The rows from `first` up to `end`."""
        if first == 0 and end == len(self.frame):
            return self
        return self.take(np.arange(first, min(end, len(self.frame))))

    def own(self, plan: TablePlan) -> pd.DataFrame:
        """The learned columns of the table, with the ordering column itself."""
        columns = [
            self.ordering if name == plan.order and self.ordering is not None else self.frame[str(name)]
            for name in plan.own
        ]
        frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=self.frame.index)
        frame.columns = pd.Index(list(plan.own))
        return frame


def write_children(
    plan: TablePlan,
    parent: Written,
    n_orphans: int,
    complete: Complete,
    limits: tuple[Any, Sequence[Bound]] = (None, ()),
) -> Written:
    """Draw the rows of every parent in order: all first rows together, then all second rows, and so on.

    The limits are the last value of the ordering column, and the bounds set by parents.
    """
    assert plan.main is not None
    counts = children_of(parent.frame, plan.main)
    active = np.concatenate([np.flatnonzero(counts > 0), np.full(n_orphans, -1)]).astype(np.int64)
    siblings = np.concatenate([counts[counts > 0], np.ones(n_orphans, dtype=np.int64)])
    nobody = not len(active)
    if nobody:  # draw one row and drop it, to get columns and dtypes
        active, siblings = np.array([-1]), np.array([1])
    drawn: list[pd.DataFrame] = []
    numbers: list[Ints] = []
    places: list[Ints] = []
    history = _History.start(plan, parent, active, limits[0])
    place = 1
    while len(active):
        partial = rows.context_rows(plan, parent.carried, active, np.full(len(active), place), siblings)
        partial = pd.concat([partial, history.columns()], axis=1)
        whole = checked(complete(partial, place).reset_index(drop=True), limits[1], plan.order, partial)
        whole = history.bounded(whole, *limits, partial)
        drawn.append(whole)
        numbers.append(active)
        places.append(np.full(len(active), place))
        going_on = siblings > place
        history.go_on(whole, going_on)
        active, siblings, place = active[going_on], siblings[going_on], place + 1
    written = _in_groups(plan, parent, drawn, numbers, places, limits[0])
    return written.first(0) if nobody else written


@dataclass
class _History:
    """The state of the sequences that are still being drawn."""

    plan: TablePlan
    n: int
    """Parents."""
    before: pd.DataFrame | None
    """The previous row of each; None before the first."""
    reached: pd.Series | None
    """The previous value of the ordering column, or the start of the order."""
    totals: pd.DataFrame
    known: pd.DataFrame
    """Sums and counts for the columns with a running mean."""

    @classmethod
    def start(cls, plan: TablePlan, parent: Written, active: Ints, last: Any) -> _History:
        """The state before the first row."""
        assert plan.main is not None
        start = None
        if plan.order is not None:
            start = _starts(plan, plan.main, parent.frame, active, last)
        zeros = pd.DataFrame(0.0, index=range(len(active)), columns=[str(name) for name in plan.summed])
        return cls(plan, len(active), None, start, zeros, zeros.copy())

    def columns(self) -> pd.DataFrame:
        """The context for the next rows."""
        names = [rows.step(name) if name == self.plan.order else str(name) for name in self.plan.own]
        parts = []
        if self.reached is not None:
            parts.append(self.reached.to_frame(rows.reached(str(self.plan.order))))
        if self.before is None:
            parts.append(pd.DataFrame(np.nan, index=range(self.n), columns=[rows.previous(name) for name in names]))
        else:
            parts.append(rows.as_previous(self.before[names]))
        means = self.totals / self.known.where(self.known > 0)
        parts.append(means.set_axis([rows.mean_so_far(name) for name in means.columns], axis=1))
        return pd.concat(parts, axis=1)

    def bounded(self, whole: pd.DataFrame, last: Any, bounds: Sequence[Bound], carried: pd.DataFrame) -> pd.DataFrame:
        """Rows with steps limited by the last value of the order and by the parents' bounds."""
        if self.reached is None or self.before is None or last is None:
            return whole
        name = rows.step(str(self.plan.order))
        most = largest_step(self.reached, str(self.plan.order), bounds, carried, last)
        return whole.assign(**{name: whole[name].where(whole[name] <= most, most.astype(whole[name].dtype))})

    def go_on(self, whole: pd.DataFrame, going_on: NDArray[np.bool_]) -> None:
        """Add the new rows, and drop parents that are complete."""
        values = whole[list(self.totals.columns)].astype(np.float64)
        self.totals = (self.totals + values.fillna(0))[going_on].reset_index(drop=True)
        self.known = (self.known + values.notna())[going_on].reset_index(drop=True)
        if self.reached is not None:
            if self.before is not None:  # the first row starts the order
                self.reached = self.reached + whole[rows.step(str(self.plan.order))]
            self.reached = self.reached[going_on].reset_index(drop=True)
        self.before = whole[going_on].reset_index(drop=True)
        self.n = len(self.before)


def _starts(plan: TablePlan, link: Link, parents_frame: pd.DataFrame, parents: Ints, last: Any) -> pd.Series:
    """The start of each parent's order; the last value if no parent has it."""
    assert plan.order is not None
    starts = rows.take_rows(parents_frame[[rows.first_of(link, plan.order)]], parents).iloc[:, 0]
    starts = starts.ffill().bfill()
    return starts if last is None else starts.fillna(last)


def _in_groups(
    plan: TablePlan, parent: Written, drawn: list[pd.DataFrame], numbers: list[Ints], places: list[Ints], last: Any
) -> Written:
    """All rows sorted by parent and position, with steps summed to the ordering column."""
    assert plan.main is not None
    parents, place = np.concatenate(numbers), np.concatenate(places)
    order = np.lexsort((place, np.where(parents < 0, len(parent.frame), parents)))
    frame = pd.concat(drawn, ignore_index=True).take(order).reset_index(drop=True)
    parents, place = parents[order], place[order]
    ordering = None
    if plan.order is not None:
        start = _starts(plan, plan.main, parent.frame, parents, last)
        ordering = _summed(plan.order, start, frame[rows.step(plan.order)], place)
    written = Written(frame, pd.DataFrame(), {plan.main.text: parents}, ordering)
    own = written.own(plan)
    own.columns = pd.Index([rows.carried(plan.name, name) for name in plan.own])
    above = rows.take_rows(parent.carried, parents)[[rows.carried(*pair) for pair in plan.context]]
    written.carried = pd.concat([own, above], axis=1)
    return written


def _summed(order: Name, first: pd.Series, steps: pd.Series, place: Ints) -> pd.Series:
    """The ordering column: the parent's start plus the steps up to each row."""
    zero = steps - steps
    steps = steps.where(pd.Series(place > 1), zero)
    group = np.cumsum(place == 1)
    return (first + steps.groupby(group).cumsum()).rename(str(order))


def choose_parents(
    plan: TablePlan,
    written: Written,
    link: Link,
    parents: tuple[Written, pd.DataFrame, Ints],
    rng: np.random.Generator,
) -> Ints:
    """Choose a further parent for each row that has one, among existing rows.

    `parents` are their extended rows, their own columns, and how often each is used.
    """
    parent, parent_own, wanted = parents
    frame = written.frame
    has = rows.has_parent(link)
    pointing = np.flatnonzero(frame[has].astype(bool)) if has in frame else np.arange(len(frame))
    chosen = np.full(len(frame), -1, dtype=np.int64)
    if not len(pointing) or not len(parent_own):
        return chosen
    names = list(plan.wanted[link.text])
    alike = [str(name) for name in plan.affinities.get(link.text, ())]
    asked = frame[[rows.wanted(link, name) for name in names]].set_axis([str(name) for name in names], axis=1)
    asked = pd.concat([asked, written.carried[alike]], axis=1).take(pointing).reset_index(drop=True)
    offered = parent_own[names].set_axis([str(name) for name in names], axis=1)
    typical = parent.frame[[rows.typical(link, name) for name in alike]].set_axis(alike, axis=1)
    offered = pd.concat([offered, typical], axis=1)
    labels = [str(name) for name in plan.labels[link.text]]
    asked, offered = as_labels(asked, labels), as_labels(offered, labels)
    places = fitted_places(wanted, len(asked), rng)
    apart = None
    if link.text in plan.apart and plan.main is not None:
        apart = written.parents[plan.main.text][pointing]
    chosen[pointing] = match(asked, offered, places, rng, apart)
    return chosen


def choose_in_loop(plan: TablePlan, written: Written, link: Link, own: pd.DataFrame, rng: np.random.Generator) -> Ints:
    """Choose the row of the same table that each row refers to, one level above it to exclude cycles."""
    level = written.frame[rows.LEVEL].to_numpy(dtype=np.int64).clip(min=0)
    level = np.searchsorted(np.unique(level), level)  # no level is empty
    chosen = np.full(len(level), -1, dtype=np.int64)
    names = list(plan.wanted[link.text])
    asked = written.frame[[rows.wanted(link, name) for name in names]].set_axis([str(n) for n in names], axis=1)
    offered = own[names].set_axis([str(name) for name in names], axis=1)
    labels = [str(name) for name in plan.labels[link.text]]
    asked, offered = as_labels(asked, labels), as_labels(offered, labels)
    counts = children_of(written.frame, link)
    for depth in range(1, int(level.max(initial=0)) + 1):
        below, above = np.flatnonzero(level == depth), np.flatnonzero(level == depth - 1)
        places = fitted_places(counts[above], len(below), rng)
        sides = asked.take(below).reset_index(drop=True), offered.take(above).reset_index(drop=True)
        chosen[below] = above[match(*sides, places, rng)]
    return chosen


def children_of(frame: pd.DataFrame, link: Link) -> Ints:
    """Number of children of each row by a link (n,)."""
    counts: Ints = frame[rows.n_children(link)].fillna(0).to_numpy(dtype=np.int64).clip(min=0)
    return counts


def foreign_key(parent: pd.DataFrame, link: Link, numbers: Ints, dtypes: Mapping[Name, Any]) -> pd.DataFrame:
    """The foreign-key columns, with the keys of the chosen parents."""
    taken = rows.take_rows(parent[list(link.key)].reset_index(drop=True), numbers)
    columns = {}
    for column, key in zip(link.columns, link.key, strict=True):
        columns[column] = taken[key].astype(dtypes[column])
    return pd.DataFrame(columns)
