"""RelationalTabTreeFormer: tables that belong together are learned parents first, and written parents first."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._runtime.progress import Console, Progress, Silent
from .._runtime.seeds import Seed, child, seed_sequence
from ..data.io.frames import take_in
from ..data.links import Link, Name, check_links
from ..data.schema import Schema
from ..errors import ConfigError, NotFittedError
from ..privacy.gate import no_verdict, verdict_lines, warn_if_failed
from ..synthesizer import TabTreeFormer
from .drawing import Drawing
from .file import blaming_file, read_database, write_database
from .gaps import fill_gaps
from .inputs import Sequences, as_names, as_two_tables, check_tables, chosen_links, without_dangling
from .learned import LearnedTable
from .learner import Learner
from .plain import in_plain_forms
from .requests import Asked
from .source import Database
from .streaming import check_files, write_file, write_folder
from .units import Units
from .verdict import judge_database


class RelationalTabTreeFormer:
    """Learns tables that belong together and writes new ones whose keys always match.

    Parameters
    ----------
    preset
        Preset of every table's model, as for `TabTreeFormer`.
    unit
        Table whose rows are protected, each with all rows of other tables that belong to it, e.g. "patients": floors
        for rare values, the halves for the networks and the verdict count these units. By default the topmost parents.
    keep
        Tables without parents that every new database has as they are, e.g. ["countries", "products"]: their rows are
        public and not about persons. Nothing in them is protected.
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
        unit: str | None = None,
        keep: Sequence[str] = (),
        dangling: str = "error",
        random_state: Seed = None,
        verbose: bool = True,
        **settings: Any,
    ) -> None:
        if dangling not in ("error", "missing"):
            raise ConfigError(f"dangling must be 'error' or 'missing', got {dangling!r}")
        if settings.get("dp") is not None:
            raise ConfigError(
                "differential privacy is not available for tables that belong together: what one unit adds to all "
                "tables would have to be bounded at once. Make one row per unit (its columns, and numbers, means and "
                "ends of its rows) and fit that table with TabTreeFormer(dp=DP(epsilon=...))"
            )
        refused = {"target", "holdout", "dp"} & set(settings)
        if refused:
            raise ConfigError(f"{sorted(refused)[0]} is not available for tables that belong together")
        self.preset, self.dangling, self.random_state, self.verbose = preset, dangling, random_state, verbose
        self.settings, self.unit, self.keep = settings, unit, as_names(keep)
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
            For one table: the column whose equal values belong together, e.g. the id of a customer.
        order
            Column by which the rows of a group are ordered, e.g. a date; or one per table. By default a column that
            counts the rows of a parent, or the only time if rows are in its order.

        Examples
        --------
        >>> model = RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False)
        >>> [link.text for link in model.fit(shop, ["orders.customer_id -> customers.id"]).links_]
        ['orders.customer_id -> customers.id']
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
        check_links(frames, chosen)
        frames = without_dangling(frames, chosen, self.dangling, progress)
        seed = seed_sequence(self.random_state)
        self._sample_seed = child(seed, 1) if self.random_state is not None else np.random.SeedSequence()
        self.links_ = tuple(chosen)
        source, forms = in_plain_forms(frames, chosen, schemas or {}, order if isinstance(order, Mapping) else {})
        learned, units = self._learner(progress).learn(source, self.unit, child(seed, 0))
        self.tables_ = {name: replace(table, forms=forms[name]) for name, table in learned.items()}
        self.privacy_ = self._verdict(source, units, child(seed, 2), progress)
        return self

    def _learner(self, progress: Progress) -> Learner:
        own: dict[str, Any] = {"preset": self.preset, "settings": self.settings, "keep": self.keep}
        return Learner(**own, verbose=self.verbose, progress=progress, across=self._sequences is None)

    def _verdict(self, source: Database, units: Units, seed: np.random.SeedSequence, progress: Progress) -> Any:
        """Attack a database that is learned from half of the units."""
        mode = self.settings.get("privacy", "balanced")
        if mode == "off":
            return no_verdict("privacy was off", mode)
        learner = replace(self._learner(Silent()), verbose=False)

        def refit(part: Database, own: np.random.SeedSequence) -> Mapping[str, pd.DataFrame]:
            learned, _ = learner.learn(part, self.unit, child(own, 0))
            return Drawing(learned, Asked.of(learned, None, 1.0, None, None), child(own, 1)).draw()

        verdict = judge_database(source, units, refit, mode, seed, progress)
        for line in verdict_lines({"privacy": {**verdict, "not_covered": []}}):
            progress.note(line)
        return verdict

    def sample(
        self,
        n: Mapping[str, int] | int | None = None,
        *,
        scale: float = 1.0,
        given: Mapping[str, Any] | None = None,
        children: Mapping[str, Any] | None = None,
        random_state: Seed = None,
    ) -> Any:
        """Write new tables with the columns, order and dtypes of those that were fitted.

        Parameters
        ----------
        n
            Rows of tables without parents, by name; the sizes of other tables follow. For one table with groups, the
            number of groups. By default as many as were learned, times `scale`.
        scale
            Size of the new database compared with the fitted one.
        given
            Conditions by column, e.g. {"customers.country": "DE", "orders.amount": (10, 50)}. Rows under the name of a
            table, e.g. {"customers": df}, are parents to write children for.
        children
            Number of rows per parent, e.g. {"orders": 3}; or a list with one number per parent, in their order.
        random_state
            A whole number makes the tables repeatable.

        Examples
        --------
        >>> new = database.sample({"customers": 5}, children={"orders": 2})
        >>> len(new["customers"]), len(new["orders"])
        (5, 10)
        """
        tables = self._drawing(n, scale, given, children, random_state).draw()
        return tables if self._sequences is None else self._sequences.joined(tables)

    def sample_to(
        self,
        target: str | os.PathLike[str],
        n: Mapping[str, int] | int | None = None,
        *,
        ending: str = ".csv",
        overwrite: bool = False,
        **question: Any,
    ) -> dict[str, int]:
        """Write new tables to files: those that no other table points to piece by piece, in bounded memory.

        Parameters
        ----------
        target
            A folder, which gets one file per table; for one table with groups, a file.
        n
            As for `sample`.
        ending
            Of the files in a folder: .csv, .parquet or .jsonl.
        overwrite
            Replace files that exist.
        **question
            `scale`, `given`, `children` and `random_state`, as for `sample`. The rows are those of `sample`.

        Returns
        -------
        dict
            Number of rows of each table, by name.

        Examples
        --------
        >>> database.sample_to(folder / "shop", {"customers": 5}, children={"orders": 2})
        {'customers': 5, 'orders': 10}
        """
        names = [str(name) for name in self._check_fitted()]
        one = self._sequences
        if one is None:
            check_files(target, names, ending, overwrite=overwrite)
            return write_folder(self._drawing(n, **question).pieces(), target, ending)
        file = Path(target)
        check_files(file.parent, [file.name], "", overwrite=overwrite)
        return {file.name: write_file(one.joined_pieces(self._drawing(n, **question).pieces()), file)}

    def _drawing(
        self,
        n: Mapping[str, int] | int | None = None,
        scale: float = 1.0,
        given: Mapping[str, Any] | None = None,
        children: Mapping[str, Any] | None = None,
        random_state: Seed = None,
    ) -> Drawing:
        """One call of `sample`, which has not drawn yet."""
        learned = self._check_fitted()
        warn_if_failed({"privacy": self.privacy_})
        seed = self._sample_seed.spawn(1)[0] if random_state is None else seed_sequence(random_state)
        return Drawing(learned, Asked.of(learned, n, scale, given, children), seed)

    def impute(self, tables: Any, random_state: Seed = None) -> Any:
        """Fill the missing values of rows, given their parents, the rows before them and what they have; keys stay.

        Parameters
        ----------
        tables
            All tables of the database, or the one table that was fitted with `group`.
        random_state
            A whole number makes the values repeatable.

        Examples
        --------
        >>> gappy = {**shop, "orders": shop["orders"].assign(amount=[None] * 20 + [5.0] * 100)}
        >>> int(database.impute(gappy)["orders"]["amount"].isna().sum())
        0
        """
        learned = self._check_fitted()
        seed = self._sample_seed.spawn(1)[0] if random_state is None else seed_sequence(random_state)
        if self._sequences is None:
            return fill_gaps(learned, self.links_, tables, seed)
        two = self._sequences.parted(take_in(tables)[0])
        return self._sequences.joined(fill_gaps(learned, self.links_, two, seed))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the models of all tables to one file, whole or not at all.

        Parameters
        ----------
        path
            Where to write it; an existing file is replaced.

        Examples
        --------
        >>> database.save(folder / "shop.tabtree")
        """
        learned = self._check_fitted()
        write_database(path, self.preset, self.links_, self._sequences, learned, self.privacy_)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "auto", verbose: bool = True) -> RelationalTabTreeFormer:
        """Read a file that `save` wrote; nothing in it is executed.

        Parameters
        ----------
        path
            The file.
        device
            Where the models compute: `auto`, `cpu`, `cuda`, `mps`.
        verbose
            Show progress on stderr.

        Examples
        --------
        >>> database.save(folder / "shop.tabtree")
        >>> sorted(RelationalTabTreeFormer.load(folder / "shop.tabtree", verbose=False).tables_)
        ['customers', 'orders']
        """
        with blaming_file(path):
            preset, links, sequences, tables, privacy = read_database(path, device, verbose)
            model = cls(preset, verbose=verbose)
            model.links_, model._sequences, model.tables_, model.privacy_ = links, sequences, tables, privacy
            model._sample_seed = np.random.SeedSequence()
            # One row of each table without parents, and its children: a file that cannot write them is refused.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                roots = {n: 1 for n, table in tables.items() if table.plan.main is None and table.kept is None}
                model.sample(roots, scale=1 / max(table.n_rows for table in tables.values()), random_state=0)
        return model

    @property
    def has_groups(self) -> bool:
        """Whether it learned one table with groups of rows."""
        return self._sequences is not None

    def _check_fitted(self) -> dict[str, LearnedTable]:
        tables: dict[str, LearnedTable] | None = getattr(self, "tables_", None)
        if tables is None:
            raise NotFittedError("this RelationalTabTreeFormer is not fitted; call fit(tables) first")
        return tables

    def _progress(self) -> Progress:
        return Console() if self.verbose else Silent()
