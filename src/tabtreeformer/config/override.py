"""Settings with changes: by name, from text, and from the files of earlier versions."""

from __future__ import annotations

import dataclasses
import json
import numbers
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

from ..errors import ConfigError


def parse_settings(settings: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Read `section.field=value` texts; a value is JSON where it parses, else the text itself."""
    parsed: dict[str, dict[str, Any]] = {}
    for setting in settings:
        path, equals, text = setting.partition("=")
        section, *names = path.strip().split(".")
        if not equals or not names:
            raise ConfigError(f"setting {setting!r} is not of the form section.field=value, e.g. train.steps=200")
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
        if current is None and isinstance(value, Mapping) and (section := _section_of(hints[name])) is not None:
            current = section()
        if dataclasses.is_dataclass(current) and isinstance(value, Mapping):
            value = override(current, value, f"{prefix}{name}.")
        elif isinstance(current, Mapping) and isinstance(value, Mapping):
            value = {**current, **value}
        changes[name] = _typed(value, hints[name], prefix + name)
    return dataclasses.replace(base, **changes)  # type: ignore[type-var]


def _section_of(hint: Any) -> Any:
    """The dataclass that a field holds where it is not None."""
    return next((option for option in typing.get_args(hint) if dataclasses.is_dataclass(option)), None)


def _typed(value: Any, hint: Any, name: str) -> Any:
    """Return the value as the field's type, or complain."""
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        if isinstance(value, list | tuple) and len(value) == len(options):
            return tuple(_typed(v, o, name) for v, o in zip(value, options, strict=True))
        raise ConfigError(f"{name} must be {len(options)} values, e.g. [0.25, 0.5], got {value!r}")
    if origin in (types.UnionType, typing.Union):
        if value is None and types.NoneType in options:
            return None
        return _typed(value, next(o for o in options if o is not types.NoneType), name)
    if origin is Literal:
        return value  # the dataclass itself lists the choices in its message
    wanted = origin or hint
    if wanted in (int, float):
        number = numbers.Integral if wanted is int else numbers.Real  # also numpy's numbers
        if isinstance(value, number) and not isinstance(value, bool):
            return wanted(value)
    elif isinstance(value, wanted):
        return value
    article = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "text"}
    raise ConfigError(f"{name} must be {article.get(wanted.__name__, wanted.__name__)}, got {value!r}")


ONE_VALUE: Mapping[str, Any] = {
    "tree.folds": 3,
    "tokens.levels": 1,
    "tokens.percentile_method": "linear",
    "tokens.decode": "midpoint",
    "model.frequency_start": True,
    "model.tied": True,
    "train.weight_decay": 0.0,
    "train.validation_share": 0.5,
    "train.side_by_side": None,
    "train.sigma": 0.005,
    "train.floor": 0.5,
    "train.leaf_loss": True,
    "sampling.cache": True,
}
"""Settings that earlier versions wrote into model files, and the one value that they had in every preset."""
BY_SOFTMAX: Mapping[str, Mapping[str, Any]] = {
    "model.activation": {"vocabulary": "gelu", "allowed": "relu"},
    "model.order": {"vocabulary": "natural", "allowed": "any"},
    "model.basis": {"vocabulary": 0, "allowed": 12},
    "model.own_rows": {"vocabulary": 0, "allowed": 50},
    "model.smoothing": {"vocabulary": 0.0, "allowed": 0.7},
}
"""The same for settings that had one value in each of the two networks; now they are part of those networks."""
FITTING_ONLY = frozenset(
    {
        "tree.tune", "train.warmup", "train.decay", "train.average", "train.shared_passes", "train.bank",
        "train.blank_prompts", "train.clip", "forest.bags", "forest.feature_share", "forest.smoothing", "forest.scores",
    }
)  # fmt: skip
"""Settings of how a model is fitted; fitted models are read whatever their values."""


WERE_FLAGS: Mapping[str, tuple[Any, Any]] = {
    "model.quantile_embedding": ("none", "sigmoid"),
    "train.ordinal_loss": (0.0, 0.005),
}
"""Settings that were false or true in earlier versions, and what those values mean now."""


def without_retired(data: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of a config as plain data: settings that no longer exist are dropped, old flags translated."""
    model = data.get("model")
    softmax = model.get("softmax", "vocabulary") if isinstance(model, Mapping) else "vocabulary"
    return {
        section: {
            name: WERE_FLAGS[f"{section}.{name}"][value]
            if isinstance(value, bool) and f"{section}.{name}" in WERE_FLAGS
            else value
            for name, value in fields.items()
            if not _is_retired(f"{section}.{name}", value, softmax)
        }
        if isinstance(fields, Mapping)
        else fields
        for section, fields in data.items()
    }


def _is_retired(name: str, value: Any, softmax: Any) -> bool:
    if name in FITTING_ONLY:
        return True
    if name not in ONE_VALUE and name not in BY_SOFTMAX:
        return False
    only = ONE_VALUE[name] if name in ONE_VALUE else BY_SOFTMAX[name].get(softmax)
    if value != only:
        raise ConfigError(f"this model has {name}={value!r}, a setting that no longer exists; fit it again without")
    return True
