"""Durations: whole numbers of everyday clock steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...config.settings import TokenConfig
from ...data.schema import TIMEDELTA, Column
from ..constraints.plain_columns import Bounds
from ..layout import Slot
from .atoms import AtomCodec
from .base import Floats, Ids, Mask, Span
from .measured import MeasuredCodec
from .numeric import NumericCodec
from .row_numbers import RowNumbers

if TYPE_CHECKING:
    from typing_extensions import Self

DAY_SECONDS = 86_400
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Units per second."""
STEPS = (86_400, 43_200, 21_600, 10_800, 7_200, 3_600, 1_800, 900, 600, 300, 60, 30, 15, 10, 5, 1)
"""Everyday clock steps in seconds; below a second they are powers of ten."""
_NUMBERS: dict[str, type[AtomCodec] | type[NumericCodec]] = {codec.name: codec for codec in (AtomCodec, NumericCodec)}


@dataclass(frozen=True)
class TickCodec(MeasuredCodec):
    """Durations: a number of steps."""

    name: ClassVar[str] = "ticks"
    kinds: ClassVar[tuple[str, ...]] = (TIMEDELTA,)

    step: int
    ticks: NumericCodec | AtomCodec

    @classmethod
    def learn(cls, values: pd.Series, column: Column, config: TokenConfig) -> Self:
        """Find the widest step that divides every value."""
        step = widest_step(values.to_numpy(), column.unit)
        return cls(step, _NUMBERS[config.scheme].learn(values // step, column, config))

    @property
    def low(self) -> int:
        """Shortest duration seen."""
        return int(self.ticks.low) * self.step

    @property
    def high(self) -> int:
        """Longest duration seen."""
        return int(self.ticks.high) * self.step

    def slots(self, column: int) -> tuple[Slot, ...]:
        """The slots of the number of steps."""
        return self.ticks.slots(column)

    def encode(self, values: pd.Series) -> Ids:
        """Counts (N,) → ids."""
        return self.ticks.encode(values // self.step)

    def decode(self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None) -> NDArray[np.int64]:
        """Ids → counts (N,)."""
        counts: NDArray[np.int64] = self.ticks.decode(ids, rng).astype(np.int64) * self.step
        return counts

    def reach(self, spans: Sequence[Span]) -> list[Mask | None] | None:
        """Ids of the number of steps that overlap with a span."""
        return self.ticks.reach([(math.ceil(low / self.step), math.floor(high / self.step)) for low, high in spans])

    def draw_within(
        self, spans: Sequence[Span], ids: NDArray[Any], values: NDArray[Any], rng: np.random.Generator
    ) -> NDArray[Any]:
        """Draw uniformly from the overlap of each row's id with the spans."""
        steps = [(low / self.step, high / self.step) for low, high in spans]
        return np.asarray(self.ticks.draw_within(steps, ids, values // self.step, rng) * self.step)

    def log_widths(self, ids: NDArray[Any]) -> Floats:
        """Log of the number of steps that each row's ids represent (N,)."""
        return self.ticks.log_widths(ids)

    def midpoints(self) -> Floats | None:
        """The middle of what each id represents."""
        steps = self.ticks.midpoints()
        return None if steps is None else steps * self.step

    def has_protected_range(self) -> bool:
        """Whether enough rows support both ends."""
        return self.ticks.has_protected_range()

    def bounds(self) -> Bounds:
        """The values that the column may have."""
        return Bounds(self.settle, self.low, self.high, 0)

    def settle(self, values: NDArray[Any], *, up: bool) -> Any:
        """Move values up or down to the nearest one that the column may have."""
        steps = -(-values // self.step) if up else values // self.step
        return np.clip(steps, int(self.ticks.low), int(self.ticks.high)) * self.step

    def beside(self, value: Any, *, up: bool) -> Any:
        """One clock count more or less."""
        return value + (1 if up else -1)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"step": self.step, self.ticks.name: self.ticks.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        (name,) = (name for name in data if name != "step")
        if type(data["step"]) is not int or data["step"] < 1:
            raise ValueError("the step of a column of durations must be a whole number from 1")
        return cls(data["step"], _NUMBERS[name].from_json(data[name]))


def widest_step(counts: NDArray[np.int64], unit: str) -> int:
    """The widest everyday step that divides every count."""
    return next((step for step in clock_steps(unit) if not (counts % step).any()), 1)


def clock_steps(unit: str) -> list[int]:
    """Everyday steps in counts of a unit, widest first."""
    second = UNITS[unit]
    return [step * second for step in STEPS] + [second // 10**k for k in range(1, len(str(second)))]
