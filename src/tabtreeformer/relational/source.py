"""A database as it is learned: its tables, their links, what is known about their columns, and its halves."""

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
from .plan import TablePlan, make_plans
from .rows import Ints, twice_if_alone


@dataclass(frozen=True)
class Database:
    """Tables that are linked, checked and free of dangling keys."""

    tables: Mapping[str, pd.DataFrame]
    links: Sequence[Link]
    schemas: Mapping[str, Schema]
    """What the columns are, for some of the tables."""
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
    ) -> tuple[Database, dict[str, Laws]]:
        """Tables with parents as their laws express them, and these laws; those of other tables are in their models.

        The column that orders rows takes part in no law: it is learned as steps.
        """
        tables, schemas, orders = dict(self.tables), dict(self.schemas), dict(self.orders)
        found: dict[str, Laws] = {}
        for name, plan in self.plans().items():
            if plan.order is not None:
                orders[name] = plan.order
            own = [column for column in plan.own if column != plan.order]
            if plan.main is None or constraints != "auto" or len(own) < 2 or len(tables[name]) < 2:
                continue
            schema = Schema(tuple(schemas[name].column(column) for column in own))
            frame = schema.validate(tables[name][own])
            laws = laws_of("auto", frame, schema, floor, seed)
            if laws is None or not laws.laws:
                continue
            found[name] = laws
            rest = [column for column in tables[name].columns if column not in own]
            tables[name] = pd.concat([tables[name][rest], laws.express(frame)], axis=1)
            schemas[name] = Schema((*(schemas[name].column(column) for column in rest), *laws.expressed_schema.columns))
        return Database(tables, self.links, schemas, orders), found

    def without(self, dropped: Mapping[str, NDArray[np.bool_]]) -> Database:
        """The database without some rows, and without rows of other tables that point to them."""
        kept = {name: ~dropped.get(name, np.zeros(len(frame), dtype=bool)) for name, frame in self.tables.items()}
        parents = self.parents()
        for name in order_tables(list(self.tables), self.links):
            for link in self.links:
                if link.child == name and not link.to_itself:
                    above = parents[link.text]
                    kept[name] &= (above < 0) | kept[link.parent][np.maximum(above, 0)]
        tables = {name: frame[kept[name]].reset_index(drop=True) for name, frame in self.tables.items()}
        return replace(self, tables=tables)
