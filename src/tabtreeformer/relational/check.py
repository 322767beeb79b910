"""Validates the file of a database when it is read: tables, links and models must be consistent."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..artifact.limits import MAX_COLUMNS, MEMBERS, check_schema
from ..data.schema.dtypes import dtype_of
from ..errors import ArchiveError
from . import rows
from .followed import MAX_DECIMALS
from .kept import MAX_KEPT
from .learned import LearnedTable
from .totals import MIN_VALUES

MAX_TABLES = 1_000
MAX_ROWS = 10**12
HEAD = "database.json"
HEAD_BYTES = 64 * 2**20


def member_size(name: str) -> int | None:
    """Maximum size of a member; None if a database file has no such member."""
    if name == HEAD:
        return HEAD_BYTES
    number, _, own = name.partition("_")
    return MEMBERS.get(own) if number[:1] == "t" and number[1:].isdigit() and len(number) < 6 else None


def check_database(learned: Mapping[str, LearnedTable]) -> None:
    """Refuse tables that are inconsistent."""
    _must(0 < len(learned) <= MAX_TABLES, "the number of tables")
    known: dict[str, LearnedTable] = {}
    for name, table in learned.items():
        known[name] = table
        _check_table(name, table, known)


def _check_table(name: str, table: LearnedTable, known: Mapping[str, LearnedTable]) -> None:
    plan = table.plan
    _must(isinstance(name, str) and plan.name == name, "the name of a table")
    names = set(plan.columns)
    _must(len(names) == len(plan.columns) <= MAX_COLUMNS, f"the columns of {name!r}")
    _must(all(type(column) in (str, int) for column in plan.columns), f"the columns of {name!r}")
    _must({*plan.own, *plan.keys, *plan.summed} <= names and not {*plan.own} & {*plan.keys}, f"the columns of {name!r}")
    _must(0 <= table.n_orphans <= table.n_rows <= MAX_ROWS and table.n_rows > 0, f"the rows of {name!r}")
    _must(all(key and {*key} <= names for key in plan.joint_keys), f"the keys of {name!r}")
    for link in plan.links():
        parent = known.get(link.parent)
        _must(parent is not None and link.child == name, f"a parent of {name!r}")
        assert parent is not None
        _must(len(link.columns) == len(link.key) > 0 and {*link.columns} <= names, f"a link of {name!r}")
        _must({*link.key} <= {*parent.plan.columns}, f"a link of {name!r}")
        if link == plan.main:
            times = {n for since in table.since for n in (since.source, *(limit for limit, _ in since.limits))}
            _must(times <= {*parent.plan.columns}, f"the times of {name!r}")
        sources = {copied.source for copied in table.copied if copied.link == link}
        _must(sources <= {*parent.plan.own}, f"what {name!r} repeats of a parent")
        _must((link == plan.loop) == (link.parent == name), f"a link of {name!r}")
    pointing = {column for link in plan.links() for column in link.columns}
    _must(names == {*plan.own, *plan.keys} | pointing, f"the columns of {name!r}")
    _must(plan.order is None or (plan.order in plan.own and table.last_text is not None), f"the order of {name!r}")
    dtypes = {str(column) for column in (*pointing, *(() if plan.order is None else (plan.order,)))}
    _must(dtypes <= {*table.dtypes} and all(isinstance(text, str) for text in table.dtypes.values()), "a dtype")
    for text in table.dtypes.values():
        dtype_of(text)
    _check_totals(table)
    if table.keys is not None:
        check_schema(table.keys.schema)
    if table.kept is not None:
        _check_kept(table)
        return
    _must((() if table.keys is None else tuple(table.keys.schema.names)) == plan.keys, f"the keys of {name!r}")
    _check_model(table, known)


def _check_totals(table: LearnedTable) -> None:
    """Check that totals refer to columns of this table and to children linked by one of its keys."""
    for total in table.totals:
        what = f"a total of {table.plan.name!r}"
        _must(total.column in table.columns and total.link.parent == table.plan.name, what)
        _must({*total.link.key} <= {*table.columns} and total.how in MIN_VALUES, what)
        _must(0 <= total.decimals <= MAX_DECIMALS and len(total.parts) <= 2, what)
    for since in table.since:
        _must(since.column in table.plan.own and since.unit > 0 and table.plan.main is not None, "a time since another")
        dtype_of(since.dtype)
    for balance in table.balances:
        what = f"a running total of {table.plan.name!r}"
        _must(
            {balance.column, balance.part} - {None} <= {*table.columns} and 0 <= balance.decimals <= MAX_DECIMALS, what
        )
        _must(table.plan.main is not None, what)
    for copied in table.copied:
        what = f"what {table.plan.name!r} repeats of a parent"
        _must(copied.column in table.columns and copied.link in table.plan.links(), what)


def _check_kept(table: LearnedTable) -> None:
    """Check that a kept table has all columns, unique keys, and the number of children of each row."""
    plan, kept = table.plan, table.kept
    assert kept is not None
    what = f"the rows of {plan.name!r}"
    _must(tuple(kept.table.columns) == plan.columns and plan.main is None and table.model is None, what)
    _must(len(kept.table) == len(kept.facts) == table.n_rows <= MAX_KEPT, what)
    _must(not plan.keys or not kept.table[list(plan.keys)].duplicated().any(), f"the keys of {plan.name!r}")
    _must({*table.margins} <= {*table.facts} == {*kept.facts.columns}, what)
    for column in table.margins:
        numbers = kept.facts[column].to_numpy(dtype=float)
        _must(
            bool((numbers >= 0).all() and numbers.sum() <= MAX_ROWS), f"how many rows belong to those of {plan.name!r}"
        )


def _check_model(table: LearnedTable, known: Mapping[str, LearnedTable]) -> None:
    """Check that the model of a table matches the columns of its plan, and that its parent counts its rows."""
    plan, model = table.plan, table.model
    have = set() if model is None else set(model._check_fitted().schema.names)
    known_columns = have | set(table.given)
    _must(model is None or set(table.given) <= have, f"what is known of {plan.name!r}")
    _must(model is None or {str(column) for column in plan.own if column != plan.order} <= known_columns,
          f"what is learned of {plan.name!r}")  # fmt: skip
    _must(model is not None or not plan.own, f"what is learned of {plan.name!r}")
    if plan.main is not None:
        parent = known[plan.main.parent]
        _must(rows.n_children(plan.main) in parent.margins, f"the number of rows of {plan.name!r}")
        for margin in parent.margins.values():
            _must(all(level <= MAX_ROWS for level, _ in margin), f"the number of rows of {plan.name!r}")
    for column, margin in table.margins.items():
        _must(column in have and len(margin) > 0, f"how many rows belong to those of {plan.name!r}")
        for level, share in margin:
            _must(math.isfinite(level) and level >= 0 and 0 <= share <= 1, f"the margins of {plan.name!r}")


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise ArchiveError(f"{what} does not match the rest of the file")
