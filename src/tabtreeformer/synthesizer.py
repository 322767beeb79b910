"""TabTreeFormer: fit a table, sample rows, save and load. It calls on the rooms below and computes nothing itself."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from ._runtime.devices import choose_device
from ._runtime.progress import Console, Progress, Silent
from ._runtime.seeds import Seed, seed_sequence
from ._runtime.threads import threads_for
from .artifact.archive import read_archive, write_archive
from .artifact.fitted import Fitted
from .artifact.limits import MEMBERS
from .config.override import override
from .config.presets import TREES, Privacy, writes_trees
from .config.settings import SECTIONS, ForestConfig, ModelConfig, SampleConfig, TokenConfig, TrainConfig, TreeConfig
from .data.io.chunks import take_any
from .data.io.frames import Kind, index_note
from .data.schema import Schema
from .errors import NotFittedError
from .fitting.holdout import set_aside
from .fitting.request import EVERY_SECONDS, Request, open_source
from .notebook.methods import Shown
from .privacy.attacked import Attacked
from .privacy.dp import DP
from .privacy.gate import check_rows, gate_seed, verdict_lines, verdict_on, warn_if_failed, warn_if_file_leaks
from .privacy.quality import quality_lines
from .sampling.methods import Drawing, Scoring
from .sharing.hub import OnHub

if TYPE_CHECKING:
    import pandas as pd

    from .fitting import Resources


class TabTreeFormer(Shown, Drawing, Scoring, Attacked, OnHub, BaseEstimator):  # type: ignore[misc]
    """Learns a table and writes new rows like it.

    Parameters
    ----------
    preset
        `auto` is sized by the table and made for a CPU. `S`, `L` and `NM` are the paper's small and large model, and
        the large one without masks (best utility, no privacy); they need a GPU. `trees` writes rows by trees alone,
        in seconds and without PyTorch: for test data, public data and quick looks, because its rows protect little.
        With `privacy="off"`, `auto` chooses `trees` unless settings of the network are given.
    target
        Column that the trees predict, usually the one that users of the rows will predict; by default one is drawn.
    tree
        `lightgbm`, `xgboost`, `catboost`, `decision_tree`, `adversarial` (needs no target) or `none`; or fields of
        `TreeConfig`, e.g. {"trials": 10}.
    tokens, model, train, sampling
        Fields to override in the preset, e.g. {"steps": 200}, or a whole `TokenConfig`, `ModelConfig`, ….
    forest
        Fields of `ForestConfig` for the preset `trees`, e.g. {"leaf_rows": 100}.
    budget_seconds
        Fit within about this time, tuning of the trees included; the best weights so far are kept.
    privacy
        What is required before rows may be passed on. A fit ends with a verdict by attacks on the model, unless this
        is `off`. `balanced` attacks the rows; `strict` attacks the model file too and takes each test by itself, and
        `auto` stops training before it memorises, at a cost in quality. The paper's presets train the same in all
        three.
    sensitive
        Columns whose values nobody should be able to infer; by default all of them are attacked.
    constraints
        Relations that new rows keep: a list such as ["end >= start", "total = net + tax", "fare > 0"], None, or `auto`:
        those of the schema if it lists any, else those that hold in every row and cannot be chance; with "auto" in
        the list, these too. The paper's presets keep none unless they are listed.
    dp
        Differential privacy, e.g. DP(epsilon=4): noise on all that is learned, no trees, and a schema that says what
        is public. docs/dp.md has what it covers and what it costs.
    device
        `auto` (a CUDA GPU where there is one, else the CPU) or a device name of PyTorch.
    random_state
        A whole number makes fit and sample repeatable.
    verbose
        Show progress on stderr.

    Examples
    --------
    >>> import pandas as pd
    >>> from tabtreeformer import TabTreeFormer
    >>> df = pd.DataFrame({"age": [23, 31, 45] * 40, "job": ["nurse", "cook", "clerk"] * 40})
    >>> model = TabTreeFormer(target="job", train={"steps": 20}, random_state=0, verbose=False).fit(df)
    >>> model.sample(1000).shape
    (1000, 2)
    >>> model.save(folder / "model.tabtree")
    >>> TabTreeFormer.load(folder / "model.tabtree", verbose=False).sample(5).shape
    (5, 2)
    """

    def __init__(
        self,
        preset: str = "auto",
        target: str | int | None = None,
        tree: str | Mapping[str, Any] | TreeConfig = "lightgbm",
        *,
        tokens: Mapping[str, Any] | TokenConfig | None = None,
        model: Mapping[str, Any] | ModelConfig | None = None,
        train: Mapping[str, Any] | TrainConfig | None = None,
        sampling: Mapping[str, Any] | SampleConfig | None = None,
        forest: Mapping[str, Any] | ForestConfig | None = None,
        budget_seconds: float | None = None,
        privacy: Privacy = "balanced",
        sensitive: Sequence[str | int] | None = None,
        constraints: str | Sequence[str] | None = "auto",
        dp: DP | None = None,
        device: str = "auto",
        random_state: Seed = None,
        verbose: bool = True,
    ) -> None:
        self.preset = preset
        self.target = target
        self.tree = tree
        self.tokens = tokens
        self.model = model
        self.train = train
        self.sampling = sampling
        self.forest = forest
        self.budget_seconds = budget_seconds
        self.privacy = privacy
        self.sensitive = sensitive
        self.constraints = constraints
        self.dp = dp
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        df: Any,
        *,
        schema: Schema | None = None,
        holdout: Any = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        checkpoint_every: float = EVERY_SECONDS,
        keep_checkpoint: bool = False,
    ) -> TabTreeFormer:
        """Learn a table, and return the fitted model itself.

        Ctrl-C or SIGTERM while the networks train ends the fit with the best model so far and an `EndedEarlyWarning`;
        a second one stops it at once.

        Parameters
        ----------
        df
            A table of pandas, polars or pyarrow; `sample` returns tables of the same kind. Or the name of one, e.g.
            "people.csv" or "folder/of/parquet", or a dataset or reader of pyarrow: a large one is then read in parts,
            as is whatever `open_chunks` opened. The index of a DataFrame is ignored.
        schema
            What the columns are; inferred where it is not given.
        holdout
            Rows that nothing is learned from, for the strictest verdict: a share of the table, e.g. 0.1, or a table of
            their own.
        checkpoint_dir
            Folder to which the state of the run is written, so that the same call with the same table continues a
            run that was stopped or killed, and ends with the same model. It is as confidential as the table.
        checkpoint_every
            Seconds between two checkpoints.
        keep_checkpoint
            Leave the folder in place when the fit has finished; by default it is deleted.

        Examples
        --------
        >>> model = TabTreeFormer(train={"steps": 5}, random_state=0, verbose=False)
        >>> model.fit(df, schema=Schema.infer(df).with_kind("age", "categorical")).summary()["rows"]
        120
        """
        request = self._request_of_fit()  # invalid settings are reported before anything is read
        if request.preset == TREES:
            return self._fit_trees(df, schema, holdout, request)
        from .fitting import Resources
        from .fitting.checkpoint.folder import RunFolder
        from .fitting.distributed import join

        device, team = choose_device(self.device), join()
        if self.dp is not None:
            self.dp.check_run(checkpoint_dir is not None, team.size)
        progress = self._progress() if team.first else Silent()
        folder = RunFolder.at(checkpoint_dir, checkpoint_every, progress.note, team)
        seed = folder.new_seed() if self.random_state is None else seed_sequence(self.random_state)
        table, held = self._take(df, holdout, seed, progress)
        resources = Resources(device=device, progress=progress, folder=folder)
        self.fitted_ = self._fit(table, schema, held, request, seed, resources)
        folder.end(keep_checkpoint, bool(self.fitted_.record.get("interrupted")))
        return self._announced(seed, progress)

    def _fit(
        self,
        table: Any,
        schema: Schema | None,
        holdout: pd.DataFrame | None,
        request: Request,
        seed: np.random.SeedSequence,
        resources: Resources,
    ) -> Fitted:
        """Fit, and let the gate give its verdict; under differential privacy, the promise is the verdict."""
        from .fitting.fit import fit_table
        from .privacy.dp import fit_private

        if self.dp is not None:
            return fit_private(table, schema, request, self.dp, seed, self.random_state is not None, resources)
        with open_source(table, schema, request, seed, resources.progress) as opened:
            fitted, evidence = fit_table(opened, request, holdout, seed, resources)
            with threads_for(fitted.config.model.width):
                verdict = self._verdict(fitted, evidence, seed, resources.progress)
        facts = {"privacy": verdict, "fit_seconds": round(resources.folder.seconds, 3)}
        return dataclasses.replace(fitted, record={**fitted.record, **facts})

    def _fit_trees(self, df: Any, schema: Schema | None, holdout: Any, request: Request) -> TabTreeFormer:
        """Grow trees that write, and let the gate give its verdict; PyTorch is not imported."""
        from .fitting.forest import fit_forest

        started, progress, seed = time.perf_counter(), self._progress(), seed_sequence(self.random_state)
        if self.preset != TREES:
            progress.note("privacy is off, so trees write the rows, in seconds (preset 'trees'); they protect nobody")
        table, held = self._take(df, holdout, seed, progress)
        with open_source(table, schema, request, seed, progress) as opened:
            fitted, evidence = fit_forest(opened, request, held, seed, progress)
            verdict = self._verdict(fitted, evidence, seed, progress)
        facts = {"privacy": verdict, "fit_seconds": round(time.perf_counter() - started, 3)}
        self.fitted_ = dataclasses.replace(fitted, record={**fitted.record, **facts})
        return self._announced(seed, progress)

    def _verdict(self, fitted: Fitted, evidence: Any, seed: np.random.SeedSequence, progress: Progress) -> Any:
        verdict = verdict_on(fitted, evidence, self.privacy, self.sensitive, gate_seed(seed), progress)
        if self.verbose:  # whoever waits for the fit wants to know what came of it
            for line in quality_lines(fitted, evidence, self.budget_seconds):
                progress.note(line)
        return verdict

    def _take(self, df: Any, holdout: Any, seed: np.random.SeedSequence, progress: Progress) -> tuple[Any, Any]:
        """The rows to learn from, and those that are set aside."""
        table, self._kind = take_any(df)
        table, held = set_aside(table, holdout, seed)
        if ignored := index_note(table):
            progress.note(ignored)
        return table, held

    def _announced(self, seed: np.random.SeedSequence, progress: Progress) -> TabTreeFormer:
        """The fitted model, after its verdict was said."""
        self._sample_seed = np.random.SeedSequence() if self.random_state is None else seed.spawn(1)[0]
        for line in verdict_lines(self.fitted_.record):
            progress.note(line)
        from .fitting.plan import overrun

        if late := overrun(self.fitted_.record, self.budget_seconds):
            progress.note(late)
        return self

    def _request_of_fit(self) -> Request:
        changed = self._overrides()
        by_trees = self.dp is None and writes_trees(self.preset, self.privacy, changed)
        return Request(
            preset=TREES if by_trees else self.preset,
            overrides=changed,
            target=self.target,
            constraints=self.constraints,
            budget_seconds=self.budget_seconds,
            privacy=self.privacy,
            private=self.dp is not None,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all.

        Parameters
        ----------
        path
            The file, by convention `.tabtree`; an existing one is replaced.

        Examples
        --------
        >>> model.save(folder / "people.tabtree")
        """
        warn_if_file_leaks(self._check_fitted().record)
        write_archive(path, self._as_it_is().to_members())

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "auto", verbose: bool = True) -> TabTreeFormer:
        """Read a model file; nothing in it is executed.

        Parameters
        ----------
        path
            A file that `save` or `ttf fit` wrote.
        device, verbose
            As of the class.

        Examples
        --------
        >>> model.save(folder / "people.tabtree")
        >>> TabTreeFormer.load(folder / "people.tabtree", verbose=False).summary()["preset"]
        'auto'
        """
        return cls._of_members(read_archive(path, MEMBERS), os.fspath(path), device, verbose)

    @classmethod
    def _of_members(cls, members: Mapping[str, bytes], path: str, device: str, verbose: bool) -> TabTreeFormer:
        # PyTorch is asked for its devices only where there are networks to put on them.
        place = device if "forest.json" in members else choose_device(device)
        fitted = Fitted.from_members(members, path, place)
        record, config = fitted.record, fitted.config
        names = ("tokens", "forest") if fitted.forest is not None else SECTIONS
        sections = {name: getattr(config, name) for name in names}
        rules = list(fitted.codec.texts)
        model = cls(record["preset"], record["target"], **sections, constraints=rules, device=device, verbose=verbose)
        model.fitted_ = fitted
        model._kind = Kind()
        model._sample_seed = np.random.SeedSequence()
        return model

    def _overrides(self) -> dict[str, Any]:
        """Settings that differ from the preset, by section."""
        tree: Any = {"model": self.tree} if isinstance(self.tree, str) else self.tree
        tree = None if self.tree == "lightgbm" else tree  # the default of every preset that has trees
        names = ("tokens", "model", "train", "sampling", "forest")
        sections = {"tree": tree, **{name: getattr(self, name) for name in names}}
        return {name: value for name, value in sections.items() if value is not None}

    def _sampling(self) -> SampleConfig:
        """Settings of sampling as they are now, on top of those that were fitted."""
        changes = {} if self.sampling is None else {"sampling": self.sampling}
        return override(self._check_fitted().config, changes, prefix="").sampling

    def _progress(self) -> Progress:
        return Console() if self.verbose else Silent()

    def _check_fitted(self) -> Fitted:
        fitted: Fitted | None = getattr(self, "fitted_", None)
        if fitted is None:
            raise NotFittedError("this TabTreeFormer is not fitted; call fit(df) first, or TabTreeFormer.load(path)")
        return fitted

    def _check_released(self, n_rows: int, accept_risk: bool) -> Fitted:
        fitted = self._check_fitted()
        warn_if_failed(fitted.record)
        check_rows(fitted.record, n_rows, accept_risk)
        return fitted
