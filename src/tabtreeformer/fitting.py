"""The steps of fitting: schema, codec, trees, networks, prompts."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from . import trees
from .chunked import InMemory, OnDisk, open_table
from .config import Config, TrainConfig, TreeConfig
from .errors import ConfigError
from .fitted import Fitted
from .gate import Evidence, judge_model, rows_read, split_off
from .generation import PromptBank
from .presets import AUTO, Privacy
from .progress import Progress
from .resuming import fit_leaf_model, identity, versions
from .schema import Schema
from .tables.chunks import Chunks
from .threads import threads_for
from .tokens import TableCodec, TokenLayout
from .tokens.codec import protected_schema
from .tokens.protection import protection
from .training import Trained, draw_masks, train_networks
from .training.checkpoint import TOKENS, RunFolder, Stage
from .training.team import Team

TUNING_SHARE = 0.25
"""Largest share of a budget that the search for tree parameters may take."""
SAMPLE_KEY = 20_261_116
"""Sets the seed of the sample apart from those of all else, which tables in memory have too."""
MOST_FLOOR = 5
"""Of what is rare in a table that is read in parts, at least so many rows join the sample."""
MOST_PROMPTS = 100_000
"""Rows at most whose leaves prompt a network."""
GATE_SHARE, GATE_SECONDS = 0.1, 10.0
"""Share of a budget that is kept for the privacy verdict, and the most of it."""
MOST_FITTING = 200_000
"""Rows at most that prompts are held against."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked of a fit; the fields are those of `TabTreeFormer`."""

    preset: str
    target: str | int | None
    constraints: str | Sequence[str] | None
    budget_seconds: float | None
    device: torch.device
    privacy: Privacy
    sensitive: Sequence[str | int] | None
    holdout: pd.DataFrame | None
    """Rows that were set aside for the privacy verdict."""
    configure: Callable[[int, int | None, int], Config]
    """Settings for so many rows, classes of the target (None for a number) and columns."""

    def __post_init__(self) -> None:
        if self.budget_seconds is not None and not self.budget_seconds > 0:
            raise ConfigError(f"budget_seconds must be above 0, got {self.budget_seconds!r}")

    @property
    def gate_seconds(self) -> float:
        """Part of a budget that is left to the privacy verdict."""
        if self.budget_seconds is None or self.privacy == "off":
            return 0.0
        return min(GATE_SHARE * self.budget_seconds, GATE_SECONDS)

    def relations(self, schema: Schema) -> Sequence[str] | Literal["auto"] | None:
        """What the parameter and the schema say about relations between columns."""
        if isinstance(self.constraints, str) and self.constraints != AUTO:
            raise ConfigError(f"constraints must be 'auto', a list or None, got {self.constraints!r}")
        if self.constraints != AUTO:
            return self.constraints
        if schema.constraints is not None:
            return schema.constraints
        return "auto" if self.preset == AUTO else None


def fit_table(
    source: pd.DataFrame | Chunks,
    schema: Schema | None,
    request: Request,
    seed: np.random.SeedSequence,
    progress: Progress,
    folder: RunFolder,
) -> Fitted:
    """Learn a table, in memory or in parts; the schema is inferred where none is given."""
    sample_seed = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, SAMPLE_KEY))
    copies = max(MOST_FLOOR, request.configure(1000, None, 10).tokens.rare_floor)
    found = request.constraints == AUTO and (schema is None or schema.constraints is None)
    with open_table(source, schema, request.target, copies, found, sample_seed, progress) as table:
        return _fit(table, request, seed, progress, folder)


