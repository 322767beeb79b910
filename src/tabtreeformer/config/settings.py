"""Settings as values: frozen dataclasses, compared by value, validated when built; JSON.

One field per setting; docs/settings.md is made from the docstrings of the fields.

`override.py` merges settings with changes, so that every field can be reached from Python (`train={"steps": 200}`) and
from the command line (`--set train.steps=200`).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import ConfigError
from .override import override, without_retired


def one_of(name: str, value: Any, choices: Iterable[str]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ConfigError(f"{name} must be at least {least}, got {value!r}")


TREE_MODELS = {
    "lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost", "decision_tree": "DecisionTree",
    "adversarial": "Adversarial", "none": "NoTrees",
}  # fmt: skip
"""Module of `trees/` → its class; a new tree model is a new file there and a line here."""


@dataclass(frozen=True, kw_only=True)
class TreeConfig:
    """The tree model whose leaves prompt the transformer."""

    model: str = "lightgbm"
    """One of lightgbm, xgboost, catboost, decision_tree, none; or adversarial, which needs no target: it
    distinguishes real rows from rows with shuffled columns."""
    trials: int = 50
    """Maximum number of Optuna trials to tune the tree model before fitting; 0: no tuning."""
    timeout_seconds: float | None = None
    """Maximum time for tuning; the current trial is finished. null: no limit."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Fixed parameters of the tree library, which are not tuned, e.g. {"n_estimators": 50}."""

    def __post_init__(self) -> None:
        one_of("tree.model", self.model, TREE_MODELS)
        _at_least("tree.trials", self.trials, 0)
        if self.timeout_seconds is not None and self.timeout_seconds <= 0:
            raise ConfigError(f"tree.timeout_seconds must be above 0 or null, got {self.timeout_seconds!r}")


