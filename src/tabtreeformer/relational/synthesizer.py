"""RelationalTabTreeFormer: fits and samples linked tables, parents first."""

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
    """Learns linked tables and writes new ones whose keys always match.

    Parameters
    ----------
    preset
        Preset of every table's model, as for `TabTreeFormer`.
    unit
        Table whose rows are protected, each together with all rows linked to it, e.g. "patients". Floors for rare
        values, the halves for the networks and the verdict count these units. By default the topmost parents.
    keep
        Tables without parents that are copied unchanged to every new database, e.g. ["countries", "products"], because
        their rows are public and not about people. Nothing in them is protected.
    dangling
        What to do with a key without a matching row: `error`, or `missing` to learn it as a missing key.
    random_state
        An integer makes `fit` and `sample` reproducible.
    verbose
        Show progress on stderr.
    settings
        Any other parameter of `TabTreeFormer` (tree, tokens, model, train, sampling, budget_seconds, privacy,
        constraints, device). A budget is divided among the tables by size.

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
                "differential privacy is not available for linked tables, because the contribution of one unit to all "
                "tables would have to be bounded. Make one row per unit (its columns, and the number, means and "
                "extremes of its rows) and fit that table with TabTreeFormer(dp=DP(epsilon=...))"
            )
        refused = {"target", "holdout", "dp"} & set(settings)
        if refused:
            raise ConfigError(f"{sorted(refused)[0]} is not available for linked tables")
        self.preset, self.dangling, self.random_state, self.verbose = preset, dangling, random_state, verbose
        self.settings, self.unit, self.keep = settings, unit, as_names(keep)
        TabTreeFormer(preset, **settings)  # report unknown settings immediately

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
        """Learn linked tables, or one table with groups of rows.

        Parameters
        ----------
        tables
            A dict of tables by name, or one table if `group` is given.
        links
            Which column refers to which key, e.g. "orders.customer_id -> customers.id". By default links are detected
            from names, types and values.
        schemas
            Schemas by table name; inferred if not given.
        group
            For one table: the column that identifies a group of rows, e.g. a customer's id.
        order
            Column that orders the rows of a group, e.g. a date; or a dict with one per table. By default a column that
            numbers the rows of a parent, or the only time if rows are sorted by it.

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
        """Fit a database to half of the units and attack it."""
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
        """Write new tables with the columns, order and dtypes of the fitted ones.

        Parameters
        ----------
        n
            Number of rows of each table without parents, by name; the sizes of other tables follow. For one table with
            groups, the number of groups. By default the learned numbers times `scale`.
        scale
            Size of the new database relative to the fitted one.
        given
            Conditions by column, e.g. {"customers.country": "DE", "orders.amount": (10, 50)}. A DataFrame under the
            name of a table, e.g. {"customers": df}, gives the parents to write children for.
        children
            Number of rows per parent, e.g. {"orders": 3}; or a list with one number per parent, in their order.
        random_state
            An integer makes the tables reproducible.

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
        """Write new tables to files; tables without children are written piece by piece, in bounded memory.

        Parameters
        ----------
        target
            A folder for one file per table; for one table with groups, a file.
        n
            As for `sample`.
        ending
            Extension of the files in a folder: .csv, .parquet or .jsonl.
        overwrite
            Replace existing files.
        **question
            `scale`, `given`, `children` and `random_state`, as for `sample`. The rows are the same as those of
            `sample`.

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
        """Prepare one call of `sample`."""
        learned = self._check_fitted()
        warn_if_failed({"privacy": self.privacy_})
        seed = self._sample_seed.spawn(1)[0] if random_state is None else seed_sequence(random_state)
        return Drawing(learned, Asked.of(learned, n, scale, given, children), seed)

    def impute(self, tables: Any, random_state: Seed = None) -> Any:
        """Fill missing values, given the parents, the previous rows and the rest of the row; keys are not changed.

        Parameters
        ----------
        tables
            All tables of the database, or the one table that was fitted with `group`.
        random_state
            An integer makes the values reproducible.

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
        """Write the models of all tables to one file, atomically.

        Parameters
        ----------
        path
            Path of the file; an existing file is replaced.

        Examples
        --------
        >>> database.save(folder / "shop.tabtree")
        """
        learned = self._check_fitted()
        write_database(path, self.preset, self.links_, self._sequences, learned, self.privacy_)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "auto", verbose: bool = True) -> RelationalTabTreeFormer:
        """Read a file written by `save`, without executing anything in it.

        Parameters
        ----------
        path
            The file.
        device
            Device for the models: `auto`, `cpu`, `cuda`, `mps`.
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
            # Try to draw one row of each table without parents and its children; if that fails, refuse the file.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                roots = {n: 1 for n, table in tables.items() if table.plan.main is None and table.kept is None}
                model.sample(roots, scale=1 / max(table.n_rows for table in tables.values()), random_state=0)
        return model

    @property
    def has_groups(self) -> bool:
        """Whether it was fitted to one table with groups of rows."""
        return self._sequences is not None

    def _check_fitted(self) -> dict[str, LearnedTable]:
        tables: dict[str, LearnedTable] | None = getattr(self, "tables_", None)
        if tables is None:
            raise NotFittedError("this RelationalTabTreeFormer is not fitted; call fit(tables) first")
        return tables

    def _progress(self) -> Progress:
        return Console() if self.verbose else Silent()
