"""A column in which nothing varies."""

from __future__ import annotations

import operator as op
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...config.settings import TokenConfig
from ...data.schema import CONSTANT, Column
from ...errors import ConditionError, SchemaError
from ..conditions import Condition
from ..constraints.plain_columns import Bounds
from .base import Allowed, Codec
from .plain_values import plain_value
from .row_numbers import RowNumbers

if TYPE_CHECKING:
    from typing_extensions import Self

_TESTS = {"eq": op.eq, "ne": op.ne, "lt": op.lt, "le": op.le, "gt": op.gt, "ge": op.ge}


@dataclass(frozen=True)
class ConstantCodec(Codec):
    """The same value in every row, or none at all."""

    name: ClassVar[str] = "constant"
    kinds: ClassVar[tuple[str, ...]] = (CONSTANT,)

    value: Any

    @classmethod
    def learn(cls, values: pd.Series, column: Column, config: TokenConfig) -> Self:
        """Store the value; a second one is an error."""
        distinct = values.unique().tolist()
        if len(distinct) > 1:
            raise SchemaError(
                f"column {column.name!r} is constant in the schema, and holds {distinct[0]!r} and {distinct[1]!r}; "
                f"infer the schema again"
            )
        return cls(distinct[0] if distinct else None)

    def decode(self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None) -> NDArray[Any]:
        """The value in every row."""
        dtype = object if self.value is None or isinstance(self.value, str | bool) else None
        if isinstance(self.value, int) and self.value > np.iinfo(np.int64).max:
            dtype = np.uint64
        return np.full(len(ids), self.value, dtype=dtype)

    def allow(self, condition: Condition, column: Column) -> Allowed:
        """Everything or nothing."""
        operands = [plain_value(column, operand) for operand in condition.operands]
        try:
            met = self.value is not None and meets(self.value, condition.operator, operands)
        except TypeError:  # a text is neither more nor less than a number
            met = False
        if not met:
            only_row = self.decode(np.zeros((1, 0)), np.random.default_rng(0))
            shown = "missing" if self.value is None else repr(column.write(only_row).iloc[0])
            raise ConditionError(f"column {column.name!r} is always {shown}; {condition} is impossible")
        return Allowed(())

    def bounds(self) -> Bounds:
        """No limits: if too few rows had a value, none is written."""
        return Bounds(lambda values, up: values, -np.inf, np.inf, None)

    def is_constant(self) -> bool:
        """Always."""
        return True

    def is_empty(self) -> bool:
        """Whether there is no value."""
        return self.value is None

    def to_json(self) -> Any:
        """Plain data."""
        return self.value

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Inverse of `to_json`."""
        return cls(data)


def meets(value: Any, operator: str, operands: list[Any]) -> bool:
    """Whether one plain value meets a condition on plain values."""
    if operator == "present":
        return True
    if operator == "isin":
        return value in operands
    if operator == "between":
        return bool(operands[0] <= value <= operands[1])
    return bool(_TESTS[operator](value, operands[0]))
