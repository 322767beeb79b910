"""A checked database: its tables, links, schemas and halves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.links import Link, Name, order_tables, parent_numbers
from ..data.schema import Schema
from ..fitting.request import laws_of
from ..laws import Laws
from .beside import Since, find_since
from .lent import lendable, lent_columns, lent_schema
from .plan import TablePlan, make_plans
from .rows import Ints, twice_if_alone


@dataclass(frozen=True)
class Database:
    """Tables that are linked, checked and free of dangling keys."""

    tables: Mapping[str, pd.DataFrame]
    links: Sequence[Link]
    schemas: Mapping[str, Schema]
    """Schemas of some or all of the tables."""
    orders: Mapping[str, Name]

    def described(self) -> Database:
        """The same with a schema of every table."""
        frames = {name: twice_if_alone(frame) for name, frame in self.tables.items()}
        return replace(self, schemas={n: self.schemas.get(n) or Schema.infer(frame) for n, frame in frames.items()})

    def plans(self) -> dict[str, TablePlan]:
        """Plans of all tables, parents first."""
        ordered = order_tables(list(self.tables), self.links)
        return make_plans(self.tables, self.schemas, self.links, ordered, self.orders)

    def parents(self) -> dict[str, Ints]:
        """The parent of each row, by the text of the link."""
        return {
            link.text: parent_numbers(self.tables[link.child], self.tables[link.parent], link) for link in self.links
        }

    def expressed(
        self, constraints: object, floor: int, seed: np.random.SeedSequence
    ) -> tuple[Database, dict[str, Laws], dict[str, tuple[Since, ...]]]:
        """Express the laws of tables with parents; return these laws, and times relative to parents.

        Laws of other tables are in their models. The column that orders rows is learned as steps: laws read it, as
        they read columns of the parent, and never write it. Rows of different parents are no neighbours: laws are
        searched in shuffled rows.
        """
        tables, schemas, orders = dict(self.tables), dict(self.schemas), dict(self.orders)
        found: dict[str, Laws] = {}
        counted: dict[str, tuple[Since, ...]] = {}
        parents = self.parents()
        for name, plan in self.plans().items():
            if plan.order is not None:
                orders[name] = plan.order
            own = [column for column in plan.own if column != plan.order]
            if plan.main is None or constraints != "auto" or not own or len(tables[name]) < 2:
                continue
            schema = Schema(tuple(schemas[name].column(column) for column in own))
            frame = schema.validate(tables[name][own])
            given, lent = self._given(plan, tables, schemas, parents[plan.main.text])
            whole, every = pd.concat([frame, given], axis=1), Schema((*schema.columns, *lent.columns))
            laws = laws_of("auto", _shuffled(whole, seed), every, floor, seed, lent.names)
            rest = [column for column in tables[name].columns if column not in own]
            if laws is not None and laws.laws:
                found[name] = laws
                schema = Schema(tuple(c for c in laws.expressed_schema.columns if c.name not in laws.given))
                frame = laws.express(whole)[list(schema.names)]
            above, theirs = tables[plan.main.parent], list(self.tables[plan.main.parent].columns)
            counted[name] = _counted(frame, above, theirs, parents[plan.main.text])
            for since in counted[name]:
                frame[since.column] = since.counted(frame[since.column], above, parents[plan.main.text])
            changed = [since.column for since in counted[name]]
            schema = replace(schema, columns=tuple(
                Schema.infer(frame[[c.name]]).columns[0] if c.name in changed else c for c in schema.columns
            ))  # fmt: skip
            tables[name] = pd.concat([tables[name][rest], frame], axis=1)
            schemas[name] = Schema((*(schemas[name].column(column) for column in rest), *schema.columns))
        return Database(tables, self.links, schemas, orders), found, counted

    def _given(
        self, plan: TablePlan, tables: Mapping[str, pd.DataFrame], schemas: Mapping[str, Schema], parents: Ints
    ) -> tuple[pd.DataFrame, Schema]:
        """Columns that are known before a row of a child is written, and what they are: its order, and its parent's."""
        assert plan.main is not None
        own = [] if plan.order is None else [plan.order]
        given, schema = tables[plan.name][own], Schema(tuple(self.schemas[plan.name].column(name) for name in own))
        if (parents < 0).any():
            return given, schema
        above = schemas[plan.main.parent]
        names = lendable(plan.main, self.tables, self.schemas, above)
        lent = lent_columns(tables[plan.main.parent], names, parents).set_axis(given.index)
        return pd.concat([given, lent], axis=1), Schema((*schema.columns, *lent_schema(above, names).columns))

    def without(self, dropped: Mapping[str, NDArray[np.bool_]]) -> Database:
        """The database without some rows, and without rows of other tables that refer to them."""
        kept = {name: ~dropped.get(name, np.zeros(len(frame), dtype=bool)) for name, frame in self.tables.items()}
        parents = self.parents()
        for name in order_tables(list(self.tables), self.links):
            for link in self.links:
                if link.child == name and not link.to_itself:
                    above = parents[link.text]
                    kept[name] &= (above < 0) | kept[link.parent][np.maximum(above, 0)]
        tables = {name: frame[kept[name]].reset_index(drop=True) for name, frame in self.tables.items()}
        return replace(self, tables=tables)


def _shuffled(frame: pd.DataFrame, seed: np.random.SeedSequence) -> pd.DataFrame:
    return frame.take(np.random.default_rng(seed).permutation(len(frame))).reset_index(drop=True)


def _counted(frame: pd.DataFrame, above: pd.DataFrame, theirs: Sequence[Name], parents: Ints) -> tuple[Since, ...]:
    """Convert times relative to a time of the parent, if every row has a parent."""
    if (parents < 0).any():
        return ()
    there = [name for name in theirs if name in above.columns]
    return tuple(find_since(frame, list(frame.columns), above, there, parents))