def _fit(
    table: InMemory | OnDisk, request: Request, seed: np.random.SeedSequence, progress: Progress, folder: RunFolder
) -> Fitted:
    target_seed, tree_seed, train_seed, prompt_seed = seed.spawn(4)
    schema, frame = table.schema, table.frame
    holdout = None if request.holdout is None else schema.validate(request.holdout)
    if request.target is not None:
        schema.column(request.target)  # says which columns there are when this is none of them
    tokens_config = request.configure(table.n_rows, None, frame.shape[1]).tokens
    schema = protected_schema(schema, frame, tokens_config.rare_floor)
    tree_target = trees.choose_target(schema, frame, request.target, np.random.default_rng(target_seed))
    encoder = None if tree_target is None else trees.FeatureEncoder.learn(frame, schema, tree_target, tokens_config)
    if encoder is not None and not encoder.can_learn:
        tree_target = encoder = None
    n_classes = None if encoder is None else encoder.n_classes
    config = table.fitting(request.configure(table.n_rows, n_classes, frame.shape[1]))
    relations = request.relations(schema)
    if folder.needed:
        folder.begin(identity(frame, schema, config, relations, seed, request.device, folder.team.size))
    codec = TableCodec.learn(frame, schema, config.tokens, relations)
    budget = math.inf if request.budget_seconds is None else request.budget_seconds
    floor, in_time, stage = config.tokens.rare_floor, _in_time(config.tree, budget), folder.stage("trees")
    leaf_model = _fit_trees(in_time, encoder, table.for_trees, tree_seed, progress, stage, floor, folder.team)
    tree_seconds = folder.seconds

    for note in codec.notes:
        progress.note(note)
    layout = TokenLayout.build(leaf_model.n_leaves, codec.slots)
    progress.note(_plan(request.preset, config, layout))
    tokens, codec = table.tokens(codec, encoder, leaf_model, layout, progress)
    if isinstance(tokens, np.memmap) and folder.needed:  # of a table in parts, only a sample was known before
        folder.begin({"table": hashlib.sha256(tokens.data).hexdigest()}, TOKENS)
    left = budget - folder.seconds - request.gate_seconds
    later = rows_read(len(tokens), 0 if holdout is None else len(holdout), request.privacy)
    if _writes_prompts(layout, floor):
        later += 2 * _bank_size(len(tokens) // 2, config.train)
    with threads_for(config.model.width):
        trained = train_networks(
            layout, tokens, config.model, config.train, train_seed, request.device, progress, left, folder, later
        )
    fitted = Fitted(
        config=config,
        schema=schema,
        codec=codec,
        layout=layout,
        tree_target=tree_target,
        tree_encoder=encoder,
        tree_text=leaf_model.to_text(),
        models=trained.models,
        prompts=_mask_prompts(tokens, trained, layout, config.train, prompt_seed),
        record={
            "rows": table.n_rows,
            "preset": request.preset,
            "target": request.target,
            "seed": str(seed.entropy),
            "tree_seconds": round(tree_seconds, 3),
            "training": [history.to_json() for history in trained.histories],
            "versions": versions(),
            **({"interrupted": True} if trained.interrupted else {}),
            **({"protected": protection(codec, frame, floor)} if floor > 1 else {}),
        },
    )
    fitted = _own_prompts(fitted, tokens, floor, prompt_seed.spawn(1)[0])
    evidence = Evidence(
        take=table.take,
        tokens=tokens,
        parts=trained.parts,
        histories=trained.histories,
        holdout=holdout,
    )
    with threads_for(config.model.width):
        privacy = judge_model(fitted, evidence, request.privacy, request.sensitive, gate_seed(seed), progress)
    fitted.record["privacy"] = privacy
    fitted.record["fit_seconds"] = round(folder.seconds, 3)
    return fitted


def set_aside(
    df: pd.DataFrame | Chunks, share: float, request: Request, seed: np.random.SeedSequence
) -> tuple[pd.DataFrame, Request]:
    """Take a share of the rows away from a fit, for its verdict."""
    if isinstance(df, Chunks):
        raise ConfigError(
            "a table that is read in parts has no share to set aside; give the rows: fit(…, holdout=rows)"
        )
    if request.holdout is not None:
        raise ConfigError("give holdout either as a share of the rows or as a table, not both")
    kept, held = split_off(len(df), share, np.random.default_rng(gate_seed(seed)))
    return df.iloc[kept].reset_index(drop=True), dataclasses.replace(request, holdout=df.iloc[held])


def gate_seed(seed: np.random.SeedSequence) -> np.random.SeedSequence:
    """A seed for the attacks that takes none away from fitting and sampling."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 2**31))


def _fit_trees(
    config: TreeConfig,
    encoder: trees.FeatureEncoder | None,
    frame: pd.DataFrame,
    seed: np.random.SeedSequence,
    progress: Progress,
    checkpoints: Stage,
    floor: int,
    team: Team,
) -> trees.LeafModel:
    """Fit the trees; none where there is nothing to predict."""
    if encoder is None:
        return trees.load_leaf_model("none", "")
    number = int(seed.generate_state(1)[0] >> 1)  # tree libraries take 31 bits
    known = frame[frame[encoder.target_name].notna()]  # rows without a target teach nothing, and have leaves
    features, target = encoder.features(known), encoder.target(known)
    return fit_leaf_model(config, features, target, number, progress, checkpoints, floor, team)


def _in_time(config: TreeConfig, budget: float) -> TreeConfig:
    """The same settings, with a limit on the search that leaves most of the budget to the networks."""
    seconds = min(budget * TUNING_SHARE, config.timeout_seconds or math.inf)
    return dataclasses.replace(config, timeout_seconds=seconds if math.isfinite(seconds) else None)


def _mask_prompts(
    tokens: NDArray[Any],
    trained: Trained,
    layout: TokenLayout,
    config: TrainConfig,
    seed: np.random.SeedSequence,
) -> tuple[PromptBank, PromptBank]:
    """Keep the leaves of the rows that prompt each network, masked."""
    rng = np.random.default_rng(seed)
    config = dataclasses.replace(config, blank_prompts=0.0)  # a blank prompt is not worth keeping
    banks = []
    for own, others in trained.parts:
        rows = own if config.prompts == "trained" else others
        rows = rows[: _bank_size(len(rows), config)]
        hidden = draw_masks(len(rows), layout, config, rng)[:, 1 : 1 + layout.n_trees]
        banks.append(PromptBank.build(layout.leaf_ids(tokens[rows]), hidden, rng))
    return banks[0], banks[1]


def _bank_size(n_rows: int, config: TrainConfig) -> int:
    """How many of a half's rows prompt a network."""
    return min(n_rows, MOST_PROMPTS, config.bank or MOST_PROMPTS)


def _writes_prompts(layout: TokenLayout, floor: int) -> bool:
    """Whether prompts are of rows that the model wrote."""
    return floor > 1 and layout.n_trees > 0


def _own_prompts(fitted: Fitted, tokens: NDArray[Any], floor: int, seed: np.random.SeedSequence) -> Fitted:
    """The model with prompts of rows that it wrote itself, instead of the masked leaves of real rows."""
    if not _writes_prompts(fitted.layout, floor):
        return fitted
    few = len(tokens) <= MOST_FITTING
    some = slice(None) if few else np.sort(np.random.default_rng(seed).choice(len(tokens), MOST_FITTING, replace=False))
    with threads_for(fitted.config.model.width):
        rows = fitted.writer(fitted.config.sampling, seed, lambda n: None)
        prompts = rows.own_prompts(fitted.layout.leaf_ids(tokens[some]), floor, all_real=few)
    return dataclasses.replace(fitted, prompts=prompts)


def _plan(preset: str, config: Config, layout: TokenLayout) -> str:
    """What is about to be trained, for the person who waits for it."""
    model, train = config.model, config.train
    return (
        f"{preset}: {layout.n_trees} trees, {layout.n_values} tokens of values a row; two networks of {model.layers} "
        f"layers × {model.width}, up to {train.steps:,} steps of {train.batch_size} rows each"
    )
