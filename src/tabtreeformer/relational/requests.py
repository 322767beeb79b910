"""The arguments of `sample`: sizes of tables, conditions on columns, parents to write children for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..data.io.frames import take_in
from ..errors import ConfigError
from .learned import LearnedTable
from .plain import in_plain_form
from .rows import n_children


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The checked arguments of one call of `sample`."""

    sizes: Mapping[str, int]
    """Rows of the tables without parents."""
    conditions: Mapping[str, Mapping[str, Any]]
    """Conditions on columns, by table: values, lists, ranges."""
    parents: Mapping[str, pd.DataFrame]
    """Given parent rows, by table."""
    counts: Mapping[str, Mapping[str, Any]]
    """Numbers of children: by parent table, the counting column and one number, or one per parent."""
    scale: float = 1.0
    """Size of the new database relative to the fitted one."""

    @classmethod
    def of(
        cls,
        learned: Mapping[str, LearnedTable],
        n: Mapping[str, int] | int | None,
        scale: float,
        given: Mapping[str, Any] | None,
        children: Mapping[str, Any] | None,
    ) -> Asked:
        """Check the arguments."""
        conditions, parents = conditions_of(learned, given)
        sizes, scale = sizes_of(learned, n, scale)
        counts = counts_of(learned, children)
        return cls(sizes=sizes, conditions=conditions, parents=parents, counts=counts, scale=scale)

    def fixed_counts(self, table: str) -> Mapping[str, Any]:
        """Counting columns of a parent with given numbers of children."""
        return self.counts.get(table, {})


def counts_of(learned: Mapping[str, LearnedTable], children: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """The given numbers of children, by parent table and column."""
    counts: dict[str, dict[str, Any]] = {}
    for name, number in (children or {}).items():
        main = learned[name].plan.main if name in learned else None
        if main is None:
            named = [n for n, table in learned.items() if table.plan.main is not None]
            raise ConfigError(f"children must name tables with parents ({', '.join(named)}), got {name!r}")
        numbers = np.atleast_1d(np.asarray(number))
        if numbers.dtype.kind not in "iu" or (numbers < 0).any() or numbers.ndim > 1:
            raise ConfigError(
                f"children[{name!r}] must be a whole number of at least 0, or one per parent, got {number!r}"
            )
        counts.setdefault(main.parent, {})[n_children(main)] = numbers
    return counts


def sizes_of(
    learned: Mapping[str, LearnedTable], n: Mapping[str, int] | int | None, scale: float
) -> tuple[dict[str, int], float]:
    """Numbers of rows of tables without parents, and the relative size of the database."""
    every = {name: table for name, table in learned.items() if table.plan.main is None}
    roots = {name: table for name, table in every.items() if table.kept is None}
    kept = {name: table.n_rows for name, table in every.items() if table.kept is not None}
    if not scale > 0:
        raise ConfigError(f"scale must be above 0, got {scale!r}")
    if isinstance(n, int):
        if not roots:
            raise ConfigError(f"all tables without parents are kept unchanged ({', '.join(kept)}); give scale")
        if len(roots) != 1:
            raise ConfigError(f"name the table: sample({{'{next(iter(roots))}': {n}}})")
        n = {next(iter(roots)): n}
    asked = dict(n or {})
    for name, count in asked.items():
        if name in kept:
            raise ConfigError(f"table {name!r} is kept unchanged, with its {kept[name]:,} rows; leave it out")
        if name not in roots:
            raise ConfigError(
                f"the number of rows can be given for tables without parents ({', '.join(roots)}), not for {name!r}"
            )
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ConfigError(f"the number of rows of {name!r} must be a whole number of at least 1, got {count!r}")
    if asked:
        scale = float(np.mean([asked[name] / roots[name].n_rows for name in asked]))
    sizes = {name: asked.get(name, max(round(scale * table.n_rows), 1)) for name, table in roots.items()}
    return sizes | kept, scale


def _by_law(learned: Mapping[str, LearnedTable], place: object) -> str:
    """The law that computes a column, as part of an error message."""
    table, _, column = str(place).partition(".")
    laws = learned[table].laws if table in learned else None
    law = None if laws is None else {str(name): law for name, law in laws.by_column().items()}.get(column)
    return "" if law is None else f"; it is computed ({law.text}), so give conditions on what it is computed from"


def conditions_of(
    learned: Mapping[str, LearnedTable], given: Mapping[str, Any] | None
) -> tuple[dict[str, dict[str, Any]], dict[str, pd.DataFrame]]:
    """Conditions by table, and given tables of parents."""
    conditions: dict[str, dict[str, Any]] = {}
    real: dict[str, pd.DataFrame] = {}
    for place, value in (given or {}).items():
        if place in learned:
            frame = take_in(value)[0]
            if not isinstance(frame, pd.DataFrame) or learned[place].plan.main is not None:
                raise ConfigError(f"given[{place!r}] must be a table of rows of a table without parents")
            real[place] = in_plain_form(frame, learned[place].forms)
            continue
        table, _, column = str(place).partition(".")
        if table not in learned or column not in [str(name) for name in learned[table].plan.own]:
            raise ConfigError(
                f"there is no learned column {place!r}; name it as 'table.column'{_by_law(learned, place)}"
            )
        if learned[table].kept is not None:
            raise ConfigError(
                f"table {table!r} is kept unchanged and takes no conditions; give the rows to write children for, e.g. "
                f"given={{{table!r}: rows}}"
            )
        if learned[table].plan.order is not None and column == str(learned[table].plan.order):
            raise ConfigError(f"{place!r} orders the rows of its table and cannot be given")
        if column in [str(since.column) for since in learned[table].since]:
            raise ConfigError(f"{place!r} is learned as the time since a time of its parent and cannot be given")
        conditions.setdefault(table, {})[column] = value
    return conditions, real
