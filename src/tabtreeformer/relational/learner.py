"""Fits a database, from top to bottom: extended rows, their units, one model per table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from .._runtime.progress import Progress
from .._runtime.seeds import child
from ..config.presets import TREES, configure, writes_trees
from ..data.links import Name, Tables
from ..data.schema import MEASURED, Schema
from ..fitting.request import Request
from ..privacy.gate import no_verdict
from ..synthesizer import TabTreeFormer
from . import rows
from .beside import Balance, find_balances
from .bounds import Bound, find_bounds
from .copied import Copied, find_copied
from .kept import check_kept, keep_table
from .learned import LearnedTable, last_supported, learn_keys, pointing_dtypes
from .learning import Extended, Extender, extended_schema
from .margins import learn_margin
from .plan import TablePlan
from .rows import Ints
from .source import Database
from .totals import Total, find_totals
from .units import MIN_UNITS, Units, cap_of, within_cap
from .weights import learn_weights

NETWORK_SECTIONS = ("tree", "model", "train", "sampling")


class OneTable(TabTreeFormer):
    """The model of one table of a database. It counts units, and leaves the verdict to the database."""

    units_: Ints | None = None

    def _request_of_fit(self) -> Request:
        return replace(super()._request_of_fit(), units=self.units_)

    def _verdict(self, *_: Any) -> Any:
        return no_verdict("the verdict covers the whole database", "off")


@dataclass(frozen=True, kw_only=True)
class Learner:
    """Fits the tables of a database with given settings."""

    preset: str
    settings: Mapping[str, Any]
    verbose: bool
    progress: Progress
    keep: tuple[str, ...] = ()
    """Tables that are kept unchanged."""
    across: bool = True
    """Whether to search for laws across tables."""

    @property
    def table_preset(self) -> str:
        """The preset of every table; `trees` if privacy is off."""
        privacy = self.settings.get("privacy", "balanced")
        changed = [name for name in NETWORK_SECTIONS if self.settings.get(name) is not None]
        return TREES if writes_trees(self.preset, privacy, changed) else self.preset

    def learn(
        self, given: Database, unit: str | None, seed: np.random.SeedSequence
    ) -> tuple[dict[str, LearnedTable], Units]:
        """Fit all tables, parents first, and return them with the units of their rows."""
        columns = {name: tuple(frame.columns) for name, frame in given.tables.items()}
        source, laws, counted = given.described().expressed(self._constraints, self._floor(2), child(seed, 0))
        for name, found in laws.items():
            for text in found.announced():
                self.progress.note(f"table {name}: {text}")
        for name, times in counted.items():
            for time in times:
                self.progress.note(f"table {name}: {time.text}")
        extender = Extender(source.tables, source.plans())
        tables, schemas = source.tables, source.schemas
        check_kept(self.keep, extender.plans, {name: len(frame) for name, frame in tables.items()}, unit)
        units = Units.of(tables, extender.plans, extender.parents, unit, self.keep)
        for line in units.described() if self._floor(2) > 1 else ():
            self.progress.note(line)
        numbers = child(seed, 1).spawn(len(tables))
        seeds = {name: int(own.generate_state(1)[0]) for name, own in zip(tables, numbers, strict=True)}
        extended = {name: extender.extended(name) for name in extender.plans}
        budgets = self._budgets(extended)
        learned = {}
        for name, plan in extender.plans.items():
            if name in self.keep:
                learned[name] = self._as_it_is(extender, plan, extended[name], units)
                continue
            self.progress.note(f"table {name}: {extended[name].described(plan)}")
            self._hint(plan, extended[name])
            own, groups = units.numbers[name], extended[name].groups
            own = own if groups is None else own[groups.order]
            part, own = self._capped(name, extended[name], own)
            model = self._one(plan, part, schemas, own, seeds[name], budgets[name])
            kept = self._kept(tables, schemas, plan, extended[name], model)
            bounds = self._bounds(extender, plan, np.random.default_rng(child(seed, 2)), learned)
            totals, copied = self._across(given, extender, plan, np.random.default_rng(child(seed, 3)))
            kept = replace(kept, columns=columns[name], laws=laws.get(name), bounds=bounds)
            balances = self._balances(given, extender, plan)
            since = counted.get(name, ())
            learned[name] = replace(kept, totals=totals, copied=copied, balances=balances, since=since)
        return learned, units

    @property
    def _constraints(self) -> Any:
        return self.settings.get("constraints", "auto")

    def _bounds(
        self, extender: Extender, plan: TablePlan, rng: np.random.Generator, learned: Mapping[str, LearnedTable]
    ) -> tuple[Bound, ...]:
        """Limits that parents set for the rows of a table; what is computed from the rows is no limit."""
        if plan.main is None or self._constraints != "auto":
            return ()
        own = extender.tables[plan.name][list(plan.own)].reset_index(drop=True)
        parents = extender.parents[plan.main.text]
        names = [rows.carried(*pair) for pair in plan.context]
        carried = rows.take_rows(extender.carried[plan.main.parent][names], parents)
        totals = {rows.carried(name, total.column) for name, table in learned.items() for total in table.totals}
        carried = carried[[name for name in names if name not in totals]]
        found = find_bounds(own, None if plan.order is None else str(plan.order), carried, parents, rng)
        for bound in found:
            self.progress.note(f"table {plan.name}: every row keeps {bound.text}")
        return tuple(found)

    def _across(
        self, given: Database, extender: Extender, plan: TablePlan, rng: np.random.Generator
    ) -> tuple[tuple[Total, ...], tuple[Copied, ...]]:
        """Columns of a table that are computed from its children or copied from its parents."""
        if not self.across or self._constraints != "auto":
            return (), ()
        own = {name: _no_keys(given.tables[name], other) for name, other in extender.plans.items()}
        totals: dict[Name, Total] = {}
        copied: dict[Name, Copied] = {}
        for link in (link for link in given.links if not link.to_itself):
            child_rows, parent_rows = given.tables[link.child], given.tables[link.parent]
            parents = extender.parents[link.text]
            if link.parent == plan.name:
                names = own[link.parent], own[link.child]
                for total in find_totals(parent_rows, child_rows, parents, link, names):
                    totals.setdefault(total.column, total)
            elif link.child == plan.name:
                mine = [name for name in own[plan.name] if name != plan.order]
                theirs = [name for name in own[link.parent] if name in extender.plans[link.parent].own]
                for copy in find_copied(child_rows, parent_rows, parents, link, (mine, theirs), rng):
                    copied.setdefault(copy.column, copy)
        for text in [found.text for found in totals.values()] + [found.text for found in copied.values()]:
            self.progress.note(f"every row keeps {text}")
        return tuple(totals.values()), tuple(copied.values())

    def _balances(self, given: Database, extender: Extender, plan: TablePlan) -> tuple[Balance, ...]:
        """Columns that add up another over the rows of a parent."""
        if plan.main is None or self._constraints != "auto":
            return ()
        rows_of = given.tables[plan.name]
        own = [name for name in _no_keys(rows_of, plan) if name != plan.order]
        order = None if plan.order is None else rows_of[plan.order]
        found = find_balances(rows_of, own, extender.parents[plan.main.text], order)
        for balance in found:
            self.progress.note(f"table {plan.name}: every row keeps {balance.text}")
        return tuple(found)

    def _as_it_is(self, extender: Extender, plan: TablePlan, extended: Extended, units: Units) -> LearnedTable:
        """A table that is kept unchanged, with the facts about its rows' children."""
        table = extender.tables[plan.name]
        self.progress.note(f"table {plan.name}: its {len(table):,} rows are kept unchanged")
        supports: dict[str, Ints] = {}
        for link, names in extender.facts_by_link(plan.name).items():
            pairs = pd.DataFrame({"parent": extender.parents[link.text], "unit": units.numbers[link.child]})
            pairs = pairs[pairs["parent"] >= 0].drop_duplicates()
            supports |= dict.fromkeys(names, np.bincount(pairs["parent"], minlength=len(table)))
        floor = self._floor(len(table))
        return LearnedTable(
            plan=plan,
            model=None,
            given=(),
            keys=None,
            dtypes=pointing_dtypes(table, plan),
            n_rows=len(table),
            n_orphans=0,
            columns=tuple(table.columns),
            facts=extended.facts,
            margins={column: learn_margin(extended.frame[column], floor) for column in extended.counts},
            kept=keep_table(table, extended.frame[list(extended.facts)], supports, floor),
        )

    def _hint(self, plan: TablePlan, extended: Extended) -> None:
        """Note what protection costs a small parent table, and how to avoid it."""
        if len(extended.frame) == 1:
            self.progress.note(
                f"table {plan.name}: its only row is constant, and is written unchanged, except for keys"
            )
            return
        if plan.main is None and extended.counts and len(extended.frame) < MIN_UNITS and self._floor(2) > 1:
            self.progress.note(
                f"table {plan.name}: values of fewer than {self._floor(2)} of its rows are not written; if its rows "
                f"are public and not about people, keep them unchanged with keep=[{plan.name!r}]"
            )

    def _kept(
        self,
        tables: Tables,
        schemas: Mapping[str, Schema],
        plan: TablePlan,
        extended: Extended,
        model: TabTreeFormer | None,
    ) -> LearnedTable:
        """What is stored for a table in addition to its model."""
        table = tables[plan.name]
        tokens = configure(self.preset, self._token_settings(), max(len(table), 2), None, 2).tokens
        floor = tokens.rare_floor
        return LearnedTable(
            plan=plan,
            model=model,
            given=extended.given,
            keys=learn_keys(table, schemas[plan.name], plan, tokens),
            dtypes=pointing_dtypes(table, plan),
            n_rows=len(table),
            n_orphans=extended.n_orphans,
            last_text=None if plan.order is None else last_supported(table[plan.order], floor),
            margins={column: learn_margin(extended.frame[column], floor) for column in extended.counts},
            facts=extended.facts,
            weights=tuple(learn_weights(extended.frame, _weighed(plan, schemas[plan.name]), extended.counts, floor)),
        )

    def _capped(self, name: str, extended: Extended, units: Ints) -> tuple[Extended, Ints]:
        """Row numbers, without the excess rows of large units."""
        kept = within_cap(units)
        if self._floor(len(units)) < 2 or len(kept) == len(units):
            return extended, units
        self.progress.note(
            f"table {name}: {len(units) - len(kept):,} rows are dropped, because at most {cap_of(len(units)):,} are "
            "learned per unit"
        )
        frame = extended.frame.take(kept).reset_index(drop=True)
        return replace(extended, frame=frame), units[kept]

    def _one(
        self,
        plan: TablePlan,
        extended: Extended,
        schemas: Mapping[str, Schema],
        units: Ints,
        seed: int,
        budget: float | None,
    ) -> TabTreeFormer | None:
        drawn = [name for name in extended.frame.columns if name not in extended.given]
        if not drawn or not len(extended.frame):
            return None
        settings = {**self.settings, "budget_seconds": budget}
        if plan.main is not None:
            settings["constraints"] = None  # laws of a table with parents are stored outside its model
            # No prompts: weighting them for every partial row would take 20 times as long as everything else.
            if self.table_preset != TREES:
                settings.setdefault("tree", "none")
        model = OneTable(self.table_preset, drawn[0], random_state=seed, verbose=self.verbose, **settings)
        counted = len(np.unique(units))
        model.units_ = units if 1 < counted < len(units) else None
        schema = extended_schema(extended, schemas, plan)
        return model.fit(rows.twice_if_alone(extended.frame), schema=schema)

    def _floor(self, n_rows: int) -> int:
        return int(configure(self.preset, self._token_settings(), max(n_rows, 2), None, 2).tokens.rare_floor)

    def _token_settings(self) -> dict[str, Any]:
        return {"tokens": self.settings["tokens"]} if self.settings.get("tokens") else {}

    def _budgets(self, extended: Mapping[str, Extended]) -> dict[str, float | None]:
        total = self.settings.get("budget_seconds")
        sizes = {name: max(part.frame.size, 1) for name, part in extended.items()}
        return {name: None if total is None else total * size / sum(sizes.values()) for name, size in sizes.items()}


def _no_keys(frame: pd.DataFrame, plan: TablePlan) -> list[Name]:
    """Columns that are not keys."""
    keys = {column for link in plan.links() for column in link.columns} | {*plan.keys}
    return [column for column in frame.columns if column not in keys]


def _weighed(plan: TablePlan, schema: Schema) -> dict[str, bool]:
    """Own columns under their learned names, and whether each is a quantity (otherwise it holds labels)."""
    return {str(name): schema.column(name).kind in MEASURED for name in plan.own if name != plan.order}
