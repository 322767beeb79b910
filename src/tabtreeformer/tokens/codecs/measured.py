"""Conditions on ordered columns: numbers, times and durations.

A condition is a set of *spans*: closed intervals of plain values (numbers, or counts of the column's clock). An id may
be drawn if a span overlaps it, and a value is then drawn from the overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...data.schema import Column
from ...errors import ConditionError
from ..conditions import Condition
from ..constraints.plain_columns import Bounds
from .base import Allowed, Codec, Mask, Span
from .plain_values import plain_value

OUTER = 0.1
"""Share of the ids on either side used to estimate the tails."""


class MeasuredCodec(Codec, Protocol):
    """A codec of ordered values."""

    def bounds(self) -> Bounds:
        """The values that the column may have."""

    def settle(self, values: NDArray[Any], *, up: bool) -> Any:
        """Move values up or down to the nearest one that the column may have."""

    def beside(self, value: Any, *, up: bool) -> Any:
        """A value just above or below; settling it gives the next value that the column may have."""

    def reach(self, spans: Sequence[Span]) -> list[Mask | None] | None:
        """For each slot, the ids that overlap with a span; None if the codec does not support conditions."""
        return None

    def tail_scales(self) -> tuple[float, float]:
        """The mean excess that an exponential tail would have, from the outer tenth of the ids on either side."""
        bounds, middles = self.bounds(), self.midpoints()
        low, high = float(bounds.low), float(bounds.high)
        if middles is None or len(middles) < 2:
            inner = low + OUTER * (high - low), high - OUTER * (high - low)
        else:
            place = max(1, round(OUTER * (len(middles) - 1)))
            inner = float(middles[place]), float(middles[-1 - place])
        least = max((high - low) * 1e-6, 1e-12)
        below, above = ((abs(a - b) or high - low) / -np.log(OUTER) for a, b in ((inner[0], low), (high, inner[1])))
        return max(float(below), least), max(float(above), least)

    def allow(self, condition: Condition, column: Column) -> Allowed:
        """What a condition other than `missing` allows."""
        if condition.operator == "present":
            return self.anything()
        spans = _spans(self, condition, column)
        masks = self.reach(spans)
        if masks is None:
            raise ConditionError(f"column {column.name!r}: conditions need tokens.scheme='atoms', the default of auto")
        if masks and masks[0] is not None and not masks[0].any():
            raise _refused(self, condition, column)
        return Allowed(tuple(masks), tuple(spans))


def _spans(codec: MeasuredCodec, condition: Condition, column: Column) -> list[Span]:
    """The condition as closed intervals of values that the column can have."""
    bounds, operator = codec.bounds(), condition.operator
    a, *rest = [plain_value(column, operand) for operand in condition.operands]
    spans = {
        "eq": [(a, a)],
        "ne": [(bounds.low, codec.beside(a, up=False)), (codec.beside(a, up=True), bounds.high)],
        "lt": [(bounds.low, codec.beside(a, up=False))],
        "le": [(bounds.low, a)],
        "gt": [(codec.beside(a, up=True), bounds.high)],
        "ge": [(a, bounds.high)],
        "between": [(a, *rest)] if operator == "between" else [],
        "isin": [(value, value) for value in (a, *rest)],
    }[operator]
    settled = []
    for low, high in spans:
        low, high = max(low, bounds.low), min(high, bounds.high)
        if low > high:
            continue
        first = bounds.settle(np.array([low]), up=True)[0]
        last = bounds.settle(np.array([high]), up=False)[0]
        if low <= first <= last <= high:
            settled.append((first.item(), last.item()))
    if not settled:
        raise _refused(codec, condition, column)
    return settled


def _refused(codec: MeasuredCodec, condition: Condition, column: Column) -> ConditionError:
    bounds = codec.bounds()
    ends = column.write(np.array([bounds.low, bounds.high])).tolist()
    return ConditionError(
        f"column {column.name!r}: no value that was learned is {condition}; values go from {ends[0]} to {ends[1]}"
    )
