"""What the floors, the halves and the verdict count: not rows but units, e.g. a customer with all orders.

A row belongs to the unit of the parent that it is written for, and so on upwards. The unit is the topmost table of such
a chain that has enough rows: with a handful of regions above the customers, regions would be protected, not customers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..data.links import Link, Tables
from ..errors import ConfigError
from .plan import TablePlan
from .rows import Ints

MIN_UNITS = 100
"""Minimum rows of a table for its rows to be the units of the tables below."""
MIN_CAP, CAP_SHARE = 50, 0.01
"""A unit counts with at most this many rows of a table, or this share of them if that is more."""


@dataclass(frozen=True)
class Units:
    """The unit of every row of every table."""

    table: Mapping[str, str]
    """The table whose rows are the units, by table."""
    numbers: Mapping[str, Ints]
    """The unit of each row: its row number in that table; rows that belong to none have numbers of their own."""

    @classmethod
    def of(
        cls,
        tables: Tables,
        plans: Mapping[str, TablePlan],
        parents: Mapping[str, Ints],
        asked: str | None = None,
        keep: Sequence[str] = (),
    ) -> Units:
        """Units of all tables, parents first: rows of the table that is `asked` for, never of those in `keep`."""
        if asked is not None and asked not in tables:
            raise ConfigError(f"unit={asked!r} is not a table; there are {', '.join(map(repr, tables))}")
        table: dict[str, str] = {}
        numbers: dict[str, Ints] = {}
        for name, plan in plans.items():
            link = _upward(plan, table, {n: 0 if n in keep else len(t) for n, t in tables.items()}, asked)
            if link is None:
                table[name], numbers[name] = name, np.arange(len(tables[name]))
                continue
            above = parents[link.text]
            own = numbers[link.parent][np.maximum(above, 0)]
            alone = np.flatnonzero(above < 0)
            own[alone] = len(tables[table[link.parent]]) + alone
            table[name], numbers[name] = table[link.parent], own
        return cls(table, numbers)

    def below(self, unit: str) -> list[str]:
        """Tables whose rows belong to the rows of one."""
        return [name for name, above in self.table.items() if above == unit]

    def described(self) -> list[str]:
        """What is protected, as a sentence."""
        lines = []
        for unit in dict.fromkeys(self.table.values()):
            others = [name for name in self.below(unit) if name != unit]
            if others:
                lines.append(
                    f"rare values and the verdict count rows of {unit}, each with its rows of " + ", ".join(others)
                )
        return lines


def _upward(plan: TablePlan, table: Mapping[str, str], sizes: Mapping[str, int], asked: str | None) -> Link | None:
    """The link through which rows belong to a unit; None where they are units themselves."""
    if asked is not None:
        leading = [link for link in plan.links() if not link.to_itself and table.get(link.parent) == asked]
        return leading[0] if leading and plan.name != asked else None
    if plan.main is None or sizes[table[plan.main.parent]] < MIN_UNITS:
        return None
    return plan.main


def cap_of(n_rows: int) -> int:
    """Maximum number of rows of a table with which one unit counts."""
    return max(MIN_CAP, int(CAP_SHARE * n_rows))


def within_cap(units: Ints) -> Ints:
    """Row numbers without the excess of any unit; the first rows of each stay (n,)."""
    place = pd.Series(units).groupby(units, sort=False).cumcount().to_numpy()
    return np.flatnonzero(place < cap_of(len(units)))
