"""What rows of ids must hold, in the words of those who draw them.

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
"""Rows of a block; another number here would make other rows of a seed."""


@dataclass(frozen=True)
class Given:
    """The ids that rows may hold. Nothing given is free rows, masks are conditions, known ids are rows with gaps."""

    allowed: Mapping[int, Mask] = field(default_factory=dict)
    """By slot: which of its ids may be drawn, in every row (S,); a slot that is not named is free."""
    ids: Ids | None = None
    """Rows of which a part is known (n, D); what they hold elsewhere means nothing. None where nothing is known."""
    known: Mask | None = None
    """Which ids of `ids` are known (n, D)."""
    leaves: NDArray[np.int64] | None = None
    """Leaves of the rows (n, T), where every feature of the trees is given."""
    has_leaves: Mask | None = None
    """Rows whose leaves are given (n,)."""

    def __post_init__(self) -> None:
        assert (self.ids is None) == (self.known is None)
        assert (self.leaves is None) == (self.has_leaves is None)


FREE = Given()
"""Rows without any condition."""
