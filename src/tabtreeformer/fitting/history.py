"""The record of one network's training."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .memorization import Reading


@dataclass
class History:
    """The course of one run of steps."""

    name: str
    steps: int = 0
    rows: int = 0
    seconds: float = 0.0
    batch_size: int = 0
    best_step: int | None = None
    """Step whose weights were kept; None if the last ones were."""
    validations: list[tuple[int, float, float]] = field(default_factory=list)
    """Step, mean training loss since the last validation, validation loss."""
    readings: list[Reading] = field(default_factory=list)
    """The memorisation meter at each validation."""

    def to_json(self) -> dict[str, Any]:
        """Plain data; `from_json` returns an equal history."""
        return dataclasses.asdict(self) | {"validations": [list(v) for v in self.validations]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> History:
        """Inverse of `to_json`."""
        validations = [(int(step), train, valid) for step, train, valid in data["validations"]]
        readings = [Reading(**reading) for reading in data["readings"]]
        return cls(**{**data, "validations": validations, "readings": readings})

    @property
    def last_validated(self) -> int | None:
        """Step of the last validation."""
        return self.validations[-1][0] if self.validations else None

    @property
    def rows_per_second(self) -> float:
        """Mean pace of training."""
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def kept_reading(self) -> Reading | None:
        """The meter's reading at the weights that were kept."""
        last = self.best_step or self.steps
        return next((reading for reading in reversed(self.readings) if reading.step <= last), None)
