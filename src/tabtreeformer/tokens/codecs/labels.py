"""Values from a list: one id per value, and with a floor, one id for all rare ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...config.settings import TokenConfig
from ...data.schema import BOOLEAN, CATEGORICAL, CONSTANT, Column, Labels
from ...data.schema.column import Scalar
from ...errors import ConditionError, SchemaError
from ..conditions import Condition
from ..layout import Slot, SlotKind
from .base import Allowed, Codec, Ids, Mask
from .constant import meets
from .plain_values import plain_value
from .row_numbers import RowNumbers

if TYPE_CHECKING:
    from typing_extensions import Self

OTHER = "other"
"""The category that replaces a list of categories if all were rare."""
MAX_LISTED = 12
"""Maximum values listed in a message."""


@dataclass(frozen=True)
class LabelCodec(Codec):
    """One id per value. Values with too few rows form a protected group: none of them is stored or written."""

    name: ClassVar[str] = "labels"
    kinds: ClassVar[tuple[str, ...]] = (CATEGORICAL, BOOLEAN)

    labels: Labels
    other: int | None = None
    """The id of a value that is not in the list: a separate one, or that of the most common value; None if there is
    none."""
    shares: tuple[float, ...] = ()
    """How often each value is written for the protected group, if the group has an id."""

    @classmethod
    def learn(cls, values: pd.Series, column: Column, config: TokenConfig) -> Self | None:
        """Keep values that enough rows have; None if there are none and new texts can be written instead."""
        if column.kind == BOOLEAN and values.nunique() > 2:
            raise SchemaError(f"column {column.name!r} is boolean in the schema and has {values.nunique():,} values")
        floor = config.rare_floor
        if floor <= 1:
            labels = Labels.learn(values, order=column.categories)
            labels.check_learnable(column.name)
            return cls(labels)
        labels, other, rows = Labels.supported(values, column.categories, floor, column.values)
        labels.check_learnable(column.name)
        if not labels.values:
            return cls._all_rare(Labels.learn(values), column)
        shares = rows / rows.sum() if other == len(rows) and rows.sum() else np.empty(0)
        return cls(labels, other, tuple(shares.tolist()))

    @classmethod
    def _all_rare(cls, every: Labels, column: Column) -> Self | None:
        """What to write if all values are rare: booleans, the first category of a dtype, or a new value."""
        if all(isinstance(value, bool) for value in every.values):
            return cls(every)
        if column.categories is not None:
            return cls(Labels(column.categories[:1]), 0)
        if all(isinstance(value, str) for value in every.values):
            return None
        return cls(Labels((_unseen(every.values),)), 0)

    def slots(self, column: int) -> tuple[Slot, ...]:
        """One."""
        return (Slot(SlotKind.CATEGORY, column, len(self.labels.values) + len(self.unnamed_ids())),)

    def unnamed_ids(self) -> tuple[int, ...]:
        """The id of the protected group, if it has one."""
        return (self.other,) if self.other == len(self.labels.values) else ()

    def can_encode(self, values: pd.Series) -> Mask:
        """Which values are in the list, or belong to the protected group (N,)."""
        return np.asarray((self.labels.find(values) >= 0) | (self.other is not None))

    def known_values(self) -> Labels:
        """The values that are kept."""
        return self.labels

    def classes(self) -> Labels:
        """The values that are kept."""
        return self.labels

    def allow(self, condition: Condition, column: Column) -> Allowed:
        """What a condition other than `missing` allows; the protected group only if any value will do."""
        if condition.operator == "present":
            return self.anything()
        mask = label_mask(self.labels, self.slots(0)[0].size, condition, column, protected=self.other is not None)
        if condition.operator in ("eq", "ne", "isin"):
            mask[list(self.unnamed_ids())] = False  # any value may be written for it
        return Allowed((not_empty(mask, condition, column),))

    def encode(self, values: pd.Series) -> Ids:
        """Values (N,) → ids (N, 1); values not in the list belong to the protected group, if there is one."""
        if self.other is None:
            return self.labels.encode(values)[:, None]
        codes = self.labels.find(values)
        return np.where(codes < 0, self.other, codes)[:, None]

    def decode(self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None) -> NDArray[Any]:
        """Ids (N, 1) → values (N,); for the protected group, values drawn from the list by their shares."""
        codes = np.asarray(ids[:, 0]).copy()
        if self.unnamed_ids():
            hidden = np.flatnonzero(codes == self.other)
            codes[hidden] = rng.choice(len(self.labels.values), size=len(hidden), p=np.array(self.shares))
        return self.labels.decode(codes)

    def to_json(self) -> list[Any] | dict[str, Any]:
        """Plain data."""
        values = list(self.labels.values)
        return values if self.other is None else {"values": values, "other": self.other, "shares": list(self.shares)}

    @classmethod
    def from_json(cls, data: list[Any] | Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        if not isinstance(data, Mapping):
            return cls(Labels.from_json(data))
        labels, other, shares = Labels.from_json(data["values"]), data["other"], tuple(data["shares"])
        values = labels.values
        if (
            type(other) is not int
            or not 0 <= other <= len(values)
            or len(shares) != (other == len(values)) * len(values)
        ):
            raise ValueError("rare categories have an id that the column does not have")
        return cls(labels, other, shares)


def label_mask(labels: Labels, size: int, condition: Condition, column: Column, *, protected: bool) -> Mask:
    """Which of `size` ids, the labels' ids first, a condition on their values allows (size,)."""
    operands = [plain_value(column, operand) for operand in condition.operands]
    mask = np.zeros(size, dtype=bool)
    if condition.operator in ("eq", "ne", "isin"):
        ids = {label: code for code, label in enumerate(labels.values)}
        for operand in operands:
            if operand not in ids:
                raise ConditionError(_unknown(column, operand, labels, protected=protected))
            mask[ids[operand]] = True
        return ~mask if condition.operator == "ne" else mask
    keys, ends = list(labels.values), operands
    if column.ordered:  # by rank among all categories, including those without rows
        ranks: dict[Any, Any] = {label: rank for rank, label in enumerate(column.categories or ())}
        keys, ends = [ranks[label] for label in keys], [ranks.get(operand) for operand in operands]
    if None in ends or any(isinstance(key, str) != isinstance(end, str) for key in keys for end in ends):
        raise ConditionError(f"column {column.name!r} has no order in which {condition} means something; use a list")
    mask[: len(keys)] = [meets(key, condition.operator, ends) for key in keys]
    return mask


