"""What all codecs of numbers share: the range and decimals of a column, and how values are moved onto them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

import pandas as pd
from numpy.typing import NDArray

from ...data.schema import NUMERIC
from ...data.schema.numbers import count_decimals
from ..constraints.plain_columns import Bounds
from .base import Floats
from .grid import next_to, settled
from .measured import MeasuredCodec


class Range(TypedDict):
    """The fields of `NumberCodec`."""

    low: float | int
    high: float | int
    decimals: int | None


@dataclass(frozen=True, kw_only=True)
class NumberCodec(MeasuredCodec):
    """A codec of numbers between a minimum and a maximum."""

    kinds: ClassVar[tuple[str, ...]] = (NUMERIC,)

    low: float | int
    high: float | int
    """Smallest and largest value seen; whole numbers stay whole, however large."""
    decimals: int | None
    """Decimals that represent every value exactly (0 for whole numbers); None if no number of decimals does."""

    @staticmethod
    def range_of(series: pd.Series, values: Floats) -> Range:
        """The range of a column without protection; `values` are its values as floats."""
        whole = int if pd.api.types.is_integer_dtype(series.dtype) else float
        decimals = 0 if whole is int else count_decimals(values)
        return {"low": whole(series.min()), "high": whole(series.max()), "decimals": decimals}

    def bounds(self) -> Bounds:
        """The values that the column may have."""
        return Bounds(self.settle, self.low, self.high, self.decimals)

    def settle(self, values: NDArray[Any], *, up: bool) -> Any:
        """Move numbers up or down to the nearest one that the column may have."""
        return settled(values, self.bounds(), up=up)

    def beside(self, value: Any, *, up: bool) -> Any:
        """A number just above or below."""
        return next_to(value, self.decimals, up=up)
