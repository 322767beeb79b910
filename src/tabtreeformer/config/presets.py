"""Whole sets of settings: the paper's three, and our own, sized by the table."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from ..errors import ConfigError
from .override import override
from .settings import (
    Config,
    ForestConfig,
    ModelConfig,
    SampleConfig,
    TokenConfig,
    TrainConfig,
    TreeConfig,
    one_of,
)

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
"""The paper's three models."""

AUTO, TREES = "auto", "trees"
AUTO_FLOOR = 5
"""Minimum rows of a value that the presets `auto` and `trees` keep."""

Privacy = Literal["strict", "balanced", "off"]
PRIVACY: tuple[Privacy, ...] = ("strict", "balanced", "off")
"""What is required of a model before its rows may be written, and when `auto` stops because it memorises."""
STRICT_GAP, BALANCED_GAP = 0.5, 1.0
"""Largest gap between own rows and others in nats: per row for `strict`, per column for `balanced`.

The best weights of `auto` on small tables are at 0.2 to 0.4 nats per column, so `balanced` stops only training that has
gone far beyond them; half a nat per row costs quality, and leaves hardly anything that reveals members.
"""


def check_privacy(privacy: Any) -> Privacy:
    """The mode, or an error that lists the modes."""
    one_of("privacy", privacy, PRIVACY)
    mode: Privacy = privacy
    return mode


FEW_ROWS = 400
"""Sizes of `auto` are stated for this many rows, and grow or shrink with powers of the rows beyond them."""
WIDE = 48
"""From this many columns on, batches shrink as rows grow longer, so that a step takes the same time and memory."""
MAX_CORRELATED = 300
"""Maximum number of columns whose correlations are given to networks: the time grows with the cube of their number."""
VALIDATIONS = 6
"""Validations of a network; half of them without gain end its training."""
MAX_IDS, MIN_IDS = 300, 20
"""Ids per number."""
COMMITTEE = 0.6
"""Weight of the sum of both networks where rows are fewest; with a weight of 1 the file verdict failed on iris."""
MIN_FUNCTIONS, IDS_PER_FUNCTION = 12, 8
"""Smooth functions that embed a number: few for few rows, and enough of them to learn more from many rows."""


