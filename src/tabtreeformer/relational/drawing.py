"""Draws new tables, parents first: rows, further parents, keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from .._runtime.seeds import child
from ..data.links import Name, parent_numbers
from ..errors import ConfigError, SchemaError
from ..laws import Laws
from . import rows
from .bounds import within
from .copied import copied_values
from .followed import like, with_values
from .kept import Kept, scaled
from .learned import LearnedTable, completed, free_rows
from .lent import with_lent
from .margins import with_margin
from .plain import in_own_form
from .plan import TablePlan
from .requests import Asked
from .rows import Ints
from .totals import Tally, Total, quantity, with_totals
from .unrepeated import with_numbers, without_repeats
from .weights import exchanged
from .writing import Written, children_of, choose_in_loop, choose_parents, foreign_key, write_children

PIECE_ROWS = 200_000
"""Rows per piece of a table without children. Changing this number changes the rows of larger tables."""


@dataclass
class Drawing:
    """One call of `sample`, with the tables written so far."""

    learned: Mapping[str, LearnedTable]
    asked: Asked
    seed: np.random.SeedSequence
    written: dict[str, Written] = field(default_factory=dict)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    tallies: dict[tuple[str, Name], Tally] = field(default_factory=dict)
    """Aggregates of children, by table and column."""

    def draw(self) -> dict[str, pd.DataFrame]:
        """All tables, parents first."""
        found: dict[str, list[pd.DataFrame]] = {}
        for name, piece in self.pieces():
            found.setdefault(name, []).append(piece)
        return {name: joined(found[name]) for name in self.learned}

    def pieces(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """All tables, parents first, except that tables with totals of their children come last.

        Tables without children come in pieces, one of which is in memory at a time.
        """
        waiting: dict[str, pd.DataFrame] = {}
        for name, piece in self._drawn():
            if self._totals_of(name):
                waiting[name] = piece
                continue
            self._add_up(name, piece)
            yield name, in_own_form(piece, self.learned[name].forms)
        for name in reversed(list(waiting)):  # totals can be totals of totals
            whole = self._with_totals(self.learned[name], waiting[name])
            self._add_up(name, whole)
            yield name, in_own_form(whole, self.learned[name].forms)

    def _totals_of(self, name: str) -> list[Total]:
        """Totals to compute: none for given rows, or if a condition is on a column that they change."""
        table, asked = self.learned[name], {*self.asked.conditions.get(name, {})}
        tied = {str(total.column) for total in table.totals}
        laws = _laws_of(table) if tied and asked else None
        tied |= {str(c) for law in (() if laws is None else laws.laws) for c in (*law.reads, *law.writes)}
        return [] if name in self.asked.parents or asked & tied else list(table.totals)

    def _add_up(self, name: str, piece: pd.DataFrame) -> None:
        """Add rows of a table to the totals of their parents."""
        for parent in dict.fromkeys(link.parent for link in self.learned[name].plan.links()):
            for total in self._totals_of(parent):
                if total.link.child == name:
                    rows_of = self.tables[parent]
                    tally = self.tallies.setdefault((parent, total.column), Tally.empty(len(rows_of)))
                    tally.add(parent_numbers(piece, rows_of, total.link), quantity(piece, total.parts))

    def _with_totals(self, table: LearnedTable, frame: pd.DataFrame) -> pd.DataFrame:
        """A table with the columns computed from its children."""
        name, inside = table.plan.name, table.plan.main is None and table.model is not None
        laws = _laws_of(table)
        changed = self.written[name].frame if inside else with_lent(frame, laws, table.plan.main, self.tables)
        found = []
        for total in self._totals_of(name):
            tally = self.tallies.get((name, total.column), Tally.empty(len(frame)))
            found.append((replace(total, column=str(total.column)) if inside else total, tally))
        changed = with_totals(changed, found, laws, number_of(child(self.seed, len(self.learned))))
        if not inside:
            return changed[list(table.columns)]
        own_columns = {column: changed[str(column)].to_numpy() for column in table.plan.own}
        result = frame.copy()
        for column, values in own_columns.items():
            result[column] = pd.Series(values, index=frame.index).astype(frame[column].dtype)
        return result

    def _drawn(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """All tables, parents first, before totals."""
        pointed = {link.parent for table in self.learned.values() for link in table.plan.links()}
        for number, (name, table) in enumerate(self.learned.items()):
            seed = child(self.seed, number)
            if table.plan.main is not None and name not in pointed:
                yield from ((name, piece) for piece in self._pieces_of(table, seed))
                continue
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
            yield name, self._restored(table, self.tables[name], child(seed, 6))

    def _pieces_of(self, table: LearnedTable, seed: np.random.SeedSequence) -> Iterator[pd.DataFrame]:
        """The rows of a table in pieces, each for some of the parents; the pieces are always the same."""
        plan = table.plan
        assert plan.main is not None
        parent = self.written[plan.main.parent]
        counts = children_of(parent.frame, plan.main)
        ends = piece_ends(counts)
        places = {link.text: children_of(self.written[link.parent].frame, link) for link in plan.others}
        n_orphans = self._n_orphans(table)
        first, done, rows_left = 0, 0, int(counts.sum()) + n_orphans
        for number, end in enumerate(ends):
            own_seed = seed if number == 0 else child(seed, 7, number)
            last = end == len(counts)
            own = self._write(table, own_seed, parent.part(first, end), n_orphans if last else 0)
            above = own.parents[plan.main.text]
            above[above >= 0] += first
            wanted = {}
            for text, left in places.items():
                share = 1.0 if last else len(own.frame) / rows_left
                wanted[text] = scaled(pd.Series(left), share, np.random.default_rng(child(own_seed, 9))).to_numpy()
            piece = self._finished(table, own, own_seed, wanted, (done, number_of(child(seed, 4))))
            for text, left in places.items():
                chosen = own.parents.get(text, np.zeros(0, dtype=np.int64))
                places[text] = np.maximum(left - np.bincount(chosen[chosen >= 0], minlength=len(left)), 0)
            yield self._restored(table, piece, child(own_seed, 6))
            first, done, rows_left = end, done + len(piece), rows_left - len(own.frame)

    def _restored(self, table: LearnedTable, frame: pd.DataFrame, seed: np.random.SeedSequence) -> pd.DataFrame:
        """The table with the columns computed by laws and those copied from its parents."""
        if table.plan.name in self.asked.parents or table.kept is not None:
            return frame[list(table.columns)]
        main = table.plan.main
        if main is not None and table.since:
            parents = parent_numbers(frame, self.tables[main.parent], main)
            times = {s.column: s.times(frame[s.column], self.tables[main.parent], parents) for s in table.since}
            frame = with_values(frame, times, None, 0)
        whole = frame = with_lent(frame, table.laws, main, self.tables)
        if table.laws is not None:
            learned = list(table.laws.expressed_schema.names)
            rest = frame.drop(columns=learned)
            if len(frame):
                own = table.laws.restore(frame[learned].reset_index(drop=True), np.random.default_rng(seed))
            else:
                own = table.laws.schema.restore({c: np.zeros(0) for c in table.laws.schema.names})
            whole = pd.concat([rest.reset_index(drop=True), own], axis=1)
        if not len(whole) or main is None:
            return whole[list(table.columns)]
        whole = with_values(whole, self._repeated(table, whole), table.laws, number_of(seed))
        parents = parent_numbers(whole, self.tables[main.parent], main) if table.balances else np.zeros(0, np.int64)
        totals = {b.column: like(b.added_up(whole, parents), whole[b.column]) for b in table.balances}
        return with_values(whole, totals, table.laws, number_of(seed))[list(table.columns)]

    def _repeated(self, table: LearnedTable, frame: pd.DataFrame) -> dict[Name, pd.Series]:
        """Columns copied from parents, unless a condition overrides them."""
        asked = self.asked.conditions.get(table.plan.name, {})
        found: dict[Name, pd.Series] = {}
        for copied in table.copied:
            if str(copied.column) not in asked:
                above = self.tables[copied.link.parent]
                numbers = parent_numbers(frame, above, copied.link)
                values = copied_values(copied, frame, numbers, above[copied.source])
                found |= {} if values is None else {copied.column: values}
        return found

    def _write(
        self, table: LearnedTable, seed: np.random.SeedSequence, parent: Written | None = None, n_orphans: int = 0
    ) -> Written:
        """Extended rows of one table; for a table with parents, the rows of some parents and some rows without a
        parent.
        """
        plan, model = table.plan, table.model
        conditions = self.asked.conditions.get(plan.name, {})

        def complete(partial: pd.DataFrame, number: int) -> pd.DataFrame:
            if model is None:
                return partial
            return completed(model, partial[list(table.given)], table.given, child(seed, 1, number), conditions)

        if plan.main is not None:
            if parent is None:
                parent = self.written[plan.main.parent]
                n_orphans = self._n_orphans(table)
            return write_children(plan, parent, n_orphans, complete, (table.last, table.bounds))
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

    def _n_orphans(self, table: LearnedTable) -> int:
        """Number of rows without a parent, in the learned ratio to the rows of the parent table."""
        assert table.plan.main is not None
        name = table.plan.main.parent
        kept = self.learned[name].kept is not None
        scale = self.asked.scale if kept else len(self.written[name].frame) / self.learned[name].n_rows
        return round(table.n_orphans * scale)

    def _kept_rows(self, kept: Kept, plan: TablePlan) -> Kept:
        """The rows of a kept table, or the given ones among them."""
        return kept.rows(self.asked.parents.get(plan.name), plan)

    def _given_parents(self, table: LearnedTable, seed: np.random.SeedSequence) -> pd.DataFrame:
        """Extended rows of given parents; only the facts about their children are drawn."""
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

    def _finished(
        self,
        table: LearnedTable,
        rows_of: Written,
        seed: np.random.SeedSequence,
        wanted: Mapping[str, Ints] | None = None,
        keys_from: tuple[int, int] | None = None,
    ) -> pd.DataFrame:
        """The finished table: further parents chosen, keys written, columns in their order.

        For a piece, the caller gives how often each further parent is used, by link, and the first key with its seed.
        """
        plan, rng = table.plan, np.random.default_rng(child(seed, 3))
        if table.kept is not None:
            return self._kept_rows(table.kept, plan).table[list(plan.columns)]
        if plan.name in self.asked.parents:
            return self.asked.parents[plan.name][list(plan.columns)].reset_index(drop=True)
        own = rows_of.own(plan)
        if plan.order is not None:
            if len(own):
                own[plan.order] = within(own[plan.order], str(plan.order), table.bounds, rows_of.carried)
            own[plan.order] = own[plan.order].astype(table.dtype_of(plan.order))
        for link in plan.others:
            parent = self.written[link.parent]
            if not len(self.tables[link.parent]) and rows.has_parent(link) not in rows_of.frame:
                rows_of, own = rows_of.first(0), own.iloc[:0]  # rows need a parent, but there is none
                self.written[plan.name] = rows_of
            places = children_of(parent.frame, link) if wanted is None else wanted[link.text]
            chosen = choose_parents(plan, rows_of, link, (parent, self.tables[link.parent], places), rng)
            rows_of.parents[link.text] = chosen
        if plan.loop is not None:
            rows_of.parents[plan.loop.text] = choose_in_loop(plan, rows_of, plan.loop, own, rng)
        start, key_seed = (0, number_of(child(seed, 4))) if keys_from is None else keys_from
        so_far = pd.concat([own, table.write_keys(len(own), key_seed, start)], axis=1)
        for link in plan.links():
            source = so_far if link.to_itself else self.tables[link.parent]
            dtypes = {column: table.dtype_of(column) for column in link.columns}
            keys = foreign_key(source, link, rows_of.parents[link.text], dtypes)
            so_far = pd.concat([so_far, keys[[c for c in keys.columns if c not in so_far.columns]]], axis=1)
        for key in plan.joint_keys:
            so_far = self._unrepeated(so_far[list(plan.columns)], key, plan)
        return so_far[list(plan.columns)]

    def _unrepeated(self, frame: pd.DataFrame, key: tuple[Name, ...], plan: TablePlan) -> pd.DataFrame:
        """The table with unique keys of several columns: numbers are increased, texts get a number appended."""
        pointing = {column for link in plan.links() for column in link.columns}
        own = [column for column in key if column not in pointing]
        counted = [c for c in own if pd.api.types.is_integer_dtype(frame[c].dtype)]
        texts = [c for c in own if pd.api.types.is_string_dtype(frame[c].dtype)]
        if counted or texts:
            chosen = (counted or texts)[-1]
            groups = frame[[column for column in key if column != chosen]]
            change = without_repeats if counted else with_numbers
            changed = frame.copy()
            changed[chosen] = change(frame[chosen], groups)
            return changed
        kept = np.flatnonzero(~frame[list(key)].duplicated().to_numpy())
        self.written[plan.name] = self.written[plan.name].take(kept)
        return frame.take(kept).reset_index(drop=True)


def _laws_of(table: LearnedTable) -> Laws | None:
    """Laws between the columns of a table; for a table without parents they are in its model."""
    return table.laws if table.plan.main is not None or table.model is None else table.model._check_fitted().codec.laws


def piece_ends(counts: Ints) -> list[int]:
    """Ends of the pieces of parents, each with about `PIECE_ROWS` children; the last piece has the rest."""
    if not len(counts):
        return [0]
    before = np.cumsum(counts) - counts
    ends = np.flatnonzero(np.diff(before // PIECE_ROWS) > 0) + 1
    return [*ends.tolist(), len(counts)]


def joined(pieces: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Pieces as one table."""
    return pieces[0] if len(pieces) == 1 else pd.concat(pieces, ignore_index=True)


def _as_given(numbers: Ints, n: int, name: str) -> Ints:
    if len(numbers) not in (1, n):
        raise ConfigError(f"{len(numbers):,} numbers of children were given for {n:,} rows of {name!r}")
    return np.broadcast_to(numbers, n).astype(np.int64)


def number_of(seed: np.random.SeedSequence) -> int:
    """A seed as an integer."""
    return int(seed.generate_state(1)[0])