@dataclass(frozen=True, kw_only=True)
class TokenConfig:
    """How values become ids and back."""

    scheme: Literal["quantile", "atoms"] = "quantile"
    """`quantile` is the paper's; `atoms` keeps frequent values exactly and draws all others inside intervals."""
    bins: int = 10
    """K-means bins per numeric column (the paper's K); unused with scheme `atoms`, in which a number is one token."""
    quantiles: int = 1000
    """Quantiles per numeric column (the paper's Q); with scheme `atoms`, the maximum number of ids."""
    rare_floor: int = 0
    """Minimum number of rows for keeping a category, an end of a range or an interval; 0 keeps all (the paper)."""

    def __post_init__(self) -> None:
        one_of("tokens.scheme", self.scheme, ("quantile", "atoms"))
        _at_least("tokens.bins", self.bins, 1 if self.scheme == "atoms" else 2)
        _at_least("tokens.quantiles", self.quantiles, 2)
        _at_least("tokens.rare_floor", self.rare_floor, 0)


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The transformer."""

    backbone: str = "gpt2"
    """`gpt2` is our own decoder; `hf:gpt2`, `hf:llama`, … use a causal model of transformers, built from its config."""
    width: int = 256
    """Size of the residual stream."""
    feed_forward: int = 1024
    """Inner size of the feed-forward layers."""
    heads: int = 8
    """Attention heads; must divide `width`."""
    layers: int = 6
    """Transformer blocks."""
    dropout: float = 0.1
    """Dropout on embeddings, attention and residuals during training."""
    softmax: Literal["vocabulary", "allowed", "masked"] = "vocabulary"
    """`vocabulary`: over all tokens (the paper's network). `allowed`: per slot, over its own ids (the network of
    `auto`). `masked`: as `allowed`, but values are filled in random order with bidirectional attention.
    """
    pool: int = 1
    """With softmax `allowed`: number of trees whose leaves are summed into one prompt position."""
    functions: int = 12
    """With softmax `allowed`: number of smooth functions of an id's rank that embed the ids of a number."""
    copula: bool = False
    """With softmax `allowed`: add the prediction of a Gaussian copula (rank correlations with earlier columns) to the
    logits.
    """
    quantile_embedding: Literal["sigmoid", "tanh", "softsign", "ramp", "none", "raw"] = "sigmoid"
    """With softmax `vocabulary`: initial ordered embeddings of quantile tokens (the paper: `sigmoid`; `ramp` is
    piecewise linear); `none`: random. With the other networks: `raw` adds the standardised value of a number to its
    embedding; all other values have no effect.
    """
    backbone_options: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of a Hugging Face config, e.g. {"num_key_value_heads": 2}."""

    def __post_init__(self) -> None:
        for name in ("width", "feed_forward", "heads", "layers"):
            _at_least(f"model.{name}", getattr(self, name), 1)
        if self.width % self.heads:
            raise ConfigError(f"model.heads must divide model.width, got heads={self.heads}, width={self.width}")
        one_of("model.softmax", self.softmax, ("vocabulary", "allowed", "masked"))
        cores = ("sigmoid", "tanh", "softsign", "ramp", "none", "raw")
        one_of("model.quantile_embedding", self.quantile_embedding, cores)
        _at_least("model.pool", self.pool, 1)
        _at_least("model.functions", self.functions, 1)
        if self.softmax == "vocabulary" and self.pool > 1:
            raise ConfigError(f"model.pool={self.pool} needs model.softmax='allowed'")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"model.dropout must be in [0, 1), got {self.dropout!r}")
        if self.backbone != "gpt2" and not self.backbone.startswith("hf:"):
            raise ConfigError(f"model.backbone must be 'gpt2' or 'hf:<model type>', got {self.backbone!r}")

        if self.softmax == "masked" and self.backbone != "gpt2":
            raise ConfigError(f"model.softmax='masked' needs model.backbone='gpt2', got {self.backbone!r}")
        if self.softmax == "vocabulary" and self.quantile_embedding == "raw":
            raise ConfigError("model.quantile_embedding='raw' needs model.softmax='allowed' or 'masked'")

    @property
    def any_order(self) -> bool:
        """Whether the network learns the columns of a row in any order, and with any part of the prompt masked."""
        return self.softmax != "vocabulary"


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How the two networks are trained."""

    steps: int = 5000
    """Maximum number of optimiser steps of a network, including the shared ones (the paper's s)."""
    batch_size: int = 128
    """Rows per step; halved when a GPU runs out of memory."""
    accumulate: int = 1
    """Number of pieces into which the rows of a step are split: less memory, same update."""
    learning_rate: float = 5e-4
    """Peak learning rate of AdamW; it falls linearly to zero."""
    matrix_rate: float = 0.0
    """Peak learning rate of Muon for hidden matrices; rates then warm up and decay once over all steps.

    0: AdamW updates all weights, and its rate decays in the shared start and again in each network (the paper).
    """
    shared_share: float = 0.1
    """Maximum share of the steps in the shared start; it takes at most 20 passes over the rows (the paper)."""
    prompts: Literal["trained", "validated"] = "trained"
    """Source of a network's prompts: leaves of the rows that it was trained on (the paper), or of unseen rows."""
    margins: bool = False
    """With model.softmax `allowed`: after training, correct the shares of each column's values to those of the training
    rows.
    """
    validation_rows: int | None = None
    """Maximum number of validation rows from the other half, drawn once; null: all."""
    leaf_mask: tuple[float, float] = (0.5, 0.75)
    """Range of the share of masked leaf tokens; drawn per row."""
    table_orders: float = 0.0
    """With model.softmax `allowed`: share of the rows that are learned in table order; the others are learned in random
    order.
    """
    value_mask: tuple[float, float] = (0.25, 0.5)
    """Range of the share of masked value tokens; drawn per row."""
    validate_every: int = 100
    """Steps between validations on the other half."""
    patience: int = 3
    """Number of consecutive validations without a better loss after which training stops."""
    gap_limit: float | None = None
    """Stop if a network's own rows are likelier than others by more than this, in nats per row; null: never."""
    restore_best: bool = True
    """Keep the weights of the best validation instead of the last ones."""
    ordinal_loss: float = 0.005
    """σ of the ordinal cross-entropy on quantile tokens: near misses within σ times their number cost less (5 of the
    paper's 1000); 0: plain cross-entropy."""
    precision: Literal["auto", "fp32", "fp16", "bf16"] = "auto"
    """Number format; `auto` is fp16 on a GPU and fp32 on a CPU."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "accumulate", "validate_every", "patience"):
            _at_least(f"train.{name}", getattr(self, name), 1)
        if not self.learning_rate > 0:
            raise ConfigError(f"train.learning_rate must be above 0, got {self.learning_rate!r}")
        if not self.matrix_rate >= 0:
            raise ConfigError(f"train.matrix_rate must be at least 0, got {self.matrix_rate!r}")
        if not self.ordinal_loss >= 0:
            raise ConfigError(f"train.ordinal_loss must be at least 0, got {self.ordinal_loss!r}")
        if self.gap_limit is not None and not self.gap_limit > 0:
            raise ConfigError(f"train.gap_limit must be above 0 or null, got {self.gap_limit!r}")
        if not 0 <= self.shared_share < 1:
            raise ConfigError(f"train.shared_share must be in [0, 1), got {self.shared_share!r}")
        if not 0 <= self.table_orders <= 1:
            raise ConfigError(f"train.table_orders must be in [0, 1], got {self.table_orders!r}")
        for name in ("leaf_mask", "value_mask"):
            low, high = getattr(self, name)
            if not 0 <= low <= high <= 1:
                raise ConfigError(f"train.{name} must be two shares in order, e.g. [0.25, 0.5], got {[low, high]!r}")
        one_of("train.prompts", self.prompts, ("trained", "validated"))
        one_of("train.precision", self.precision, ("auto", "fp32", "fp16", "bf16"))


@dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """How rows are drawn."""

    temperature_category: float = 2.0
    """Temperature of category tokens."""
    temperature_numeric: float = 1.0
    """Temperature of bin and quantile tokens."""
    together: bool = False
    """Draw rows in groups, which match the learned shares better than independent rows; each single row is
    as random.
    """
    leaf_prompts: bool = True
    """Use leaf prompts, masked as in training; otherwise every leaf is masked."""
    committee: float = 0.0
    """Above 0, both networks draw each row together: near 0 by the mean of their logits, at 1 by their sum."""
    batch_size: int = 512
    """Rows per batch; memory depends on this and not on the number of requested rows."""

    def __post_init__(self) -> None:
        for name in ("temperature_category", "temperature_numeric"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"sampling.{name} must be above 0, got {getattr(self, name)!r}")
        if not 0 <= self.committee <= 1:
            raise ConfigError(f"sampling.committee must be between 0 and 1, got {self.committee!r}")
        _at_least("sampling.batch_size", self.batch_size, 1)


@dataclass(frozen=True, kw_only=True)
class ForestConfig:
    """The preset `trees`, which uses no network."""

    leaf_rows: int = 20
    """Minimum training rows per leaf: larger leaves reveal less about single rows and cost quality."""

    def __post_init__(self) -> None:
        _at_least("forest.leaf_rows", self.leaf_rows, 1)


@dataclass(frozen=True, kw_only=True)
class Config:
    """All settings of a model."""

    tree: TreeConfig = field(default_factory=TreeConfig)
    """The trees whose leaves prompt the network."""
    tokens: TokenConfig = field(default_factory=TokenConfig)
    """How columns become ids."""
    model: ModelConfig = field(default_factory=ModelConfig)
    """The network."""
    train: TrainConfig = field(default_factory=TrainConfig)
    """How the network is trained."""
    sampling: SampleConfig = field(default_factory=SampleConfig)
    """How rows are drawn."""
    forest: ForestConfig | None = None
    """If set, trees write and no network is trained."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data; `from_json` gives an equal config back.

        Examples
        --------
        >>> PRESETS["S"].to_json()["model"]["width"]
        256
        """
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Config:
        """Read what `to_json` returned, in this version or an earlier one; fields that never existed are refused.

        Parameters
        ----------
        data
            Settings by section.

        Examples
        --------
        >>> Config.from_json(PRESETS["S"].to_json()) == PRESETS["S"]
        True
        """
        return override(cls(), without_retired(data), prefix="")


SECTIONS = tuple(f.name for f in dataclasses.fields(Config))
