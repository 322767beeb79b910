"""One score of a synthetic table, and the references that it is compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Goal = Literal["higher", "lower", "half"]
"""Which scores are good: high ones, low ones, or one half (a coin toss)."""


@dataclass(frozen=True)
class Measurement:
    """The result of a metric on one table, before references are added."""

    value: float
    breakdown: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Score:
    """A metric's score of the synthetic table, with those of two reference tables.

    Examples
    --------
    >>> evaluate(df[:80], df[80:], df[:80], metrics=["shape"]).scores["shape"].value
    1.0
    """

    name: str
    """Name of the metric."""
    value: float
    """NaN where nothing could be measured; `note` then says why."""
    goal: Goal
    """Which values are good: `higher`, `lower` or `half`."""
    ceiling: float | None = None
    """What real held-out rows score against the training rows, the best to expect. None without a hold-out."""
    floor: float | None = None
    """The score of independent columns, each drawn from the training rows: the score without any learning."""
    breakdown: Mapping[str, Any] = field(default_factory=dict)
    """Plain data behind the number: by column, by pair, by evaluator, and how many rows were used."""
    note: str | None = None
    """What the reader should know before trusting the number."""

    def __repr__(self) -> str:
        references = ((self.ceiling, "real held-out rows"), (self.floor, "independent columns"))
        known = "".join(f", {who} {value:.3f}" for value, who in references if value is not None)
        goal = "0.5 is best" if self.goal == "half" else f"{self.goal} is better"
        return f"Score({self.name} {self.value:.3f}{known}; {goal})"

    def to_json(self) -> dict[str, Any]:
        """Return plain data, with None where a number is missing; `from_json` reads it.

        Examples
        --------
        >>> evaluation.scores["shape"].to_json()["goal"]
        'higher'
        """
        fields = {name: plain(getattr(self, name)) for name in ("value", "goal", "ceiling", "floor", "breakdown")}
        return fields | {"note": self.note}

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Score:
        """Read what `to_json` returned.

        Parameters
        ----------
        name
            Name of the metric.
        data
            Its score, as plain data.

        Examples
        --------
        >>> Score.from_json("shape", evaluation.scores["shape"].to_json()).name
        'shape'
        """
        fields = dict(data)
        value = fields.pop("value")
        return cls(name=name, value=math.nan if value is None else float(value), **fields)


def plain(value: Any) -> Any:
    """Return the value in JSON's types: lists, dicts with text keys, Python numbers, None for NaN and infinities."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
