"""New tables, parents first: rows, further parents, keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from .._runtime.seeds import child
from ..errors import ConfigError, SchemaError
from . import rows
from .bounds import within
from .kept import Kept
from .learned import LearnedTable, completed, free_rows
from .margins import with_margin
from .plan import TablePlan
from .requests import Asked
from .rows import Ints
from .weights import exchanged
from .writing import Written, choose_in_loop, choose_parents, foreign_key, write_children


@dataclass
class Drawing:
    """One call of `sample`, with the tables that have been written so far."""

    learned: Mapping[str, LearnedTable]
    asked: Asked
    seed: np.random.SeedSequence
    written: dict[str, Written] = field(default_factory=dict)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    def draw(self) -> dict[str, pd.DataFrame]:
        """All tables, parents first."""
        for number, (name, table) in enumerate(self.learned.items()):
            seed = child(self.seed, number)
            own = self._write(table, seed)
            rng = np.random.default_rng(child(seed, 5))
            fixed = self.asked.fixed_counts(name)
            for column, margin in table.margins.items():
                if table.kept is None:
                    own.frame[column] = with_margin(own.frame[column], margin, rng)
                if column in fixed:
                    own.frame[column] = _as_given(fixed[column], len(own.frame), name)
            if table.weights and not fixed:
                own.frame = exchanged(own.frame, table.weights, table.facts, rng)
            self.written[name] = own
            self.tables[name] = self._finished(table, own, seed)
        return {
            name: self._restored(table, self.tables[name], child(self.seed, number, 6))
            for number, (name, table) in enumerate(self.learned.items())
        }

    def _restored(self, table: LearnedTable, frame: pd.DataFrame, seed: np.random.SeedSequence) -> pd.DataFrame:
        """The table with the columns that a law computes."""
        if table.laws is None or table.plan.name in self.asked.parents or table.kept is not None:
            return frame[list(table.columns)]
        learned = list(table.laws.expressed_schema.names)
        rest = frame.drop(columns=learned)
        if len(frame):
            whole = table.laws.restore(frame[learned].reset_index(drop=True), np.random.default_rng(seed))
        else:
            whole = pd.DataFrame({c: pd.Series(dtype=table.dtype_of(c)) for c in table.laws.schema.names})
        return pd.concat([rest.reset_index(drop=True), whole], axis=1)[list(table.columns)]

    def _write(self, table: LearnedTable, seed: np.random.SeedSequence) -> Written:
        """Extended rows of one table."""
        plan, model = table.plan, table.model
        conditions = self.asked.conditions.get(plan.name, {})

        def complete(partial: pd.DataFrame, number: int) -> pd.DataFrame:
            if model is None:
                return partial
            return completed(model, partial[list(table.given) + list(conditions)], table.given, child(seed, 1, number))

        if plan.main is not None:
            parent = self.written[plan.main.parent]
            counts = parent.frame[rows.n_children(plan.main)].fillna(0).clip(lower=0)
            n_orphans = round(table.orphan_share * counts.sum())
            return write_children(plan, parent, n_orphans, complete, conditions, (table.last, table.bounds))
        if table.kept is not None:
            rng = np.random.default_rng(child(seed, 2))
            frame = self._kept_rows(table.kept, plan).extended(plan, tuple(table.margins), self.asked.scale, rng)
        elif plan.name in self.asked.parents:
            frame = self._given_parents(table, seed)
        elif model is None:
            frame = pd.DataFrame(index=range(self.asked.sizes[plan.name]))
        else:
            frame = free_rows(model, self.asked.sizes[plan.name], conditions, child(seed, 2))
        frame = frame.reset_index(drop=True)
        carried = frame[[str(name) for name in plan.own]]
        carried.columns = pd.Index([rows.carried(plan.name, name) for name in plan.own])
        return Written(frame, carried, {})

    def _kept_rows(self, kept: Kept, plan: TablePlan) -> Kept:
        """The rows of a table that is kept as it is; or those of them that were given."""
        return kept.rows(self.asked.parents.get(plan.name), plan)

    def _given_parents(self, table: LearnedTable, seed: np.random.SeedSequence) -> pd.DataFrame:
        """Extended rows of parents that were given; only the facts about their children are drawn."""
        plan, real = table.plan, self.asked.parents[table.plan.name]
        missing = [name for name in (*plan.own, *plan.keys) if name not in real.columns]
        if missing:
            raise SchemaError(f"given rows of {plan.name!r} lack the column {missing[0]!r}")
        own = real[list(plan.own)].reset_index(drop=True).set_axis([str(n) for n in plan.own], axis=1)
        if table.model is None:
            return own
        if not own.shape[1]:
            return free_rows(table.model, len(real), {}, child(seed, 2))
        drawn = completed(table.model, own, tuple(own.columns), child(seed, 2))
        return drawn.assign(**{name: own[name] for name in own.columns})

    def _finished(self, table: LearnedTable, rows_of: Written, seed: np.random.SeedSequence) -> pd.DataFrame:
        """The table itself: further parents chosen, keys written, columns in their order."""
        plan, rng = table.plan, np.random.default_rng(child(seed, 3))
        if table.kept is not None:
            return self._kept_rows(table.kept, plan).table[list(plan.columns)]
        if plan.name in self.asked.parents:
            return self.asked.parents[plan.name][list(plan.columns)].reset_index(drop=True)
        own = rows_of.own(plan)
        if plan.order is not None and len(own):
            own[plan.order] = within(own[plan.order], str(plan.order), table.bounds, rows_of.carried)
            own[plan.order] = own[plan.order].astype(table.dtype_of(plan.order))
        for link in plan.others:
            parent = self.written[link.parent]
            if not len(self.tables[link.parent]) and rows.has_parent(link) not in rows_of.frame:
                rows_of, own = rows_of.first(0), own.iloc[:0]  # rows need a parent, and there is none
                self.written[plan.name] = rows_of
            chosen = choose_parents(plan, rows_of, link, parent, self.tables[link.parent], rng)
            rows_of.parents[link.text] = chosen
        if plan.loop is not None:
            rows_of.parents[plan.loop.text] = choose_in_loop(plan, rows_of, plan.loop, own, rng)
        so_far = pd.concat([own, table.write_keys(len(own), number_of(child(seed, 4)))], axis=1)
        for link in plan.links():
            source = so_far if link.to_itself else self.tables[link.parent]
            dtypes = {column: table.dtype_of(column) for column in link.columns}
            keys = foreign_key(source, link, rows_of.parents[link.text], dtypes)
            so_far = pd.concat([so_far, keys[[c for c in keys.columns if c not in so_far.columns]]], axis=1)
        return so_far[list(plan.columns)]


def _as_given(numbers: Ints, n: int, name: str) -> Ints:
    if len(numbers) not in (1, n):
        raise ConfigError(f"{len(numbers):,} numbers of children were given for {n:,} rows of {name!r}")
    return np.broadcast_to(numbers, n).astype(np.int64)


def number_of(seed: np.random.SeedSequence) -> int:
    """A seed as one number."""
    return int(seed.generate_state(1)[0])