def not_empty(mask: Mask, condition: Condition, column: Column) -> Mask:
    """The mask, or an error if it allows nothing."""
    if not mask.any():
        raise ConditionError(f"column {column.name!r}: no value is {condition}")
    return mask


def _unknown(column: Column, value: Any, labels: Labels, *, protected: bool) -> str:
    """Why a value cannot be requested: no row had it, or it is protected; the model cannot tell which."""
    known = ", ".join(repr(label) for label in labels.values[:MAX_LISTED])
    known += ", …" if len(labels.values) > MAX_LISTED else ""
    if protected:
        return (
            f"column {column.name!r}: {value!r} is not among the values that are known: {known}; values that too few "
            f"rows had (tokens.rare_floor) are protected as one group, which is never written and cannot be asked for"
        )
    return f"column {column.name!r} never was {value!r}; known: {known}"


def protected_column(column: Column, series: pd.Series, floor: int) -> Column:
    """The column without categories of its dtype that too few rows have; categories without any row stay."""
    if column.categories is None or floor <= 1 or column.kind == CONSTANT:
        return column
    counts = column.read(series[series.notna()]).value_counts()
    public = set(column.values or ())
    kept = tuple(value for value in column.categories if value in public or not 0 < counts.get(value, 0) < floor)
    if not kept and all(isinstance(value, bool) for value in column.categories):
        return column  # booleans stay, as in `LabelCodec`: there is no third value to write instead
    return column if kept == column.categories else replace(column, categories=kept or (_unseen(column.categories),))


def _unseen(values: Sequence[Scalar]) -> Scalar:
    """A new value of the same type: `other`, or a number near their mean."""
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
