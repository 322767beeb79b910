"""Units of protection: floors, halves and the verdict count units, e.g. a customer with all orders, not rows.

A row belongs to the unit of its main parent, and so on upwards. The unit is the topmost table of this chain with enough
rows: otherwise, with a handful of regions above the customers, regions would be protected and customers not.
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
"""Minimum rows of a table whose rows are units."""
MIN_CAP, CAP_SHARE = 50, 0.01
"""Maximum rows of a table learned per unit: this number, or this share of the rows if larger."""


@dataclass(frozen=True)
class Units:
    """The unit of every row of every table."""

    table: Mapping[str, str]
    """The table whose rows are the units, by table."""
    numbers: Mapping[str, Ints]
    """The unit of each row: a row number in that table; rows without a unit get unique numbers."""

    @classmethod
    def of(
        cls,
        tables: Tables,
        plans: Mapping[str, TablePlan],
        parents: Mapping[str, Ints],
        asked: str | None = None,
        keep: Sequence[str] = (),
    ) -> Units:
        """Units of all tables, parents first: rows of the table `asked` for, never of those in `keep`."""
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
        """Tables whose rows belong to the rows of this unit table."""
        return [name for name, above in self.table.items() if above == unit]

    def described(self) -> list[str]:
        """A sentence on what is protected."""
        lines = []
        for unit in dict.fromkeys(self.table.values()):
            others = [name for name in self.below(unit) if name != unit]
            if others:
                lines.append(
                    f"rare values and the verdict count rows of {unit}, each with its rows of " + ", ".join(others)
                )
        return lines


def _upward(plan: TablePlan, table: Mapping[str, str], sizes: Mapping[str, int], asked: str | None) -> Link | None:
    """The link from rows to their unit; None if they are units themselves."""
    if asked is not None:
        leading = [link for link in plan.links() if not link.to_itself and table.get(link.parent) == asked]
        return leading[0] if leading and plan.name != asked else None
    if plan.main is None or sizes[table[plan.main.parent]] < MIN_UNITS:
        return None
    return plan.main


def cap_of(n_rows: int) -> int:
    """Maximum number of rows of a table that are learned per unit."""
    return max(MIN_CAP, int(CAP_SHARE * n_rows))


def within_cap(units: Ints) -> Ints:
    """Row numbers without the excess rows of any unit; the first rows of each are kept (n,)."""
    place = pd.Series(units).groupby(units, sort=False).cumcount().to_numpy()
    return np.flatnonzero(place < cap_of(len(units)))
