"""The pipeline of a fit, top to bottom: choose what to learn, then codec, trees, tokens, networks, prompts."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd

from .. import trees
from .._runtime.threads import threads_for
from ..artifact.fitted import Fitted
from ..config.presets import AUTO
from ..config.settings import Config, TreeConfig
from ..data.schema import Schema
from ..sampling.margins import correct_margins
from ..tokens import TableCodec, TokenLayout
from ..tokens.table_codec import protected_schema
from .checkpoint.folder import TOKENS
from .checkpoint.resuming import fit_leaf_model, identity, versions
from .evidence import Evidence
from .out_of_core import InMemory, OnDisk, RowEncoder
from .prompts import masked_prompts, with_written_prompts
from .request import Request, laws_of, record_of
from .resources import Resources
from .trainer import train_networks

TUNING_SHARE = 0.25
"""Maximum share of a budget spent on searching for tree parameters."""


def fit_table(
    table: InMemory | OnDisk,
    request: Request,
    holdout: pd.DataFrame | None,
    seed: np.random.SeedSequence,
    resources: Resources,
) -> tuple[Fitted, Evidence]:
    """Learn an open table; the evidence is for the privacy gate, and is valid as long as the table is open."""
    target_seed, tree_seed, train_seed, prompt_seed = seed.spawn(4)
    folder, progress = resources.folder, resources.progress
    holdout = None if holdout is None else table.schema.validate(holdout)
    setup = settle(table, request, target_seed)
    config = setup.config
    if folder.needed:
        folder.begin(
            identity(table.frame, setup.schema, config, setup.relations, seed, resources.device, folder.team.size)
        )
    laws = laws_of(setup.relations, table.frame, setup.schema, config.tokens.rare_floor, seed)
    codec = TableCodec.learn(table.frame, setup.schema, config.tokens, laws, request.units)
    leaf_model = grow_trees(setup, table, request, tree_seed, resources)
    tree_seconds = folder.seconds

    if request.target is None and setup.tree_target is not None:
        how = "chosen by its name and kind" if request.preset == AUTO else "drawn at random, as in the paper"
        progress.note(f"the trees predict {setup.tree_target!r}, {how}; target=… (--target) names another")
    for note in codec.notes:
        progress.note(note)
    layout = TokenLayout.build(leaf_model.n_leaves, codec.slots)
    progress.note(_announce(request.preset, config, layout))
    tokens = table.tokens(RowEncoder(codec, setup.encoder, leaf_model, layout), progress)
    if isinstance(tokens, np.memmap) and folder.needed:  # of a table in parts, only a sample was known so far
        folder.begin({"table": hashlib.sha256(tokens.data).hexdigest()}, TOKENS)
    with threads_for(config.model.width):
        in_time = dataclasses.replace(resources, seconds=request.seconds_to_train - folder.seconds)
        trained = train_networks(layout, tokens, config, train_seed, in_time, request.units)
        fitted = Fitted(
            config=config,
            schema=setup.schema,
            codec=codec,
            layout=layout,
            tree_target=setup.tree_target,
            tree_encoder=setup.encoder,
            tree_text=leaf_model.to_text(),
            models=trained.models,
            prompts=masked_prompts(tokens, trained.parts, layout, config.train, prompt_seed),
            record={
                **record_of(table, request, codec, config.tokens.rare_floor, seed, tree_seconds),
                "training": [history.to_json() for history in trained.histories],
                "versions": versions(),
                **({"interrupted": True} if trained.interrupted else {}),
            },
        )
        written_seed, margin_seed = prompt_seed.spawn(2)
        fitted = with_written_prompts(fitted, tokens, written_seed)
        if config.train.margins:
            correct_margins(fitted, tokens, margin_seed)
    evidence = Evidence(
        take=table.take, tokens=tokens, parts=trained.parts, histories=trained.histories, holdout=holdout
    )
    return fitted, evidence


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setup:
    """What is decided before anything is learned."""

    config: Config
    schema: Schema
    tree_target: str | int | None
    """The column that the trees predict; None if there are no trees."""
    encoder: trees.FeatureEncoder | None
    relations: Sequence[str] | Literal["auto"] | None
    """The given constraints, or `auto` to find them."""


def settle(table: InMemory | OnDisk, request: Request, seed: np.random.SeedSequence) -> Setup:
    """Choose the target of the trees and resolve the settings, once, from the table."""
    frame, floor = table.frame, request.rare_floor
    if request.target is not None:
        table.schema.column(request.target)  # raises an error that lists the columns if there is no such column
    schema = protected_schema(table.schema, frame, floor, request.units)
    by_chance = request.preset != AUTO  # the paper draws one
    rng = np.random.default_rng(seed)
    target = trees.choose_target(schema, frame, request.target, rng, drawn=by_chance)
    n_classes = None if target is None else trees.count_classes(schema, frame, target, floor)
    config = request.configure(n_rows=table.n_rows, n_columns=frame.shape[1], n_classes=n_classes)
    encoder = None if target is None else trees.FeatureEncoder.learn(frame, schema, target, config.tokens)
    if encoder is not None and not encoder.can_learn:
        target = encoder = None
    return Setup(
        config=table.fitting(config),
        schema=schema,
        tree_target=target,
        encoder=encoder,
        relations=request.relations(schema),
    )


def grow_trees(
    setup: Setup,
    table: InMemory | OnDisk,
    request: Request,
    seed: np.random.SeedSequence,
    resources: Resources,
) -> trees.LeafModel:
    """Fit the trees; none if there is nothing to predict."""
    encoder, frame, folder = setup.encoder, table.for_trees, resources.folder
    if encoder is None:
        return trees.load_leaf_model("none", "")
    number = int(seed.generate_state(1)[0] >> 1)  # tree libraries take 31 bits
    known = frame[frame[encoder.target_name].notna()]  # rows without a target get leaves, but teach nothing
    return fit_leaf_model(
        _in_time(setup.config.tree, request.budget_seconds),
        encoder.features(known),
        encoder.target(known),
        number,
        resources.progress,
        folder.stage("trees"),
        setup.config.tokens.rare_floor,
        folder.team,
    )


def _in_time(config: TreeConfig, budget_seconds: float | None) -> TreeConfig:
    """The same settings, with a limit on the search that leaves most of the budget to the networks."""
    budget = math.inf if budget_seconds is None else budget_seconds
    seconds = min(budget * TUNING_SHARE, config.timeout_seconds or math.inf)
    return dataclasses.replace(config, timeout_seconds=seconds if math.isfinite(seconds) else None)


def _announce(preset: str, config: Config, layout: TokenLayout) -> str:
    """The line that announces what is about to be trained."""
    model, train = config.model, config.train
    return (
        f"{preset}: {layout.n_trees} trees, {layout.n_values} value tokens per row; two networks of {model.layers} "
        f"layers × {model.width}, up to {train.steps:,} steps of {train.batch_size} rows each"
    )
