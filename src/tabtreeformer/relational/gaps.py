"""Fills missing values of given tables: parents first, then children in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.seeds import child
from ..data.io.frames import take_in
from ..data.links import Link, check_links, parent_numbers
from ..errors import ConfigError, SchemaError
from .learned import LearnedTable, filled
from .learning import Extender
from .lent import with_lent
from .plain import in_own_form, in_plain_form
from .rows import step


def fill_gaps(
    learned: Mapping[str, LearnedTable], links: Sequence[Link], given: Any, seed: np.random.SeedSequence
) -> dict[str, pd.DataFrame]:
    """All tables with the missing values of learned columns filled; everything else is unchanged."""
    if not isinstance(given, Mapping) or set(given) != set(learned):
        raise ConfigError(f"impute takes all tables of the database: {', '.join(learned)}")
    own = {name: take_in(given[name])[0].reset_index(drop=True) for name in learned}
    real = {name: in_plain_form(own[name], table.forms) for name, table in learned.items()}
    check_links(real, links)
    tables = {name: _expressed(table, real) for name, table in learned.items()}
    for table in learned.values():
        _count_times(table, tables, real, back=False)
    for number, (name, table) in enumerate(learned.items()):
        order = table.plan.order
        if order is not None and tables[name][order].isna().any():
            raise SchemaError(f"column {order!r} of {name!r} orders its rows and has missing values; fill them first")
        round_number, tried = 0, np.zeros(len(tables[name]), dtype=bool)
        while _fill_once(learned, table, tables, tried, child(seed, number, round_number)):
            round_number += 1
        _count_times(table, tables, real, back=True)
        real[name] = _restored(table, real, tables[name], child(seed, number, 2**20))
    return {name: in_own_form(real[name], table.forms) for name, table in learned.items()}


def _count_times(
    table: LearnedTable, tables: dict[str, pd.DataFrame], real: Mapping[str, pd.DataFrame], *, back: bool
) -> None:
    """Convert times relative to a parent's time to their learned form, or back."""
    main, name = table.plan.main, table.plan.name
    if main is None or not table.since:
        return
    above = real[main.parent]
    parents = parent_numbers(tables[name], above, main)
    changed = tables[name].copy()
    for since in table.since:
        change = since.times if back else since.counted
        changed[since.column] = change(changed[since.column], above, parents)
    tables[name] = changed


def _expressed(table: LearnedTable, real: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    frame = real[table.plan.name]
    absent = [column for column in table.columns if column not in frame.columns]
    if absent:
        raise SchemaError(f"table {table.plan.name!r} lacks the column {absent[0]!r}")
    if table.laws is None:
        return frame[list(table.columns)]
    own = list(table.laws.schema.names)
    rest = [column for column in table.columns if column not in own]
    expressed = table.laws.express(with_lent(frame, table.laws, table.plan.main, real)[own])
    lent = [name for name in table.laws.given if name not in table.columns]
    return pd.concat([frame[rest], expressed.drop(columns=lent)], axis=1)


def _restored(
    table: LearnedTable, real: Mapping[str, pd.DataFrame], after: pd.DataFrame, seed: np.random.SeedSequence
) -> pd.DataFrame:
    """The table as it was, with its gaps filled."""
    before = real[table.plan.name]
    if table.laws is not None:
        after = with_lent(after, table.laws, table.plan.main, real)
        own = list(table.laws.expressed_schema.names)
        whole = table.laws.restore(after[own], np.random.default_rng(seed))
        after = pd.concat([after.drop(columns=own), whole], axis=1)
    result = before.copy()
    for column in table.columns:
        gaps = before[column].isna()
        if gaps.any():
            result[column] = before[column].where(~gaps, after[column].astype(before[column].dtype, errors="ignore"))
    return result


def _fill_once(
    learned: Mapping[str, LearnedTable],
    table: LearnedTable,
    tables: dict[str, pd.DataFrame],
    tried: NDArray[np.bool_],
    seed: np.random.SeedSequence,
) -> bool:
    """Fill the first incomplete row of every parent, because the next row depends on it; False if there is none.

    A row is tried once: a gap that a law keeps stays, such as the last visit of a patient without visits.
    """
    plan, model = table.plan, table.model
    own = [column for column in plan.own if column != plan.order]
    frame = tables[plan.name]
    if model is None or not own or not (frame[own].isna().any(axis=1) & ~tried).any():
        return False
    extender = Extender(tables, {name: part.plan for name, part in learned.items()}, fixed=True)
    extended = extender.extended(plan.name)
    order = np.arange(len(frame)) if extended.groups is None else extended.groups.order
    gaps = (frame[own].isna().any(axis=1).to_numpy() & ~tried)[order]
    if extended.groups is not None:  # one row per parent in each round
        parents = np.where(extended.groups.parents < 0, -1 - np.arange(len(order)), extended.groups.parents)
        gaps &= ~pd.Series(parents).where(gaps).duplicated().to_numpy()
    rows = np.flatnonzero(gaps)
    tried[order[rows]] = True
    known = list(extended.given) + [str(column) for column in own]
    if plan.order is not None:
        known.append(step(plan.order))
    partial = extended.frame.take(rows)[known].reset_index(drop=True)
    whole = filled(model, partial, extended.given, seed)
    changed = frame.copy()
    places = changed.index[order[rows]]
    for column in own:
        empty = changed.loc[places, column].isna().to_numpy()
        if empty.any():
            changed[column] = _with_values(changed[column], places[empty], whole[str(column)].to_numpy()[empty])
    tables[plan.name] = changed
    return True


def _with_values(values: pd.Series, places: pd.Index, new: Any) -> pd.Series:
    values = values.copy()
    values.loc[places] = new
    return values
