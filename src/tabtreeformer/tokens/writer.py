"""What is known about rows of ids before they are drawn.

Shapes: `n` rows, `T` trees, `D` value slots, `S` ids of a slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Mask = NDArray[np.bool_]
BLOCK = 4096
"""Rows per block; changing this would change the rows for a given seed."""


@dataclass(frozen=True)
class Given:
    """The ids that rows may have. Without anything rows are free; masks are conditions; known ids are partial rows."""

    allowed: Mapping[int, Mask] = field(default_factory=dict)
    """For each slot, which of its ids may be drawn, in every row (S,); slots not listed are free."""
    ids: Ids | None = None
    """Partly known rows (n, D), with arbitrary ids where unknown; None if nothing is known."""
    known: Mask | None = None
    """Which ids of `ids` are known (n, D)."""
    leaves: NDArray[np.int64] | None = None
    """Leaves of the rows (n, T), for rows in which every feature of the trees is given."""
    has_leaves: Mask | None = None
    """Which rows have given leaves (n,)."""

    def __post_init__(self) -> None:
        assert (self.ids is None) == (self.known is None)
        assert (self.leaves is None) == (self.has_leaves is None)


FREE = Given()
"""Rows without any condition."""