def auto(n_rows: int, n_classes: int | None = None, tree_model: str = "lightgbm", n_columns: int = 10) -> Config:
    """Our own preset: the paper's idea, sized by the table and made for a CPU.

    `n_classes` is that of the target, None for a number. docs/auto.md has the reasons and the measurements.
    """
    times = max(1.0, n_rows / FEW_ROWS)
    narrow = min(1.0, WIDE / n_columns)
    batch_size = max(16, round(64 * times**0.2 * narrow))
    # More passes over few rows, or targets without smoothing, improve quality but fail the distance test.
    steps = max(100, round(25 * times**-0.2 * n_rows / batch_size))
    # Nothing is validated before the networks separate: the fewer rows, the earlier they do.
    shared = max(0.0, 0.7 - 0.3 * (FEW_ROWS / n_rows) ** 0.5)
    # The fewer rows, the sooner a network memorises them; masks cost quality and are not needed for many rows.
    masked = 1 / times
    width = 8 * round(6 * times**0.07)
    ids = max(MIN_IDS, min(n_rows * 2 // 5, round(3 * n_rows**0.5), MAX_IDS))
    return Config(
        tree=TreeConfig(trials=0, params=_prompt_trees(tree_model, n_classes)),
        tokens=TokenConfig(
            scheme="atoms",
            quantiles=ids,
            bins=1,
            rare_floor=AUTO_FLOOR,
        ),
        model=ModelConfig(
            softmax="allowed",
            pool=25,
            functions=max(MIN_FUNCTIONS, ids // IDS_PER_FUNCTION),
            copula=n_columns <= MAX_CORRELATED,
            width=width,
            feed_forward=4 * width,
            heads=4,
            layers=round(2 + math.log(times) / 4),
            dropout=0.0,
        ),
        train=TrainConfig(
            steps=steps,
            batch_size=batch_size,
            learning_rate=6e-3 * times**-0.1,
            matrix_rate=0.03 * times**-0.1,
            shared_share=shared,
            value_mask=(0.25 * masked, 0.5 * masked),
            table_orders=0.5,
            prompts="validated",
            margins=True,
            validation_rows=max(256, round(2048 * narrow)),
            validate_every=math.ceil(steps * (1 - shared) / VALIDATIONS),
            patience=VALIDATIONS // 2,
        ),
        sampling=SampleConfig(
            temperature_category=1.0,
            temperature_numeric=1.0,
            together=True,
            # Half of few rows teaches a network little: together they know twice as much.
            committee=COMMITTEE * min(max((FEW_ROWS - n_rows) / (FEW_ROWS / 2), 0.0), 1.0),
            batch_size=max(128, round(512 * narrow)),
        ),
    )


def _prompt_trees(tree_model: str, n_classes: int | None) -> dict[str, Any]:
    """Parameters of a tree model with about 50 trees: boosting builds one per class beyond two in every round."""
    rounds = max(5, 50 // (n_classes if n_classes and n_classes > 2 else 1))
    params: dict[str, dict[str, Any]] = {
        "lightgbm": {"n_estimators": rounds, "num_leaves": 15, "max_depth": 6, "min_child_samples": 10},
        "adversarial": {"n_estimators": 50, "num_leaves": 15, "max_depth": 6, "min_child_samples": 10},
        "xgboost": {"n_estimators": rounds, "max_depth": 4},
        "catboost": {"iterations": 50, "depth": 4},
        "decision_tree": {"max_leaf_nodes": 30, "max_depth": 8},
    }
    return params.get(tree_model, {})


LEAF_ROWS, MAX_LEAVES = 20, 5_000
"""Minimum rows per leaf where trees write the rows; more where a tree would have more leaves than this."""


def trees_alone(n_rows: int) -> Config:
    """Trees that write rows themselves: a second for most tables, and little protection."""
    return Config(
        tree=TreeConfig(model="none", trials=0),
        tokens=TokenConfig(
            scheme="atoms", quantiles=min(max(n_rows * 2 // 5, MIN_IDS), MAX_IDS), bins=1, rare_floor=AUTO_FLOOR
        ),
        forest=ForestConfig(leaf_rows=max(LEAF_ROWS, n_rows // MAX_LEAVES)),
    )


def writes_trees(preset: str, privacy: str, changed: Iterable[str]) -> bool:
    """Whether trees write the rows: on request, and under `auto` where no row needs protection.

    Changing settings of the network (`changed` lists the sections) means wanting a network.
    """
    network = {"tree", "model", "train", "sampling"} & set(changed)
    return preset == TREES or (preset == AUTO and privacy == "off" and not network)


def private_auto(n_rows: int, n_columns: int = 10) -> Config:
    """`auto` under differential privacy: no trees, a smaller network, larger batches, a fixed number of steps.

    All sizes follow from the number of rows, which is public. Masks are not needed: the noise protects.
    """
    config = auto(n_rows, None, "none", n_columns)
    return dataclasses.replace(
        config,
        tree=TreeConfig(model="none", trials=0),
        tokens=dataclasses.replace(config.tokens, quantiles=64),
        model=dataclasses.replace(
            config.model, width=48, feed_forward=96, layers=1, functions=MIN_FUNCTIONS, copula=False
        ),
        train=dataclasses.replace(
            config.train,
            steps=1000,
            batch_size=min(max(n_rows // 32, 64), 2048),
            learning_rate=4e-3,
            matrix_rate=0.0,
            margins=False,
        ),
        sampling=dataclasses.replace(config.sampling, committee=0.0),
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

    `auto` depends on the table: its rows, its columns and the classes of its target. `privacy` says when it stops
    because it memorises; the training of the paper's presets stays the paper's.
    """
    one_of("preset", preset, (AUTO, TREES, *PRESETS))
    check_privacy(privacy)
    if private:
        if preset != AUTO:
            raise ConfigError(f"differential privacy is available for preset 'auto' only, got {preset!r}")
        return override(private_auto(n_rows, n_columns), overrides, prefix="")
    if preset == TREES:
        return _trees(overrides, n_rows)
    if overrides.get("forest") is not None:
        raise ConfigError(f"settings of forest are for preset '{TREES}' only, got {preset!r}")
    if preset != AUTO:
        return override(PRESETS[preset], overrides, prefix="")
    tree = overrides.get("tree", {})
    name = tree.model if isinstance(tree, TreeConfig) else tree.get("model", "") if isinstance(tree, Mapping) else ""
    limit = {"strict": STRICT_GAP, "balanced": BALANCED_GAP * n_columns}.get(privacy)
    base = override(auto(n_rows, n_classes, name or "lightgbm", n_columns), {"train": {"gap_limit": limit}}, prefix="")
    return override(base, overrides, prefix="")


def rare_floor(preset: str, overrides: Mapping[str, Any]) -> int:
    """`tokens.rare_floor` of the preset with `overrides` applied; it depends on no table."""
    tokens = overrides.get("tokens") or {}
    if isinstance(tokens, TokenConfig):
        return tokens.rare_floor
    floor: int = tokens.get("rare_floor", AUTO_FLOOR if preset in (AUTO, TREES) else TokenConfig().rare_floor)
    return floor


def _trees(overrides: Mapping[str, Any], n_rows: int) -> Config:
    """The preset of trees that write rows, which has no network to configure."""
    network = sorted({"tree", "model", "train", "sampling"} & set(overrides))
    if network:
        raise ConfigError(f"preset '{TREES}' has no settings of {', '.join(network)}; it has tokens and forest")
    return override(trees_alone(n_rows), overrides, prefix="")
