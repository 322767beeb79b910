"""The steps of fitting: schema, codec, trees, networks, prompts."""

from __future__ import annotations

import dataclasses
import math
import platform
import time
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from . import trees
from ._version import __version__
from .config import Config, TrainConfig, TreeConfig
from .errors import ConfigError
from .fitted import Fitted
from .generation import PromptBank
from .presets import AUTO
from .progress import Progress
from .schema import Schema
from .threads import threads_for
from .tokens import TableCodec, TokenLayout
from .training import Trained, draw_masks, train_networks

TUNING_SHARE = 0.25
"""Largest share of a budget that the search for tree parameters may take."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked of a fit; the fields are those of `TabTreeFormer`."""

    preset: str
    target: str | int | None
    constraints: str | Sequence[str] | None
    budget_seconds: float | None
    device: torch.device
    configure: Callable[[int, int | None, int], Config]
    """Settings for so many rows, classes of the target (None for a number) and columns."""

    def __post_init__(self) -> None:
        if self.budget_seconds is not None and not self.budget_seconds > 0:
            raise ConfigError(f"budget_seconds must be above 0, got {self.budget_seconds!r}")

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
    df: pd.DataFrame, schema: Schema | None, request: Request, seed: np.random.SeedSequence, progress: Progress
) -> Fitted:
    """Learn a table; the schema is inferred where none is given."""
    started = time.perf_counter()
    target_seed, tree_seed, train_seed, prompt_seed = seed.spawn(4)
    schema = Schema.infer(df, request.target) if schema is None else schema.matched(df)
    frame = schema.validate(df)
    if request.target is not None:
        schema.column(request.target)  # says which columns there are when this is none of them
    tree_target = trees.choose_target(schema, frame, request.target, np.random.default_rng(target_seed))
    encoder = None if tree_target is None else trees.FeatureEncoder.learn(frame, schema, tree_target)
    config = request.configure(len(frame), None if encoder is None else encoder.n_classes, frame.shape[1])
    codec = TableCodec.learn(frame, schema, config.tokens, request.relations(schema))
    budget = math.inf if request.budget_seconds is None else request.budget_seconds
    leaf_model, leaf_ids = _fit_trees(_in_time(config.tree, budget), encoder, frame, tree_seed, progress)
    tree_seconds = time.perf_counter() - started

    for note in codec.notes:
        progress.note(note)
    layout = TokenLayout.build(leaf_model.n_leaves, codec.slots)
    progress.note(_plan(request.preset, config, layout))
    tokens = layout.to_tokens(leaf_ids, codec.encode(frame))
    left = budget - (time.perf_counter() - started)
    with threads_for(config.model.width):
        trained = train_networks(layout, tokens, config.model, config.train, train_seed, request.device, progress, left)
    return Fitted(
        config=config,
        schema=schema,
        codec=codec,
        layout=layout,
        tree_target=tree_target,
        tree_encoder=encoder,
        tree_text=leaf_model.to_text(),
        models=trained.models,
        prompts=_mask_prompts(leaf_ids, trained, layout, config.train, prompt_seed),
        record={
            "rows": len(frame),
            "preset": request.preset,
            "target": request.target,
            "seed": str(seed.entropy),
            "tree_seconds": round(tree_seconds, 3),
            "fit_seconds": round(time.perf_counter() - started, 3),
            "training": [history.to_json() for history in trained.histories],
            "versions": _versions(),
        },
    )


def _fit_trees(
    config: TreeConfig,
    encoder: trees.FeatureEncoder | None,
    frame: pd.DataFrame,
    seed: np.random.SeedSequence,
    progress: Progress,
) -> tuple[trees.LeafModel, NDArray[np.int64]]:
    """Fit the trees and find each row's leaves (N, T); no trees where there is nothing to predict."""
    if encoder is None:
        leaf_model = trees.load_leaf_model("none", "")
        return leaf_model, np.empty((len(frame), 0), dtype=np.int64)
    features = encoder.features(frame)
    number = int(seed.generate_state(1)[0] >> 1)  # tree libraries take 31 bits
    known = np.flatnonzero(frame[encoder.target_name].notna())  # rows without a target teach nothing, and have leaves
    target = encoder.target(frame.iloc[known])
    leaf_model = trees.fit_leaf_model(config, features.take(known), target, number, progress)
    return leaf_model, leaf_model.leaves(features)


def _in_time(config: TreeConfig, budget: float) -> TreeConfig:
    """The same settings, with a limit on the search that leaves most of the budget to the networks."""
    seconds = min(budget * TUNING_SHARE, config.timeout_seconds or math.inf)
    return dataclasses.replace(config, timeout_seconds=seconds if math.isfinite(seconds) else None)


def _mask_prompts(
    leaf_ids: NDArray[np.int64],
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
        hidden = draw_masks(len(rows), layout, config, rng)[:, 1 : 1 + layout.n_trees]
        banks.append(PromptBank.build(leaf_ids[rows], hidden, rng))
    return banks[0], banks[1]


def _plan(preset: str, config: Config, layout: TokenLayout) -> str:
    """What is about to be trained, for the person who waits for it."""
    model, train = config.model, config.train
    return (
        f"{preset}: {layout.n_trees} trees, {layout.n_values} tokens of values a row; two networks of {model.layers} "
        f"layers × {model.width}, up to {train.steps:,} steps of {train.batch_size} rows each"
    )


def _versions() -> dict[str, str]:
    return {
        "tabtreeformer": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "pandas": pd.__version__,
    }
