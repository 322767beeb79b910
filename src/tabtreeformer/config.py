"""Settings as values: frozen dataclasses, compared by value, validated when built; JSON.

One field a setting. `override` merges settings with changes, so that every field can be reached from Python
(`train={"steps": 200}`) and from the command line (`--set train.steps=200`).
"""

from __future__ import annotations

import dataclasses
import json
import numbers
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from .errors import ConfigError


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ConfigError(f"{name} must be at least {least}, got {value!r}")


TREE_MODELS = ("lightgbm", "xgboost", "catboost", "decision_tree", "none")


@dataclass(frozen=True, kw_only=True)
class TreeConfig:
    """The tree model whose leaves prompt the transformer."""

    model: str = "lightgbm"
    """One of lightgbm, xgboost, catboost, decision_tree, none."""
    tune: bool = True
    """Search the model's parameters with Optuna before fitting."""
    trials: int = 50
    """Most trials of the search."""
    timeout_seconds: float | None = None
    """Most seconds of the search; the trial under way is finished."""
    folds: int = 3
    """Cross-validation folds a trial; stratified for classes."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the tree library that are fixed, not searched (for example {"n_estimators": 50})."""

    def __post_init__(self) -> None:
        one_of("tree.model", self.model, TREE_MODELS)
        _at_least("tree.trials", self.trials, 1)
        _at_least("tree.folds", self.folds, 2)
        if self.timeout_seconds is not None and self.timeout_seconds <= 0:
            raise ConfigError(f"tree.timeout_seconds must be above 0 or null, got {self.timeout_seconds!r}")


@dataclass(frozen=True, kw_only=True)
class TokenConfig:
    """How values become ids and back."""

    scheme: Literal["quantile", "atoms"] = "quantile"
    """`quantile` is the paper's; `atoms` keeps repeated values exact and draws inside intervals for the rest."""
    bins: int = 10
    """K-means bins a numeric column (the paper's K); with scheme `atoms`, 1 means none: a number is one token."""
    quantiles: int = 1000
    """Quantiles a numeric column (the paper's Q)."""
    levels: int = 1
    """Quantile tokens a numeric column; each splits the values inside the quantile before it."""
    percentile_method: str = "linear"
    """How scikit-learn's KBinsDiscretizer interpolates quantiles (`quantile_method`)."""
    decode: Literal["midpoint", "draw"] = "midpoint"
    """The middle of the quantile (the paper), or a value drawn inside it on the column's own grid of decimals."""
    rare_floor: int = 0
    """Rows that a category, an end of a range and an interval need to be kept; 0 keeps them all (the paper)."""

    def __post_init__(self) -> None:
        one_of("tokens.scheme", self.scheme, ("quantile", "atoms"))
        _at_least("tokens.bins", self.bins, 1 if self.scheme == "atoms" else 2)
        _at_least("tokens.quantiles", self.quantiles, 2)
        _at_least("tokens.levels", self.levels, 1)
        _at_least("tokens.rare_floor", self.rare_floor, 0)
        one_of("tokens.percentile_method", self.percentile_method, _PERCENTILE_METHODS)
        one_of("tokens.decode", self.decode, ("midpoint", "draw"))


