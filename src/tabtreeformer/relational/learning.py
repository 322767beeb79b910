"""Extended rows: the rows of a table with context from parents, features of further parents, and facts
about children.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ..data.links import Link, Name, Tables, parent_numbers
from ..data.schema import CATEGORICAL, IDENTIFIER, NUMERIC, TEXT, Schema
from ..errors import SchemaError
from . import rows
from .plan import TablePlan, find_affinities
from .rows import Groups, Ints


@dataclass(frozen=True)
class Extended:
    """The extended rows of a table, as they are learned."""

    frame: pd.DataFrame
    given: tuple[str, ...]
    """Columns that are known before a row is drawn."""
    groups: Groups | None
    n_orphans: int = 0
    counts: tuple[str, ...] = ()
    """Columns that count children."""
    facts: tuple[str, ...] = ()
    """Columns with facts about children, including their number."""

    def described(self, plan: TablePlan) -> str:
        """A description for progress messages."""
        parts = [f"{len(self.frame):,} rows"]
        if plan.main is not None:
            by = "" if plan.order is None else f", ordered by {plan.order}"
            parts.append(f"written for each {plan.main.parent}{by}")
        parts += [f"{link.parent} chosen among existing rows" for link in plan.others]
        return "; ".join(parts)

    """Rows without a parent by the main link."""


class Extender:
    """Makes the extended rows of all tables, parents first."""

    def __init__(self, tables: Tables, plans: Mapping[str, TablePlan], *, fixed: bool = False) -> None:
        """If plans are `fixed`, nothing is inferred from the rows."""
        self.tables, self.plans = tables, dict(plans)
        self.parents: dict[str, Ints] = {
            link.text: parent_numbers(tables[link.child], tables[link.parent], link)
            for plan in plans.values()
            for link in plan.links()
        }
        self.carried: dict[str, pd.DataFrame] = {}
        for name, plan in self.plans.items():
            self.carried[name] = self._carry(plan)
        for name, plan in () if fixed else list(self.plans.items()):
            self.plans[name] = replace(plan, affinities=self._affinities(plan))

    def _carry(self, plan: TablePlan) -> pd.DataFrame:
        """The context for children: the row's own columns and its own context."""
        own = self.tables[plan.name][list(plan.own)].reset_index(drop=True)
        own.columns = pd.Index([rows.carried(plan.name, column) for column in plan.own])
        if plan.main is None:
            return own
        above = rows.take_rows(self.carried[plan.main.parent], self.parents[plan.main.text])
        return pd.concat([own, above[[rows.carried(*pair) for pair in plan.context]]], axis=1)

    def _affinities(self, plan: TablePlan) -> dict[str, tuple[Name, ...]]:
        return {link.text: find_affinities(self.carried[plan.name], self.parents[link.text]) for link in plan.others}

    def extended(self, name: str) -> Extended:
        """The extended rows of one table."""
        plan, table = self.plans[name], self.tables[name].reset_index(drop=True)
        parts: list[pd.DataFrame] = []
        groups, n_orphans = None, 0
        own = table[list(plan.own)]
        if plan.main is not None:
            parents = self.parents[plan.main.text]
            groups = Groups.of(parents, None if plan.order is None else table[plan.order])
            n_orphans = int((parents < 0).sum())
            carried = self.carried[plan.main.parent]
            parts.append(rows.context_rows(plan, carried, groups.parents, groups.place, groups.siblings))
            own = own.take(groups.order).reset_index(drop=True)
            if plan.order is not None:
                parts.append(rows.order_reached(own[plan.order], groups))
                own = rows.with_steps(own, plan.order, groups)
            parts.append(rows.with_previous(own, groups.place, groups.siblings))
            parts.append(rows.summaries(own, plan.summed, groups))
        given = tuple(str(column) for part in parts for column in part.columns)
        order = np.arange(len(table)) if groups is None else groups.order
        facts = [self._facts(link).take(order).reset_index(drop=True) for link in self._links_to(name)]
        if plan.main is None:  # first, so that parents' columns are drawn given the number of children
            parts += facts
        parts.append(own)
        parts += [self._asked(plan, link).take(order).reset_index(drop=True) for link in plan.others]
        if plan.loop is not None:
            parts.append(self._levels(plan, plan.loop).take(order).reset_index(drop=True))
        if plan.main is not None:
            parts += facts
        frame = pd.concat(parts, axis=1)
        frame.columns = pd.Index([str(column) for column in frame.columns])
        if not frame.columns.is_unique:
            twice = frame.columns[frame.columns.duplicated()][0]
            raise SchemaError(f"table {name!r} has a column {twice!r} that is needed for its links; rename it")
        counts = tuple(rows.n_children(link) for link in self._links_to(name))
        known = tuple(str(column) for part in facts for column in part.columns)
        return Extended(frame, given, groups, n_orphans, counts, known)

    def facts_by_link(self, name: str) -> dict[Link, list[str]]:
        """Facts about the children of each row, by link."""
        return {link: [str(column) for column in self._facts(link).columns] for link in self._links_to(name)}

    def _links_to(self, name: str) -> list[Link]:
        return [link for plan in self.plans.values() for link in plan.links() if link.parent == name]

    def _asked(self, plan: TablePlan, link: Link) -> pd.DataFrame:
        """Features of further parents, as in the data."""
        parents = self.parents[link.text]
        names = list(plan.wanted[link.text])
        asked = rows.take_rows(self.tables[link.parent][names].reset_index(drop=True), parents)
        asked.columns = pd.Index([rows.wanted(link, column) for column in names])
        return asked.assign(**{rows.has_parent(link): parents >= 0}) if (parents < 0).any() else asked

    def _levels(self, plan: TablePlan, link: Link) -> pd.DataFrame:
        """For each row of a self-linked table: the number of links to the top, and the features of the row it points
        to.
        """
        parents = self.parents[link.text]
        level = np.where(parents < 0, 0, -1)
        level[parents == np.arange(len(parents))] = 0
        for _ in range(len(parents)):
            open_rows = np.flatnonzero(level < 0)
            ready = open_rows[level[parents[open_rows]] >= 0]
            if not len(ready):
                break
            level[ready] = level[parents[ready]] + 1
        if (level < 0).any():
            row = int(np.argmax(level < 0))
            raise SchemaError(
                f"link {link.text!r}: {int((level < 0).sum()):,} rows point to each other in a cycle, the first is "
                f"row {row}; break the cycle with a missing value"
            )
        names = list(plan.wanted[link.text])
        asked = rows.take_rows(self.tables[plan.name][names].reset_index(drop=True), parents)
        asked.columns = pd.Index([rows.wanted(link, column) for column in names])
        return asked.assign(**{rows.LEVEL: level})

    def _facts(self, link: Link) -> pd.DataFrame:
        """Facts that parents have about their children by one link."""
        child, parents = self.plans[link.child], self.parents[link.text]
        table = self.tables[link.child].reset_index(drop=True)
        ordering = table[child.order] if child.main == link and child.order is not None else None
        alike = {str(name): self.carried[link.child][name] for name in child.affinities.get(link.text, ())}
        return rows.children_facts(link, parents, len(self.tables[link.parent]), ordering, alike)


