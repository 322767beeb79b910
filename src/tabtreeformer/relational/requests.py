"""What a call of `sample` asks for: sizes of tables, conditions on columns, parents to write children for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..data.io.frames import take_in
from ..errors import ConfigError
from .learned import LearnedTable


def sizes_of(learned: Mapping[str, LearnedTable], n: Mapping[str, int] | int | None, scale: float) -> dict[str, int]:
    """Rows of the tables without parents."""
    roots = {name: table for name, table in learned.items() if table.plan.main is None}
    if not scale > 0:
        raise ConfigError(f"scale must be above 0, got {scale!r}")
    if isinstance(n, int):
        if len(roots) != 1:
            raise ConfigError(f"say of which table: sample({{'{next(iter(roots))}': {n}}})")
        n = {next(iter(roots)): n}
    asked = dict(n or {})
    for name, count in asked.items():
        if name not in roots:
            raise ConfigError(
                f"the number of rows can be given for tables without parents ({', '.join(roots)}), not for {name!r}"
            )
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ConfigError(f"the number of rows of {name!r} must be a whole number from 1, got {count!r}")
    if asked:
        scale = float(np.mean([asked[name] / roots[name].n_rows for name in asked]))
    return {name: asked.get(name, max(round(scale * table.n_rows), 1)) for name, table in roots.items()}


def conditions_of(
    learned: Mapping[str, LearnedTable], given: Mapping[str, Any] | None
) -> tuple[dict[str, dict[str, Any]], dict[str, pd.DataFrame]]:
    """Conditions by table, and tables of parents that were given."""
    conditions: dict[str, dict[str, Any]] = {}
    real: dict[str, pd.DataFrame] = {}
    for place, value in (given or {}).items():
        if place in learned:
            frame = take_in(value)[0]
            if not isinstance(frame, pd.DataFrame) or learned[place].plan.main is not None:
                raise ConfigError(f"given[{place!r}] must be a table of rows of a table without parents")
            real[place] = frame
            continue
        table, _, column = str(place).partition(".")
        if table not in learned or column not in [str(name) for name in learned[table].plan.own]:
            raise ConfigError(f"there is no learned column {place!r}; name it as 'table.column'")
        if learned[table].plan.main is not None and not isinstance(value, str | int | float | bool | pd.Timestamp):
            raise ConfigError(f"{place!r}: rows of a child table can be given single values only, got {value!r}")
        if learned[table].plan.order is not None and column == str(learned[table].plan.order):
            raise ConfigError(f"{place!r} orders the rows of its table and cannot be given")
        conditions.setdefault(table, {})[column] = value
    return conditions, real
