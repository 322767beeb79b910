"""RelationalTabTreeFormer: tables that belong together are learned parents first, and written parents first."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .._runtime.progress import Console, Progress, Silent
from .._runtime.seeds import Seed, child, seed_sequence
from ..config.presets import TREES, configure
from ..data.io.frames import take_in
from ..data.links import Link, Name, check_links, order_tables
from ..data.schema import Schema
from ..errors import ConfigError, NotFittedError, PrivacyWarning, SchemaError
from ..synthesizer import TabTreeFormer
from . import rows
from .file import blaming_file, read_database, write_database
from .inputs import Sequences, as_two_tables, check_tables, chosen_links, without_dangling
from .learned import LearnedTable, completed, last_supported, learn_keys, pointing_dtypes
from .learning import Extended, Extender, extended_schema
from .margins import learn_margin, with_margin
from .plan import TablePlan, make_plans
from .requests import conditions_of, sizes_of
from .writing import Written, choose_in_loop, choose_parents, foreign_key, write_children


class RelationalTabTreeFormer:
    """Learns tables that belong together and writes new ones whose keys always match.

    Parameters
    ----------
    preset
        Preset of every table's model, as for `TabTreeFormer`.
    dangling
        What to do with a key that points to no row: `error`, or `missing` to learn it as a missing key.
    random_state
        A whole number makes fit and sample repeatable.
    verbose
        Show progress on stderr.
    settings
        Any other parameter of `TabTreeFormer` (tree, tokens, model, train, sampling, budget_seconds, privacy,
        constraints, device). A budget is shared out among the tables by their size.

    Examples
    --------
    >>> model = RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(shop)
    >>> new = model.sample(scale=0.5)
    >>> bool(new["orders"]["customer_id"].isin(new["customers"]["id"]).all())
    True
    """

    def __init__(
        self,
        preset: str = "auto",
        *,
        dangling: str = "error",
        random_state: Seed = None,
        verbose: bool = True,
        **settings: Any,
    ) -> None:
        if dangling not in ("error", "missing"):
            raise ConfigError(f"dangling must be 'error' or 'missing', got {dangling!r}")
        refused = {"target", "holdout", "dp"} & set(settings)
        if refused:
            raise ConfigError(f"{sorted(refused)[0]} is not available for tables that belong together")
        self.preset, self.dangling, self.random_state, self.verbose = preset, dangling, random_state, verbose
        self.settings = settings
        TabTreeFormer(preset, **settings)  # unknown settings are an error now, not after minutes

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        said = f"RelationalTabTreeFormer(preset={self.preset!r}{settings})"
        if not hasattr(self, "tables_"):
            return said
        tables = ", ".join(f"{name} ({table.n_rows:,} rows)" for name, table in self.tables_.items())
        return f"{said}\nfitted: {tables}; links: {', '.join(map(str, self.links_)) or 'none'}"

    def fit(
        self,
        tables: Any,
        links: Sequence[str | Link] | None = None,
        *,
        schemas: Mapping[str, Schema] | None = None,
        group: Name | None = None,
        order: Name | Mapping[str, Name] | None = None,
    ) -> RelationalTabTreeFormer:
        """Learn tables that belong together, or one table whose rows belong together.

        Parameters
        ----------
        tables
            A dict of tables by name; or one table, with `group`.
        links
            Which column points to which table, e.g. "orders.customer_id -> customers.id". By default they are found by
            name, type and values.
        schemas
            What the columns of tables are, by the table's name; inferred where not given.
        group
            Of one table: the column whose equal values belong together, e.g. the id of a customer.
        order
            Column by which the rows of a group are ordered, e.g. a date; or one per table. By default a column that
            counts the rows of a parent, or the only time if rows are in its order.
        """
        progress = self._progress()
        self._sequences: Sequences | None = None
        if group is not None:
            self._sequences, tables, links, order = as_two_tables(take_in(tables)[0], group, order)
        elif not isinstance(tables, Mapping):
            raise ConfigError("fit takes a dict of tables by name, or one table with group='the id of its groups'")
        frames = {str(name): take_in(table)[0] for name, table in tables.items()}
        check_tables(frames)
        frames = {name: frame.reset_index(drop=True) for name, frame in frames.items()}
        chosen = chosen_links(frames, links, progress)
        frames = without_dangling(frames, chosen, self.dangling, progress)
        check_links(frames, chosen)
        known = dict(schemas or {})
        inferred = {name: known.get(name) or Schema.infer(frame) for name, frame in frames.items()}
        orders = dict(order) if isinstance(order, Mapping) else {}
        ordered = order_tables(list(frames), chosen)
        extender = Extender(frames, make_plans(frames, inferred, chosen, ordered, orders))
        self.links_ = tuple(chosen)
        self.tables_ = self._learn(extender, frames, inferred, progress)
        return self

    def _learn(
        self, extender: Extender, frames: Mapping[str, pd.DataFrame], schemas: Mapping[str, Schema], progress: Progress
    ) -> dict[str, LearnedTable]:
        seed = seed_sequence(self.random_state)
        seeds = {name: int(s.generate_state(1)[0]) for name, s in zip(frames, seed.spawn(len(frames)), strict=True)}
        self._sample_seed = seed.spawn(1)[0] if self.random_state is not None else np.random.SeedSequence()
        extended = {name: extender.extended(name) for name in extender.plans}
        budgets = self._budgets(extended)
        learned = {}
        for name, plan in extender.plans.items():
            progress.note(f"table {name}: {extended[name].described(plan)}")
            model = self._fit_one(plan, extended[name], schemas, seeds[name], budgets[name])
            tokens = configure(self.preset, self._overrides(), max(len(frames[name]), 2), None, 2).tokens
            learned[name] = LearnedTable(
                plan=plan,
                model=model,
                given=extended[name].given,
                keys=learn_keys(frames[name], schemas[name], plan, tokens),
                dtypes=pointing_dtypes(frames[name], plan),
                n_rows=len(frames[name]),
                n_orphans=extended[name].n_orphans,
                last_text=None if plan.order is None else last_supported(frames[name][plan.order], tokens.rare_floor),
                margins={c: learn_margin(extended[name].frame[c], tokens.rare_floor) for c in extended[name].counts},
            )
        return learned

    def _fit_one(
        self, plan: TablePlan, extended: Extended, schemas: Mapping[str, Schema], seed: int, budget: float | None
    ) -> TabTreeFormer | None:
        drawn = [name for name in extended.frame.columns if name not in extended.given]
        if not drawn or not len(extended.frame):
            return None
        own = extended_schema(extended, schemas, plan)
        settings = {**self.settings, "budget_seconds": budget}
        if plan.main is not None:
            settings.setdefault("constraints", None)
            # Prompts would have to be weighed for every row that is given in part: twenty times the time of the rest.
            if self.preset != TREES:
                settings.setdefault("tree", "none")
        model = TabTreeFormer(self.preset, drawn[0], random_state=seed, verbose=self.verbose, **settings)
        return model.fit(extended.frame, schema=own)

    def _overrides(self) -> dict[str, Any]:
        return {"tokens": self.settings["tokens"]} if self.settings.get("tokens") else {}

    def _budgets(self, extended: Mapping[str, Extended]) -> dict[str, float | None]:
        total = self.settings.get("budget_seconds")
        sizes = {name: max(part.frame.size, 1) for name, part in extended.items()}
        return {name: None if total is None else total * size / sum(sizes.values()) for name, size in sizes.items()}

    def sample(
        self,
        n: Mapping[str, int] | int | None = None,
        *,
        scale: float = 1.0,
        given: Mapping[str, Any] | None = None,
        random_state: Seed = None,
    ) -> Any:
        """Write new tables with the columns, order and dtypes of those that were fitted.

        Parameters
        ----------
        n
            Rows of tables without parents, by name; others follow from their parents. Of one table with groups, the
            number of groups. By default as many as were learned, times `scale`.
        scale
            Size of the new database compared with the fitted one.
        given
            Conditions by column, e.g. {"customers.country": "DE"}; of a child table single values only. A table of rows
            in place of a name's conditions, e.g. {"customers": df}, are parents to write children for.
        random_state
            With one the tables are the same each time.
        """
        learned = self._check_fitted()
        seed = self._sample_seed.spawn(1)[0] if random_state is None else seed_sequence(random_state)
        sizes = sizes_of(learned, n, scale)
        conditions, real = conditions_of(learned, given)
        written: dict[str, Written] = {}
        tables: dict[str, pd.DataFrame] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)  # said once below
            for number, (name, table) in enumerate(learned.items()):
                own_seed = child(seed, number)
                wanted = real.get(name)
                rows_of = self._write(table, sizes.get(name), written, conditions.get(name, {}), wanted, own_seed)
                rng = np.random.default_rng(child(own_seed, 5))
                for column, margin in table.margins.items():
                    rows_of.frame[column] = with_margin(rows_of.frame[column], margin, rng)
                written[name] = rows_of
                tables[name] = self._finished(table, rows_of, written, tables, wanted, own_seed)
        return tables if self._sequences is None else self._sequences.joined(tables)

    def _write(
        self,
        table: LearnedTable,
        n: int | None,
        written: Mapping[str, Written],
        conditions: Mapping[str, Any],
        real: pd.DataFrame | None,
        seed: np.random.SeedSequence,
    ) -> Written:
        """Extended rows of one table."""
        plan, model = table.plan, table.model

        def complete(partial: pd.DataFrame, number: int) -> pd.DataFrame:
            if model is None:
                return partial
            return completed(model, partial[list(table.given) + list(conditions)], table.given, child(seed, 1, number))

        if plan.main is not None:
            parent = written[plan.main.parent]
            counts = parent.frame[rows.n_children(plan.main)].fillna(0).clip(lower=0)
            return write_children(
                plan, parent, round(table.orphan_share * counts.sum()), complete, conditions, table.last
            )
        if real is not None:
            frame = self._real_parents(table, real, seed)
        else:
            assert n is not None
            if model is None:
                frame = pd.DataFrame(index=range(n))
            else:
                frame = model.sample(n, _number(child(seed, 2)), given=dict(conditions) or None)
        frame = frame.reset_index(drop=True)
        carried = frame[[str(name) for name in plan.own]]
        carried.columns = pd.Index([rows.carried(plan.name, name) for name in plan.own])
        return Written(frame, carried, {})

    def _real_parents(self, table: LearnedTable, real: pd.DataFrame, seed: np.random.SeedSequence) -> pd.DataFrame:
        """Extended rows of parents that were given: what they know of their children is drawn."""
        missing = [name for name in table.plan.own if name not in real.columns]
        if missing:
            raise SchemaError(f"given rows of {table.plan.name!r} lack the column {missing[0]!r}")
        own = real[list(table.plan.own)].reset_index(drop=True).set_axis([str(n) for n in table.plan.own], axis=1)
        if table.model is None or not own.shape[1]:
            return own if table.model is None else table.model.sample(len(real), _number(child(seed, 2)))
        return completed(table.model, own, tuple(own.columns), child(seed, 2))

    def _finished(
        self,
        table: LearnedTable,
        rows_of: Written,
        written: Mapping[str, Written],
        tables: Mapping[str, pd.DataFrame],
        real: pd.DataFrame | None,
        seed: np.random.SeedSequence,
    ) -> pd.DataFrame:
        """The table itself: further parents chosen, keys written, columns in their order."""
        plan, rng = table.plan, np.random.default_rng(child(seed, 3))
        if real is not None:
            return real[list(plan.columns)].reset_index(drop=True)
        own = rows_of.own(plan)
        if plan.order is not None and len(own):
            own[plan.order] = own[plan.order].astype(table.dtype_of(plan.order))
        for link in plan.others:
            parent = written[link.parent]
            if not len(tables[link.parent]) and rows.has_parent(link) not in rows_of.frame:
                rows_of, own = rows_of.first(0), own.iloc[:0]  # rows must have a parent, and there is none
            rows_of.parents[link.text] = choose_parents(plan, rows_of, link, parent, tables[link.parent], rng)
        if plan.loop is not None:
            rows_of.parents[plan.loop.text] = choose_in_loop(plan, rows_of, plan.loop, own, rng)
        parts = [own, table.write_keys(len(own), _number(child(seed, 4)))]
        so_far = pd.concat(parts, axis=1)
        for link in plan.links():
            source = so_far if link.to_itself else tables[link.parent]
            dtypes = {column: table.dtype_of(column) for column in link.columns}
            keys = foreign_key(source, link, rows_of.parents[link.text], dtypes)
            so_far = pd.concat([so_far, keys[[c for c in keys.columns if c not in so_far.columns]]], axis=1)
        return so_far[list(plan.columns)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all tables to one file, whole or not at all."""
        write_database(path, self.preset, self.links_, self._sequences, self._check_fitted())

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "auto", verbose: bool = True) -> RelationalTabTreeFormer:
        """Read a file that `save` wrote; nothing in it is executed."""
        with blaming_file(path):
            preset, links, sequences, tables = read_database(path, device, verbose)
            model = cls(preset, verbose=verbose)
            model.links_, model._sequences, model.tables_ = links, sequences, tables
            model._sample_seed = np.random.SeedSequence()
            # One row of each table without parents, and what belongs to it: what cannot be written now never can.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.sample({name: 1 for name, table in tables.items() if table.plan.main is None}, random_state=0)
        return model

    def _check_fitted(self) -> dict[str, LearnedTable]:
        tables: dict[str, LearnedTable] | None = getattr(self, "tables_", None)
        if tables is None:
            raise NotFittedError("this RelationalTabTreeFormer is not fitted; call fit(tables) first")
        return tables

    def _progress(self) -> Progress:
        return Console() if self.verbose else Silent()


def _number(seed: np.random.SeedSequence) -> int:
    return int(seed.generate_state(1)[0])