def extended_schema(extended: Extended, schemas: Mapping[str, Schema], plan: TablePlan) -> Schema:
    """Schema of the extended columns: each has the kind of its source; counts and positions are numbers."""
    inferred = Schema.infer(rows.twice_if_alone(extended.frame))
    sources = _sources(schemas, plan)
    columns = []
    for column in inferred.columns:
        kind = sources.get(str(column.name))
        kind = None if kind == IDENTIFIER else kind
        if kind is None and column.kind in (IDENTIFIER, TEXT) and column.sort == "number":
            kind = NUMERIC
        # A constant stays constant, and a column that was made nullable may have another kind.
        fits = kind in (NUMERIC, CATEGORICAL, TEXT) and column.kind in (NUMERIC, CATEGORICAL, TEXT, IDENTIFIER)
        columns.append(column.with_kind(kind) if kind is not None and fits and kind != column.kind else column)
    return replace(inferred, columns=tuple(columns))


def _sources(schemas: Mapping[str, Schema], plan: TablePlan) -> dict[str, str]:
    """Schemas of the source columns of extended columns."""
    own = {str(name): schemas[plan.name].column(name).kind for name in plan.own}
    kinds = own | {rows.previous(name): kind for name, kind in own.items()}
    kinds |= {rows.carried(table, name): schemas[table].column(name).kind for table, name in plan.context}
    for link in plan.links():
        for name in plan.wanted.get(link.text, ()):
            kinds[rows.wanted(link, name)] = schemas[link.parent].column(name).kind
    return kinds
