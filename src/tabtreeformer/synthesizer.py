"""TabTreeFormer: fit a table, sample rows, save and load. It calls on the rooms below and computes nothing itself."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from . import answers
from .archive import read_archive, write_archive
from .config import SECTIONS, Config, ModelConfig, SampleConfig, TokenConfig, TrainConfig, TreeConfig
from .devices import choose_device
from .errors import ConfigError, NotFittedError
from .fitted import Fitted
from .fitting import Request, fit_table, set_aside
from .gate import verdict_lines, warn_if_failed
from .limits import MEMBERS
from .presets import Privacy, configure
from .private import DP, fit_private
from .progress import Console, Progress, Silent, stage
from .rules import Rule, rules
from .schema import Schema
from .seeds import Seed, seed_sequence
from .streaming import Request as StreamRequest
from .streaming import check_stream_target, stream
from .tables.chunks import take_any
from .tables.frames import Kind, index_note, kind_named, take_in
from .threads import threads_for
from .training.checkpoint import EVERY_SECONDS, RunFolder
from .training.team import join


class TabTreeFormer(BaseEstimator):  # type: ignore[misc]
    """Learns a table and writes new rows like it.

    Parameters
    ----------
    preset
        `auto` is sized by the table and made for a CPU. `S`, `L` and `NM` are the paper's small and large model, and
        the large one without masks (best utility, no privacy); they want a GPU.
    target
        Column that the trees predict, usually the one that users of the rows will predict; by default one is drawn.
    tree
        `lightgbm`, `xgboost`, `catboost`, `decision_tree` or `none`; or fields of `TreeConfig`, as {"trials": 10}.
    tokens, model, train, sampling
        Fields to override in the preset, as {"steps": 200}, or a whole `TokenConfig`, `ModelConfig`, ….
    budget_seconds
        Fit within about this time, tuning of the trees included; the best weights so far are kept.
    privacy
        What is asked before rows may be passed on. Fitting ends with a verdict by attacks on the model, unless this is
        `off`. `balanced` judges the rows; `strict` judges what the model file tells of its rows too, takes each test by
        itself, and `auto` stops training before it memorises, at a cost in quality. Training of the paper's presets
        is the same in all three.
    sensitive
        Columns whose values nobody should be able to infer; the verdict tries all unless some are named.
    holdout
        Share of the rows, as 0.1, that are set aside for the strictest verdict; nothing is learned from them.
    constraints
        Relations that new rows keep: a list such as ["end >= start", "total = net + tax", "country from city"], None,
        or `auto`: those of the schema if it lists any, else those that hold in every row and cannot be chance. The
        paper's presets keep none unless they are listed.
    dp
        A promise of differential privacy, as DP(epsilon=4): noise on all that is learned, no trees, and a schema that
        says what is public. docs/dp.md has what it covers and what it costs.
    device
        `auto` (a CUDA GPU where there is one, else the CPU) or a name that PyTorch knows.
    random_state
        A whole number makes fit and sample repeatable.
    verbose
        Show progress on stderr.

    Examples
    --------
    >>> model = TabTreeFormer(target="income", random_state=0).fit(df)  # doctest: +SKIP
    >>> rows = model.sample(1000)  # doctest: +SKIP
    >>> model.save("model.tabtree")  # doctest: +SKIP
    >>> rows = TabTreeFormer.load("model.tabtree").sample(1000)  # doctest: +SKIP
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
        budget_seconds: float | None = None,
        privacy: Privacy = "balanced",
        sensitive: Sequence[str | int] | None = None,
        holdout: float | None = None,
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
        self.budget_seconds = budget_seconds
        self.privacy = privacy
        self.sensitive = sensitive
        self.holdout = holdout
        self.constraints = constraints
        self.dp = dp
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        df: Any,
        schema: Schema | None = None,
        holdout: Any = None,
        *,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        checkpoint_every: float = EVERY_SECONDS,
        keep_checkpoint: bool = False,
    ) -> TabTreeFormer:
        """Learn the table, of pandas, polars or pyarrow; `sample` returns tables of the same kind.

        A table may also be named, as "people.csv" or "folder/of/parquet", or be a dataset or reader of pyarrow. A large
        one is then not read whole: `open_chunks` says how, and makes any table one that is read in parts.
        `schema` says what its columns are, and is inferred where it is not given. The index of a DataFrame is ignored.
        `holdout` is a table of rows that were set aside already, for the verdict alone.

        With a `checkpoint_dir`, what the run needs to go on is written there every `checkpoint_every` seconds; the same
        call with the same table goes on from there, and ends with the model that it would have ended with. The folder
        is as confidential as the table, and is deleted when the fit ends well, unless `keep_checkpoint`. Ctrl-C while
        the networks train ends the fit with the best so far and an `EndedEarlyWarning`; a second one stops it at once.
        """
        self._config()  # a setting that cannot be is said before anything is read
        request = Request(
            preset=self.preset,
            target=self.target,
            constraints=self.constraints,
            budget_seconds=self.budget_seconds,
            device=choose_device(self.device),
            privacy=self.privacy,
            sensitive=self.sensitive,
            holdout=None if holdout is None else take_in(holdout)[0],
            configure=self._config,
        )
        if self.dp is not None and checkpoint_dir is not None:
            raise ConfigError("checkpoints hold what has no noise yet: differential privacy has none, leave them out")
        team = join()
        if self.dp is not None and team.size > 1:
            raise ConfigError("differential privacy trains in one process; start it without torchrun")
        progress = self._progress() if team.first else Silent()
        folder = RunFolder.at(checkpoint_dir, checkpoint_every, progress.note, team)
        seed = seed_sequence(self.random_state) if self.random_state is not None else folder.new_seed()
        table, kind = take_any(df)
        if self.holdout is not None:
            table, request = set_aside(table, self.holdout, request, seed)
        if ignored := index_note(table):
            progress.note(ignored)
        if self.dp is None:
            self.fitted_ = fit_table(table, schema, request, seed, progress, folder)
        else:
            seeded = self.random_state is not None
            self.fitted_ = fit_private(table, schema, request, self.dp, seed, seeded, progress)
        folder.end(keep_checkpoint, bool(self.fitted_.record.get("interrupted")))
        self._kind = kind
        self._sample_seed = seed.spawn(1)[0] if self.random_state is not None else np.random.SeedSequence()
        for line in verdict_lines(self.fitted_.record):
            progress.note(line)
        return self

    def sample(
        self,
        n: int,
        random_state: Seed = None,
        output: str | None = None,
        *,
        given: Any = None,
        balance: str | int | None = None,
        mix: Mapping[str | int, Mapping[Any, float]] | None = None,
        leaf: tuple[int, int] | None = None,
    ) -> Any:
        """Write exactly n new rows with the columns, order and dtypes of the fitted table.

        `given` are conditions that every row meets, as {"sex": "Female", "age": (30, 40), "state": ["CA", "NY"],
        "hours": ge(40)}, or a table of partial rows, each of which is completed (in turn, if n is more). `balance`
        names a column whose classes come equally often, `mix` gives the classes of a column their shares, `leaf` is
        the tree and the leaf of one of `rules()`, inside which all rows lie.

        The table is of the library that was fitted, with its own types; a model that was loaded from a file returns
        pandas. `output`, as "pandas", "polars" or "pyarrow", asks for another.
        Settings of `sampling` are read here, so that they can be changed after fitting with `set_params`.
        With a `random_state` the rows are the same each time; without one they go on from the model's own, so that
        a script that fits and samples with a seed is repeatable and two calls still differ.
        """
        asked = self._request(n, random_state, given, balance, mix, leaf)
        return self._kind_of(output).build(answers.together(list(self._blocks(asked))))

    def iter_sample(
        self,
        n: int,
        batch_size: int = 65_536,
        random_state: Seed = None,
        output: str | None = None,
        *,
        given: Any = None,
        balance: str | int | None = None,
        mix: Mapping[str | int, Mapping[Any, float]] | None = None,
        leaf: tuple[int, int] | None = None,
    ) -> Iterator[Any]:
        """Write n rows as tables of `batch_size` rows, one after the other, of which one at a time is in memory.

        They are the rows of `sample` with the same `random_state`, whatever the batch size.
        """
        asked, size = self._request(n, random_state, given, balance, mix, leaf), answers.count(batch_size, "batch_size")
        kind = self._kind_of(output)
        return (kind.build(frame) for frame in answers.in_batches(self._blocks(asked), size))

    def sample_to(
        self,
        target: str | os.PathLike[str],
        n: int,
        random_state: Seed = None,
        *,
        given: Any = None,
        balance: str | int | None = None,
        mix: Mapping[str | int, Mapping[Any, float]] | None = None,
        leaf: tuple[int, int] | None = None,
        batch_size: int | None = None,
        resume: bool = False,
        workers: int = 1,
        engine: str = "processes",
        **options: Any,
    ) -> None:
        """Write n rows to a Parquet, CSV or JSON lines file, or to a folder of parts (a name that ends in a slash).

        They are the rows of `sample` with the same `random_state`. Memory does not grow with n. Parts of about
        `batch_size` rows are kept beside the target until all are there; a run that ended early goes on with `resume`.
        `workers` are processes on this machine, or with `engine="ray"` actors of a cluster that sees the same folder.
        `options` are those of `write_table`.
        """
        asked = self._request(n, random_state, given, balance, mix, leaf)
        stream(
            self._as_it_is(),
            asked,
            check_stream_target(target, **options),
            self._progress(),
            batch_size=None if batch_size is None else answers.count(batch_size, "batch_size"),
            resume=resume,
            seeded=random_state is not None,
            workers=workers,
            engine=engine,
        )

    def _request(self, n: int, random_state: Seed, given: Any, balance: Any, mix: Any, leaf: Any) -> StreamRequest:
        fitted = self._check_fitted()
        warn_if_failed(fitted.record)
        seed = self._seed_of_call(random_state)
        asked = StreamRequest(n=answers.count(n), seed=seed, given=given, balance=balance, mix=mix, leaf=leaf)
        asked.question(fitted)  # what cannot be is said at once
        return asked

    def _blocks(self, asked: StreamRequest) -> Iterator[pd.DataFrame]:
        fitted = self._check_fitted()
        question = asked.question(fitted)
        with stage(self._progress(), "sample", asked.n) as advance:
            rows = fitted.writer(self._sampling(), asked.seed, advance)
            for part in answers.blocks(asked.n):
                yield answers.answer(question, rows, part)

    def _kind_of(self, output: str | None) -> Kind:
        return self._kind if output in (None, self._kind.library) else kind_named(str(output))

    def impute(self, df: Any, n_draws: int = 1, random_state: Seed = None) -> Any:
        """Fill the missing cells of rows, given what the rows have; what is there stays as it is, to the bit.

        With several draws, a list of tables for multiple imputation. They are drawn at temperature 1, whatever `sample`
        draws at: how far they differ says how sure the model is.
        """
        fitted, n_draws = self._check_fitted(), answers.count(n_draws, "n_draws")
        table, kind = take_in(df)
        seed = self._seed_of_call(random_state)
        sampling = dataclasses.replace(self._sampling(), temperature_category=1.0, temperature_numeric=1.0)
        with (
            stage(self._progress(), "sample", len(table) * n_draws) as advance,
            threads_for(fitted.config.model.width),
        ):
            filled = answers.impute(fitted, fitted.writer(sampling, seed, advance), table, n_draws)
        built = [kind.build(frame) for frame in filled]
        return built[0] if n_draws == 1 else built

    def log_prob(
        self, df: Any, by_column: bool = False, order: Sequence[str | int] | None = None
    ) -> pd.Series | pd.DataFrame:
        """Log-probability of each row in nats; with `by_column`, its parts, each given the columns before it.

        For a number between atoms it is a density by the number's unit, for a time or a duration the chance of one
        step of the column's clock. Prompts are blank, so that the values of all possible rows of a table of categories
        add up to one. `order` names all columns in another order than that of the table.
        """
        with threads_for(self._check_fitted().config.model.width):
            return answers.log_prob(self._check_fitted(), take_in(df)[0], by_column=by_column, order=order)

    def outliers(self, df: Any, n: int = 10) -> pd.DataFrame:
        """The n rows that the model finds least likely, each with the columns that surprise it most."""
        with threads_for(self._check_fitted().config.model.width):
            return answers.outliers(self._check_fitted(), take_in(df)[0], answers.count(n))

    def predict_proba(self, df: Any, target: str | int | None = None, random_state: Seed = 0) -> pd.DataFrame:
        """Chances of each class of a column, given whatever the rows have of the others."""
        name = self._predicted(target)
        with threads_for(self._check_fitted().config.model.width):
            return answers.predict_proba(self._check_fitted(), take_in(df)[0], name, seed_sequence(random_state))

    def predict(self, df: Any, target: str | int | None = None, random_state: Seed = 0) -> pd.Series:
        """The likeliest class of a column, or the mean of a number, given whatever the rows have of the others."""
        name = self._predicted(target)
        with threads_for(self._check_fitted().config.model.width):
            return answers.predict(self._check_fitted(), take_in(df)[0], name, seed_sequence(random_state))

    def rules(self) -> list[Rule]:
        """The leaves of the trees as readable rules, each with its share of rows; `sample(n, leaf=…)` draws by them."""
        return rules(self._check_fitted())

    def _predicted(self, target: str | int | None) -> str | int:
        name = target if target is not None else self._check_fitted().tree_target
        if name is None:
            raise ConfigError("say which column to predict: target=…")
        return name

    def _seed_of_call(self, random_state: Seed) -> np.random.SeedSequence:
        """The seed that was asked for, or the next of the model's own."""
        return self._sample_seed.spawn(1)[0] if random_state is None else seed_sequence(random_state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file (`.tabtree`), whole or not at all."""
        write_archive(path, self._as_it_is().to_members())

    def _as_it_is(self) -> Fitted:
        """What was fitted, with the settings of sampling that hold now."""
        fitted = self._check_fitted()
        return dataclasses.replace(fitted, config=dataclasses.replace(fitted.config, sampling=self._sampling()))

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "auto", verbose: bool = True) -> TabTreeFormer:
        """Read a model file; nothing in it is executed."""
        fitted = Fitted.from_members(read_archive(path, MEMBERS), os.fspath(path), choose_device(device))
        record, config = fitted.record, fitted.config
        sections = {name: getattr(config, name) for name in SECTIONS}
        rules = list(fitted.codec.rules.texts)
        model = cls(record["preset"], record["target"], **sections, constraints=rules, device=device, verbose=verbose)
        model.fitted_ = fitted
        model._kind = Kind()
        model._sample_seed = np.random.SeedSequence()
        return model

    def summary(self) -> dict[str, Any]:
        """What the model is, as plain data: columns, sizes, settings and the course of training."""
        fitted = self._check_fitted()
        layout = fitted.layout
        return {
            "columns": [
                {**c.to_json(), "ids": s} for c, s in zip(fitted.schema.columns, fitted.ids_per_column, strict=True)
            ],
            "constraints": list(fitted.codec.rules.texts),
            "tree_target": fitted.tree_target,
            "tree_model": fitted.config.tree.model if fitted.tree_encoder else "none",
            "trees": layout.n_trees,
            "vocabulary": layout.n_vocab,
            "length": layout.length,
            "parameters": fitted.models[0].n_parameters,
            "networks": len(fitted.models),
            "config": fitted.config.to_json(),
            **fitted.record,
        }

    def _config(self, n_rows: int = 1000, n_classes: int | None = None, n_columns: int = 10) -> Config:
        tree = {"model": self.tree} if isinstance(self.tree, str) else self.tree
        if self.dp is not None and self.tree == "lightgbm":
            tree = {}  # the default: under differential privacy there are no trees
        sections = {
            "tree": tree,
            "tokens": self.tokens,
            "model": self.model,
            "train": self.train,
            "sampling": self.sampling,
        }
        overrides = {name: value for name, value in sections.items() if value is not None}
        return configure(self.preset, overrides, n_rows, n_classes, n_columns, self.privacy, self.dp is not None)

    def _sampling(self) -> SampleConfig:
        """Settings of sampling as they are now, on top of what the preset says of the fitted table."""
        fitted = self._check_fitted()
        return self._config(fitted.record["rows"], n_columns=len(fitted.schema.names)).sampling

    def _progress(self) -> Progress:
        return Console() if self.verbose else Silent()

    def _check_fitted(self) -> Fitted:
        fitted: Fitted | None = getattr(self, "fitted_", None)
        if fitted is None:
            raise NotFittedError("this TabTreeFormer is not fitted; call fit(df) first, or TabTreeFormer.load(path)")
        return fitted
