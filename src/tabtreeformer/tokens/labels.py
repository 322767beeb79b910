"""Values from a list: one id each, and with a floor one for all that are rare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..schema import Column, Labels
from ..schema.column import Scalar
from .layout import Kind, Slot
from .numeric import Ids

OTHER = "other"
"""What stands for a list of categories that were all rare."""


@dataclass(frozen=True)
class LabelCodec:
    """One id a value. Values that too few rows had are a protected group: none of them is kept, nor ever written."""

    labels: Labels
    other: int | None = None
    """The id of a value that is not in the list: one of its own, or that of the commonest; None where there is none."""
    shares: tuple[float, ...] = ()
    """How often each value is written for the protected group, where that has an id."""

    @classmethod
    def learn(cls, values: pd.Series, column: Column, floor: int) -> LabelCodec | None:
        """Keep values that enough rows have; None where there are none, and new texts can be written instead."""
        if floor <= 1:
            return cls(Labels.learn(values, order=column.categories))
        labels, other, rows = Labels.supported(values, column.categories, floor)
        if not labels.values:
            return cls._all_rare(Labels.learn(values), column)
        shares = rows / rows.sum() if other == len(rows) else np.empty(0)
        return cls(labels, other, tuple(shares.tolist()))

    @classmethod
    def _all_rare(cls, every: Labels, column: Column) -> LabelCodec | None:
        """Truth values stay, whoever has them; a list has a value that no row has; else it is made up."""
        if all(isinstance(value, bool) for value in every.values):
            return cls(every)
        if column.categories is not None:
            return cls(Labels(column.categories[:1]), 0)
        if all(isinstance(value, str) for value in every.values):
            return None
        return cls(Labels((_unseen(every.values),)), 0)

    def slots(self, column: int) -> tuple[Slot, ...]:
        """One."""
        return (Slot(Kind.CATEGORY, column, len(self.labels.values) + len(self.unnamed)),)

    @property
    def unnamed(self) -> tuple[int, ...]:
        """The id of the protected group, if it has one."""
        return (self.other,) if self.other == len(self.labels.values) else ()

    def encode(self, values: pd.Series) -> Ids:
        """Values (N,) → ids (N, 1); a value that is not in the list is one of the protected group, if there is one."""
        if self.other is None:
            return self.labels.encode(values)[:, None]
        codes = self.labels.find(values)
        return np.where(codes < 0, self.other, codes)[:, None]

    def decode(self, ids: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Ids (N, 1) → values (N,); for the protected group any value of the list, by its share."""
        codes = np.asarray(ids[:, 0]).copy()
        if self.unnamed:
            hidden = np.flatnonzero(codes == self.other)
            codes[hidden] = rng.choice(len(self.labels.values), size=len(hidden), p=np.array(self.shares))
        return self.labels.decode(codes)

    def to_json(self) -> list[Any] | dict[str, Any]:
        """Plain data."""
        values = list(self.labels.values)
        return values if self.other is None else {"values": values, "other": self.other, "shares": list(self.shares)}

    @classmethod
    def from_json(cls, data: list[Any] | Mapping[str, Any]) -> LabelCodec:
        """Inverse of `to_json`."""
        if not isinstance(data, Mapping):
            return cls(Labels(tuple(data)))
        values, other, shares = tuple(data["values"]), data["other"], tuple(data["shares"])
        if (
            type(other) is not int
            or not 0 <= other <= len(values)
            or len(shares) != (other == len(values)) * len(values)
        ):
            raise ValueError("rare categories have an id that the column does not have")
        return cls(Labels(values), other, shares)


def protected_column(column: Column, series: pd.Series, floor: int) -> Column:
    """The column without the categories of its dtype that too few rows have; those that none has stay."""
    if column.categories is None or floor <= 1:
        return column
    counts = column.read(series[series.notna()]).value_counts()
    kept = tuple(value for value in column.categories if not 0 < counts.get(value, 0) < floor)
    return column if kept == column.categories else replace(column, categories=kept or (_unseen(column.categories),))


def _unseen(values: Sequence[Scalar]) -> Scalar:
    """A value of the same type that is none of them: `other`, or a number near their mean."""
    numbers = [value for value in values if isinstance(value, int | float)]
    if not numbers:
        text = OTHER
        while text in values:
            text = f"any {text}"
        return text
    near = int(np.mean(numbers))
    while near in values:
        near += 1
    return float(near) if any(isinstance(number, float) for number in numbers) else near
