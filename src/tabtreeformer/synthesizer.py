"""TabTreeFormer: fit a table, sample rows, save and load. It delegates all computation to the other packages."""

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
        `auto` is sized to the table and runs on a CPU. `S` and `L` are the paper's small and large models, and `NM` is
        `L` without masks (best utility, no privacy); all three need a GPU. `trees` uses decision trees only: it takes
        seconds and no PyTorch, but its rows protect little, so use it for test data, public data and quick looks. With
        `privacy="off"`, `auto` switches to `trees` unless network settings are given.
    target
        Column that the trees predict, usually the one that will be predicted from the synthetic rows; by default chosen
        at random.
    tree
        `lightgbm`, `xgboost`, `catboost`, `decision_tree`, `adversarial` (needs no target) or `none`; or fields of
        `TreeConfig`, e.g. {"trials": 10}.
    tokens, model, train, sampling
        Fields to override in the preset, e.g. {"steps": 200}, or a whole `TokenConfig`, `ModelConfig`, ….
    forest
        Fields of `ForestConfig` for the preset `trees`, e.g. {"leaf_rows": 100}.
    budget_seconds
        Approximate time for the fit, including the tuning of the trees; the best weights so far are kept.
    privacy
        How the model is tested before its rows may be shared. Unless this is `off`, a fit ends with attacks on the
        model and a verdict. `balanced` attacks the rows. `strict` attacks the model file too and requires every single
        test to pass; `auto` then stops training before it memorises, at a cost in quality. The paper's presets train
        the same way in all three cases.
    sensitive
        Columns whose values must not be inferable; by default every column is attacked.
    constraints
        Relations that new rows keep: a list such as ["end >= start", "total = net + tax", "fare > 0"], `auto` or None.
        `auto` takes those of the schema if it lists any, otherwise those that hold in every row and are not due to
        chance; put "auto" in a list to add your own to these. The paper's presets keep none unless they are listed.
    dp
        Differential privacy, e.g. DP(epsilon=4): adds noise to everything that is learned, uses no trees, and needs a
        schema that declares what is public. docs/dp.md explains what it covers and costs.
    device
        `auto` (a CUDA GPU if available, otherwise the CPU) or a PyTorch device name.
    random_state
        An integer makes `fit` and `sample` reproducible.
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
        """Learn a table and return self.

        While the networks train, Ctrl-C or SIGTERM ends the fit with the best model so far and an `EndedEarlyWarning`;
        a second one stops immediately.

        Parameters
        ----------
        df
            A pandas, polars or pyarrow table; `sample` returns the same type. Or a path, e.g. "people.csv" or
            "folder/of/parquet", or a pyarrow dataset or reader: large ones are read in parts, like anything opened with
            `open_chunks`. The index of a DataFrame is ignored.
        schema
            What the columns are; by default inferred.
        holdout
            Rows to keep out of training, for the strictest verdict: a share of the table, e.g. 0.1, or a separate
            table.
        checkpoint_dir
            Folder for the state of the run. After an interruption, the same call with the same table continues the run
            and gives the same model. The folder is as confidential as the table.
        checkpoint_every
            Seconds between two checkpoints.
        keep_checkpoint
            Keep the folder after the fit; by default it is deleted.

        Examples
        --------
        >>> model = TabTreeFormer(train={"steps": 5}, random_state=0, verbose=False)
        >>> model.fit(df, schema=Schema.infer(df).with_kind("age", "categorical")).summary()["rows"]
        120
        """
        request = self._request_of_fit()  # invalid settings are reported before the table is read
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
        """Fit and compute the gate's verdict; under differential privacy the guarantee replaces it."""
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
        """Grow the trees and compute the gate's verdict; PyTorch is not imported."""
        from .fitting.forest import fit_forest

        started, progress, seed = time.perf_counter(), self._progress(), seed_sequence(self.random_state)
        if self.preset != TREES:
            progress.note("privacy is off, so preset 'trees' is used: it takes seconds and protects nobody")
        table, held = self._take(df, holdout, seed, progress)
        with open_source(table, schema, request, seed, progress) as opened:
            fitted, evidence = fit_forest(opened, request, held, seed, progress)
            verdict = self._verdict(fitted, evidence, seed, progress)
        facts = {"privacy": verdict, "fit_seconds": round(time.perf_counter() - started, 3)}
        self.fitted_ = dataclasses.replace(fitted, record={**fitted.record, **facts})
        return self._announced(seed, progress)

    def _verdict(self, fitted: Fitted, evidence: Any, seed: np.random.SeedSequence, progress: Progress) -> Any:
        verdict = verdict_on(fitted, evidence, self.privacy, self.sensitive, gate_seed(seed), progress)
        if self.verbose:  # the user who waited for the fit sees its outcome
            for line in quality_lines(fitted, evidence, self.budget_seconds):
                progress.note(line)
        return verdict

    def _take(self, df: Any, holdout: Any, seed: np.random.SeedSequence, progress: Progress) -> tuple[Any, Any]:
        """Return the training rows and the rows set aside."""
        table, self._kind = take_any(df)
        table, held = set_aside(table, holdout, seed)
        if ignored := index_note(table):
            progress.note(ignored)
        return table, held

    def _announced(self, seed: np.random.SeedSequence, progress: Progress) -> TabTreeFormer:
        """Print the verdict and return the fitted model."""
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
        """Write the model to one file, atomically.

        Parameters
        ----------
        path
            Path of the file, by convention `.tabtree`; an existing file is replaced.

        Examples
        --------
        >>> model.save(folder / "people.tabtree")
        """
        warn_if_file_leaks(self._check_fitted().record)
        write_archive(path, self._as_it_is().to_members())

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "auto", verbose: bool = True) -> TabTreeFormer:
        """Read a model file, without executing anything in it.

        Parameters
        ----------
        path
            A file written by `save` or `ttf fit`.
        device, verbose
            As for the class.

        Examples
        --------
        >>> model.save(folder / "people.tabtree")
        >>> TabTreeFormer.load(folder / "people.tabtree", verbose=False).summary()["preset"]
        'auto'
        """
        return cls._of_members(read_archive(path, MEMBERS), os.fspath(path), device, verbose)

    @classmethod
    def _of_members(cls, members: Mapping[str, bytes], path: str, device: str, verbose: bool) -> TabTreeFormer:
        # Only networks need a device, and asking for one imports PyTorch.
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
        """The current sampling settings, on top of the fitted ones."""
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
