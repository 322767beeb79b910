"""Whole sets of settings: the paper's three, to the letter, and our own, sized by the table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from .config import Config, ModelConfig, SampleConfig, TokenConfig, TrainConfig, TreeConfig, one_of, override
from .errors import ConfigError

_L = ModelConfig(width=768, feed_forward=3072, heads=12)

PRESETS: Mapping[str, Config] = {
    "S": Config(),
    "L": Config(model=_L),
    "NM": Config(
        model=_L,
        train=TrainConfig(leaf_mask=(0.0, 0.0), value_mask=(0.0, 0.0), patience=100, restore_best=False),
        sampling=SampleConfig(temperature_category=0.2, temperature_numeric=0.1),
    ),
}
"""The paper's three models, to the letter."""

AUTO = "auto"

Privacy = Literal["strict", "balanced", "off"]
PRIVACY: tuple[Privacy, ...] = ("strict", "balanced", "off")
"""What is asked of a model before its rows may be written, and when `auto` stops training because it memorises."""
STRICT_GAP, BALANCED_GAP = 0.5, 1.0
"""Largest gap between own rows and others in nats: a row for `strict`, a column for `balanced`.

The best weights of `auto` on small tables are at 0.2 to 0.4 nats a column, so that `balanced` stops only what has gone
far beyond them; half a nat a row costs quality, and leaves hardly anything to tell members by.
"""


def check_privacy(privacy: Any) -> Privacy:
    """The mode, or an error that says which there are."""
    one_of("privacy", privacy, PRIVACY)
    mode: Privacy = privacy
    return mode


WIDE = 48
"""From so many columns on, batches shrink as rows grow longer, so that a step costs the same time and memory."""


def auto(n_rows: int, n_classes: int | None = None, tree_model: str = "lightgbm", n_columns: int = 10) -> Config:
    """Our own preset: the paper's idea, sized by the table and made for a CPU.

    `n_classes` is that of the target, None for a number: boosting builds a tree for each class beyond two in every
    round, and the prompt should stay about 50 trees long. docs/auto.md has the reasons and the measurements.
    """
    small = n_rows < 5_000
    passes = 2 if small else 1
    narrow = min(1.0, WIDE / n_columns)
    batch_size = max(16, round((64 if small else 256) * narrow))
    half_pass = max(1, n_rows // 2 // batch_size)
    rounds = max(5, 50 // (n_classes if n_classes and n_classes > 2 else 1))
    trees: dict[str, dict[str, Any]] = {
        "lightgbm": {"n_estimators": rounds, "num_leaves": 15, "max_depth": 6, "min_child_samples": 10},
        "xgboost": {"n_estimators": rounds, "max_depth": 4},
        "catboost": {"iterations": 50, "depth": 4},
        "decision_tree": {"max_leaf_nodes": 30, "max_depth": 8},
    }
    return Config(
        tree=TreeConfig(tune=False, params=trees.get(tree_model, {})),
        tokens=TokenConfig(
            scheme="atoms", quantiles=min(max(n_rows * 2 // 5, 20), 60 if small else 128), bins=1, rare_floor=5
        ),
        model=ModelConfig(
            softmax="allowed",
            pool=10,
            order="any",
            basis=12,
            own_rows=50,
            smoothing=0.7,
            width=48 if small else 64,
            feed_forward=192 if small else 256,
            heads=4,
            layers=2 if small else 3,
            dropout=0.0,
            activation="relu",
        ),
        train=TrainConfig(
            steps=3000 if small else 2000,
            batch_size=batch_size,
            learning_rate=1e-3 if small else 2e-3,
            average=0.98,
            shared_passes=10,
            blank_prompts=0.1,
            table_orders=0.5,
            prompts="validated",
            bank=10_000,
            validation_rows=max(256, round(4096 * narrow)),
            validate_every=max(20, passes * half_pass),
            patience=8 if small else 4,
        ),
        sampling=SampleConfig(
            temperature_category=1.1 if small else 1.0,
            temperature_numeric=1.3 if small else 1.0,
            batch_size=max(128, round(2048 * narrow)),
        ),
    )


def private_auto(n_rows: int, n_columns: int = 10) -> Config:
    """`auto` under differential privacy: no trees, a smaller network, larger batches, steps settled before.

    All sizes follow from the number of rows, which is public. Masks have no use: noise protects.
    """
    config = auto(n_rows, None, "none", n_columns)
    return dataclasses.replace(
        config,
        tree=TreeConfig(model="none", tune=False),
        tokens=dataclasses.replace(config.tokens, quantiles=64),
        model=dataclasses.replace(config.model, width=48, feed_forward=96, layers=1),
        train=dataclasses.replace(
            config.train,
            steps=1000,
            batch_size=min(max(n_rows // 32, 64), 2048),
            learning_rate=4e-3,
            clip=0.5,
            average=0.99,
            value_mask=(0.0, 0.0),
        ),
        sampling=dataclasses.replace(config.sampling, temperature_category=1.0, temperature_numeric=1.0),
    )


def configure(
    preset: str,
    overrides: Mapping[str, Any],
    n_rows: int = 1000,
    n_classes: int | None = None,
    n_columns: int = 10,
    privacy: str = "balanced",
    private: bool = False,
) -> Config:
    """Return the preset with `overrides` applied; a section is a mapping of fields or a whole dataclass.

    `auto` looks at the table: its rows, its columns and the classes of its target. `privacy` says when it stops because
    it memorises; the training of the paper's presets stays the paper's.
    """
    one_of("preset", preset, (AUTO, *PRESETS))
    check_privacy(privacy)
    if private:
        if preset != AUTO:
            raise ConfigError(f"differential privacy is there for preset 'auto' alone, got {preset!r}")
        return override(private_auto(n_rows, n_columns), overrides, prefix="")
    if preset != AUTO:
        return override(PRESETS[preset], overrides, prefix="")
    tree = overrides.get("tree", {})
    name = tree.model if isinstance(tree, TreeConfig) else tree.get("model", "") if isinstance(tree, Mapping) else ""
    limit = {"strict": STRICT_GAP, "balanced": BALANCED_GAP * n_columns}.get(privacy)
    base = override(auto(n_rows, n_classes, name or "lightgbm", n_columns), {"train": {"gap_limit": limit}}, prefix="")
    return override(base, overrides, prefix="")
