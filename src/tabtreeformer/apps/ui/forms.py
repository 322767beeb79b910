"""Form fields → schema, settings and conditions; invalid input is an error that names the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._runtime.progress import parse_duration
from ...config.presets import PRIVACY, check_privacy
from ...data.schema import Schema
from ...data.schema.kinds import KINDS, NUMERIC
from ...errors import ConfigError
from ...synthesizer import TabTreeFormer
from ...tokens.conditions import Condition, between, eq, ge, le

MAX_ROWS = 1_000_000
MAX_CHOICES = 50
"""Maximum number of categories in a drop-down list."""


def schema_of(form: Mapping[str, Any], schema: Schema) -> Schema:
    """The schema with the chosen kinds; fields are numbered, because names may contain anything."""
    for place, column in enumerate(schema.columns):
        kind = form.get(f"kind-{place}", column.kind)
        if kind not in KINDS:
            raise ConfigError(f"column {column.name!r}: choose one of {', '.join(KINDS)}, got {kind!r}")
        if kind != column.kind:
            schema = schema.with_kind(column.name, kind)
    return schema


def settings_of(form: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Target, privacy, preset, budget and seed of a fit."""
    target, budget = form.get("target", ""), form.get("budget", "").strip()
    names = [str(column.name) for column in schema.columns]
    if target and target not in names:
        raise ConfigError(f"the table has no column {target!r}")
    preset = form.get("preset", "auto")
    if preset not in ("auto", "trees"):
        raise ConfigError(f"choose auto or trees, got {preset!r}")
    return {
        "target": target or None,
        "privacy": check_privacy(form.get("privacy", PRIVACY[1])),
        "preset": preset,
        "budget_seconds": parse_duration(budget) if budget else None,
        "seed": whole_number(form, "seed", 0, 2**32 - 1, 0),
    }


def whole_number(form: Mapping[str, Any], field: str, low: int, high: int, default: int) -> int:
    """A whole number between `low` and `high`."""
    text = str(form.get(field, "")).strip() or str(default)
    if not text.isdigit() or not low <= int(text) <= high:
        raise ConfigError(f"{field} must be a whole number from {low:,} to {high:,}, got {text!r}")
    return int(text)


def controls(model: TabTreeFormer) -> list[dict[str, Any]]:
    """A form control per column that can be conditioned on: a list of categories, or the two ends of a range."""
    shown: list[dict[str, Any]] = []
    for place, codec in enumerate(model.fitted_.codec.columns):
        column = codec.column
        classes = codec.inner.classes()
        if classes is not None:
            if 0 < len(classes.values) <= MAX_CHOICES:
                shown.append({"place": place, "name": column.name, "choices": list(classes.values)})
        elif column.kind == NUMERIC:
            shown.append({"place": place, "name": column.name, "choices": None})
    return shown


def conditions_of(form: Mapping[str, Any], shown: list[dict[str, Any]]) -> dict[str | int, Condition]:
    """What the controls ask for."""
    given: dict[str | int, Condition] = {}
    for control in shown:
        name, place = control["name"], control["place"]
        if control["choices"] is not None:
            chosen = str(form.get(f"is-{place}", ""))
            if chosen:
                if not chosen.isdigit() or int(chosen) >= len(control["choices"]):
                    raise ConfigError(f"column {name!r} has no such category")
                given[name] = eq(control["choices"][int(chosen)])
            continue
        low, high = (_number(form, f"{end}-{place}", name) for end in ("from", "to"))
        if low is not None and high is not None:
            given[name] = between(low, high)
        elif low is not None or high is not None:
            given[name] = ge(low) if high is None else le(high)
    return given


def _number(form: Mapping[str, Any], field: str, name: Any) -> float | None:
    text = str(form.get(field, "")).strip()
    if not text:
        return None
    try:
        return float(text)
    except ValueError as error:
        raise ConfigError(f"column {name!r}: {text!r} is not a number") from error