_PERCENTILE_METHODS = (
    "linear", "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
    "weibull", "median_unbiased", "normal_unbiased",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The transformer."""

    backbone: str = "gpt2"
    """`gpt2` is our own decoder; `hf:gpt2`, `hf:llama`, … any causal model of transformers, from its config."""
    width: int = 256
    """Size of the residual stream."""
    feed_forward: int = 1024
    """Inner size of the feed-forward layers."""
    heads: int = 8
    """Attention heads; must divide `width`."""
    layers: int = 6
    """Transformer blocks."""
    dropout: float = 0.1
    """Dropout on embeddings, attention and residuals while training."""
    activation: Literal["gelu", "relu"] = "gelu"
    """Of the feed-forward layers; GPT-2's tanh-GELU costs a CPU 15 times a ReLU."""
    softmax: Literal["vocabulary", "allowed"] = "vocabulary"
    """Over all tokens (the paper), or for each slot over the ids that it may hold, with embeddings of its own."""
    pool: int = 1
    """Trees whose leaves are summed into one prompt position (with softmax `allowed`)."""
    order: Literal["natural", "any"] = "natural"
    """With softmax `allowed`: columns in table order, or in a new order for each row while training."""
    frequency_start: bool = True
    """With softmax `allowed`: start the output biases at the frequencies of the ids, not at zero."""
    basis: int = 0
    """With softmax `allowed`: so many smooth functions of an id's rank shape the embeddings and heads of numbers."""
    own_rows: int = 0
    """With a basis: ids of numbers seen in so many rows, or standing out, have embeddings and heads of their own."""
    smoothing: float = 0.0
    """With softmax `allowed`: width, in ids, of the Gaussian over neighbouring ids that is the target of a number."""
    tied: bool = True
    """With softmax `vocabulary`: use the token embeddings as the output head too."""
    quantile_embedding: bool = True
    """With softmax `vocabulary`: start the quantile tokens from the paper's ordered embedding, not at random."""
    backbone_options: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of a Hugging Face config (for example {"num_key_value_heads": 2})."""

    def __post_init__(self) -> None:
        for name in ("width", "feed_forward", "heads", "layers"):
            _at_least(f"model.{name}", getattr(self, name), 1)
        if self.width % self.heads:
            raise ConfigError(f"model.heads must divide model.width, got heads={self.heads}, width={self.width}")
        one_of("model.softmax", self.softmax, ("vocabulary", "allowed"))
        _at_least("model.pool", self.pool, 1)
        if self.softmax == "vocabulary" and self.pool > 1:
            raise ConfigError(f"model.pool={self.pool} needs model.softmax='allowed'")
        one_of("model.activation", self.activation, ("gelu", "relu"))
        one_of("model.order", self.order, ("natural", "any"))
        if self.softmax == "vocabulary" and self.order == "any":
            raise ConfigError("model.order='any' needs model.softmax='allowed'")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"model.dropout must be in [0, 1), got {self.dropout!r}")
        if self.backbone != "gpt2" and not self.backbone.startswith("hf:"):
            raise ConfigError(f"model.backbone must be 'gpt2' or 'hf:<model type>', got {self.backbone!r}")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How the two networks are trained."""

    steps: int = 5000
    """Optimiser steps of a network, the shared ones included (the paper's s)."""
    batch_size: int = 128
    """Rows a step; halved when a GPU runs out of memory."""
    accumulate: int = 1
    """Pieces in which the rows of a step pass through the network, one after the other: less memory, same update."""
    learning_rate: float = 5e-4
    """Peak rate of AdamW; falls linearly to zero."""
    weight_decay: float = 0.0
    """Decoupled weight decay."""
    clip: float = 1.0
    """Largest gradient norm."""
    average: float = 0.0
    """Validate and keep a moving average of the weights, of which each step keeps this share; 0: no average."""
    shared_passes: int = 20
    """Passes over all rows before the halves part, unless `shared_share` of the steps is fewer."""
    shared_share: float = 0.1
    """Largest share of the steps that the shared start may take."""
    validation_share: float = 0.5
    """Share of the rows that a network is validated on; it is trained on the others (half and half in the paper)."""
    prompts: Literal["trained", "validated"] = "trained"
    """Whose leaves prompt a network when it writes rows: those it was trained on (the paper), or those it never saw."""
    bank: int | None = None
    """Most masked prompts that are kept for each network; None: one for each row."""
    validation_rows: int | None = None
    """Validate on at most so many of them, drawn once."""
    side_by_side: bool | None = None
    """Train both networks at once in two threads; by default where the CPU has cores and there is no dropout."""
    leaf_mask: tuple[float, float] = (0.5, 0.75)
    """Range of the share of leaf tokens that is masked, drawn a row."""
    blank_prompts: float = 0.0
    """Share of the rows whose leaves are all masked, so that the networks can also do without."""
    table_orders: float = 0.0
    """With model.order `any`: share of the rows that are learned in table order, in which new rows are drawn."""
    value_mask: tuple[float, float] = (0.25, 0.5)
    """Range of the share of value tokens that is masked, drawn a row."""
    validate_every: int = 100
    """Steps between validations on the other half."""
    patience: int = 3
    """Validations without a better loss before training stops."""
    gap_limit: float | None = None
    """Stop when a network finds its own rows likelier than the others by more than so many nats a row; null: never."""
    restore_best: bool = True
    """Keep the weights of the best validation instead of the last ones."""
    ordinal_loss: bool = True
    """Ordinal cross-entropy on quantile tokens; plain cross-entropy otherwise."""
    sigma: float = 0.005
    """Reach of the ordinal weights, as a share of the quantile tokens."""
    floor: float = 0.5
    """Ordinal weight of the right token (the paper's m)."""
    leaf_loss: bool = True
    """Count the leaf positions in the loss, as the paper does."""
    precision: Literal["auto", "fp32", "fp16", "bf16"] = "auto"
    """auto is fp16 on a GPU and fp32 on a CPU."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "accumulate", "validate_every", "patience"):
            _at_least(f"train.{name}", getattr(self, name), 1)
        _at_least("train.shared_passes", self.shared_passes, 0)
        if self.bank is not None:
            _at_least("train.bank", self.bank, 1)
        for name in ("learning_rate", "clip", "sigma", "floor"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"train.{name} must be above 0, got {getattr(self, name)!r}")
        if self.gap_limit is not None and not self.gap_limit > 0:
            raise ConfigError(f"train.gap_limit must be above 0 or null, got {self.gap_limit!r}")
        if not 0 <= self.shared_share < 1:
            raise ConfigError(f"train.shared_share must be in [0, 1), got {self.shared_share!r}")
        if not 0 <= self.average < 1:
            raise ConfigError(f"train.average must be in [0, 1), got {self.average!r}")
        for name in ("blank_prompts", "table_orders"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"train.{name} must be in [0, 1], got {getattr(self, name)!r}")
        if not 0 < self.validation_share <= 0.5:
            raise ConfigError(f"train.validation_share must be in (0, 0.5], got {self.validation_share!r}")
        for name in ("leaf_mask", "value_mask"):
            low, high = getattr(self, name)
            if not 0 <= low <= high <= 1:
                raise ConfigError(f"train.{name} must be two shares in order, as [0.25, 0.5], got {[low, high]!r}")
        one_of("train.prompts", self.prompts, ("trained", "validated"))
        one_of("train.precision", self.precision, ("auto", "fp32", "fp16", "bf16"))


@dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """How rows are drawn."""

    temperature_category: float = 2.0
    """Temperature of category tokens."""
    temperature_numeric: float = 1.0
    """Temperature of bin and quantile tokens."""
    leaf_prompts: bool = True
    """Prompt with the leaves of real rows, masked as in training; otherwise every leaf is masked."""
    batch_size: int = 512
    """Rows drawn at once; memory follows this, not the number of rows asked for."""
    cache: bool = True
    """Keep keys and values of earlier positions instead of computing them anew for each token."""

    def __post_init__(self) -> None:
        for name in ("temperature_category", "temperature_numeric"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"sampling.{name} must be above 0, got {getattr(self, name)!r}")
        _at_least("sampling.batch_size", self.batch_size, 1)


@dataclass(frozen=True, kw_only=True)
class Config:
    """All settings of a model."""

    tree: TreeConfig = field(default_factory=TreeConfig)
    tokens: TokenConfig = field(default_factory=TokenConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    sampling: SampleConfig = field(default_factory=SampleConfig)

    def to_json(self) -> dict[str, Any]:
        """Plain data; `from_json` gives an equal config back."""
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Config:
        """Inverse of `to_json`; refuses fields that do not exist."""
        return override(cls(), data, prefix="")


SECTIONS = tuple(f.name for f in dataclasses.fields(Config))


def parse_settings(settings: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Read `section.field=value` texts; a value is JSON where it parses, else the text itself."""
    parsed: dict[str, dict[str, Any]] = {}
    for setting in settings:
        path, equals, text = setting.partition("=")
        section, *names = path.strip().split(".")
        if not equals or not names:
            raise ConfigError(f"setting {setting!r} is not of the form section.field=value, as train.steps=200")
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = text
        target = parsed.setdefault(section, {})
        for name in names[:-1]:
            target = target.setdefault(name, {})
        target[names[-1]] = value
    return parsed


_T = TypeVar("_T")


def override(base: _T, overrides: Mapping[str, Any], prefix: str) -> _T:
    """Replace fields of a dataclass by name, sections by sections, checking names and types."""
    hints = typing.get_type_hints(type(base))
    changes = {}
    for name, value in overrides.items():
        if name not in hints:
            raise ConfigError(f"there is no setting {prefix}{name}; known: {', '.join(prefix + n for n in hints)}")
        current = getattr(base, name)
        if dataclasses.is_dataclass(current) and isinstance(value, Mapping):
            value = override(current, value, f"{prefix}{name}.")
        elif isinstance(current, Mapping) and isinstance(value, Mapping):
            value = {**current, **value}
        changes[name] = _typed(value, hints[name], prefix + name)
    return dataclasses.replace(base, **changes)  # type: ignore[type-var]


def _typed(value: Any, hint: Any, name: str) -> Any:
    """Return the value as the field's type, or complain."""
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        if isinstance(value, list | tuple) and len(value) == len(options):
            return tuple(_typed(v, o, name) for v, o in zip(value, options, strict=True))
        raise ConfigError(f"{name} must be {len(options)} values, as [0.25, 0.5], got {value!r}")
    if origin in (types.UnionType, typing.Union):
        if value is None and types.NoneType in options:
            return None
        return _typed(value, next(o for o in options if o is not types.NoneType), name)
    if origin is Literal:
        return value  # the dataclass itself lists the choices in its message
    wanted = origin or hint
    if wanted in (int, float):
        number = numbers.Integral if wanted is int else numbers.Real  # numpy's numbers too
        if isinstance(value, number) and not isinstance(value, bool):
            return wanted(value)
    elif isinstance(value, wanted):
        return value
    article = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "text"}
    raise ConfigError(f"{name} must be {article.get(wanted.__name__, wanted.__name__)}, got {value!r}")
