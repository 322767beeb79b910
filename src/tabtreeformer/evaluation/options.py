"""How a table is evaluated: the keyword arguments that `evaluate` passes on, with their defaults and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import numpy as np

from ..errors import ConfigError
from .attacks.risk import CONFIDENCE
from .context import MAX_ATTACKS, MAX_QUERIES, UtilityMode

References = bool | Literal["ceiling"]


class OptionNames(TypedDict, total=False):
    """The keyword arguments, for type checkers and editors; `evaluate` explains them."""

    utility: UtilityMode
    sensitive: Sequence[str | int] | None
    max_queries: int
    max_attacks: int
    references: References
    confidence: float
    random_state: int


@dataclass(frozen=True, kw_only=True)
class Options:
    """The same with defaults, checked."""

    # NOTE[PAPER]: the paper tunes its evaluators with 30 trials on every table; that is "tuned", which takes minutes
    # per table, so that fixed settings are the default.
    utility: UtilityMode = "quick"
    sensitive: Sequence[str | int] | None = None
    max_queries: int = MAX_QUERIES
    max_attacks: int = MAX_ATTACKS
    references: References = True
    confidence: float = CONFIDENCE
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.utility not in ("quick", "tuned"):
            raise ConfigError(f"utility must be 'quick' or 'tuned', got {self.utility!r}")
        for name, smallest in (("max_queries", 1), ("max_attacks", 1), ("random_state", 0)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < smallest:
                raise ConfigError(f"{name} must be a whole number of at least {smallest}, got {value!r}")
        if not 0 < self.confidence < 1:
            raise ConfigError(f"confidence must be a share between 0 and 1, e.g. 0.95, got {self.confidence!r}")

    def to_json(self, sensitive: Sequence[str | int], metrics: Sequence[str]) -> Mapping[str, Any]:
        """The part that the result records."""
        return {
            "utility": self.utility,
            "sensitive": list(sensitive) or "all",
            "max_queries": self.max_queries,
            "max_attacks": self.max_attacks,
            "confidence": self.confidence,
            "random_state": self.random_state,
            "metrics": list(metrics),
        }
