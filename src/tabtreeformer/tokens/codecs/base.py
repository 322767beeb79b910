"""The codec protocol. The layers above use it without asking which codec it is.

A codec handles values that are present; `ColumnCodec` handles missing ones. To add a codec, write one file with a
subclass of `Codec`, and add one line to `registry.py`.

Shapes: `N` values, `S` ids of a slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...config.settings import TokenConfig
from ...data.schema import Column, Labels
from ..conditions import Condition
from ..constraints.plain_columns import Bounds
from ..layout import Slot
from .row_numbers import RowNumbers

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Span = tuple[float, float]
"""A closed interval of plain values: numbers, or counts of a column's clock."""


@dataclass(frozen=True)
class Allowed:
    """What a condition leaves of a column."""

    masks: tuple[Mask | None, ...]
    """For each slot of the column, its allowed ids (S,); None if all are allowed."""
    spans: tuple[Span, ...] = ()
    """Where ordered values must lie; empty if any value of an allowed id will do."""


class Codec(Protocol):
    """Fitted state of the values of one column."""

    name: ClassVar[str]
    """The codec's name in a model file."""
    kinds: ClassVar[tuple[str, ...]]
    """Kinds of columns that it encodes."""
    scheme: ClassVar[str | None] = None
    """The `tokens.scheme` that it belongs to; None if it belongs to all."""

    @classmethod
    def learn(cls, values: pd.Series, column: Column, config: TokenConfig) -> Self | None:
        """Fit values as returned by `Column.read`; None leaves the column to the next codec in the registry."""

    def slots(self, column: int) -> tuple[Slot, ...]:
        """The slots of the column at this index; by default none, for columns with nothing to learn."""
        return ()

    def encode(self, values: pd.Series) -> Ids:
        """Values (N,) → ids (N, slots)."""
        return np.empty((len(values), 0), dtype=np.int64)

    def decode(self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None) -> NDArray[Any]:
        """Any valid ids (N, slots) → plain values (N,); `rows` numbers values that must not repeat in a table."""

    def to_json(self) -> Any:
        """Plain data."""

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Inverse of `to_json`."""

    # ---- for queries; the defaults suit most codecs

    def allow(self, condition: Condition, column: Column) -> Allowed:
        """What a condition other than `missing` allows, or an error that says why it allows nothing."""
        return self.anything()

    def anything(self) -> Allowed:
        """Every value."""
        return Allowed((None,) * len(self.slots(0)))

    def draw_within(
        self, spans: Sequence[Span], ids: NDArray[Any], values: NDArray[Any], rng: np.random.Generator
    ) -> NDArray[Any]:
        """Values inside the spans, for ids that overlap with a span; `values` were drawn from the ids alone."""
        return values

    def bounds(self) -> Bounds | None:
        """The values that an ordered column may have; None if there is no order."""
        return None

    def known_values(self) -> Labels | None:
        """The values with their own id, in id order; None for ordered values."""
        return None

    def classes(self) -> Labels | None:
        """Values that act as classes: all others are protected or were never seen. None if there are no classes."""
        return None

    def can_encode(self, values: pd.Series) -> Mask:
        """Which values have ids (N,)."""
        return np.ones(len(values), dtype=bool)

    def unnamed_ids(self) -> tuple[int, ...]:
        """Ids that represent a group of values, none of which is stored."""
        return ()

    def log_widths(self, ids: NDArray[Any]) -> Floats:
        """Log of the width that each row's ids represent (N,), by which probabilities are divided; 0 for one value.

        For numbers it is a length in their own unit; for times and durations, a number of clock steps.
        """
        return np.zeros(len(ids))

    def midpoints(self) -> Floats | None:
        """The middle of what each id represents (S,), if one id is enough for a number."""
        return None

    def tail_scales(self) -> tuple[float, float]:
        """How fast values thin out below and above the learned range, in their own unit; 1 if there is no order."""
        return 1.0, 1.0

    def has_protected_range(self) -> bool:
        """Whether both ends of the range come from intervals with enough rows."""
        return False

    def is_constant(self) -> bool:
        """Whether every row has the same value, or none has any."""
        return False

    def is_empty(self) -> bool:
        """Whether no row has a value."""
        return False

    def owners(self, rows: RowNumbers) -> RowNumbers:
        """The number of each row's owner: its own, or that of a key shared by several rows."""
        return rows

    def people(self, ids: NDArray[Any]) -> NDArray[np.int64] | None:
        """The category of the person in each row (N,) that made-up names follow; None if the column has none."""
        return None

    def longest_text(self) -> int:
        """Characters of the longest text that the codec can make up."""
        return 0

    def note(self) -> str | None:
        """What the user should know about how the column is handled."""
        return None
