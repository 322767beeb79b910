"""The order in which a row's columns are learned, where any order is allowed.

Shapes: `N` rows, `D` value slots.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..tokens import TokenLayout


def draw_orders(n_rows: int, layout: TokenLayout, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw an order of the value slots for each row, (N, D); the slots of a column stay together, coarse to fine."""
    columns = np.unique([slot.column for slot in layout.value_slots], return_inverse=True)[1]  # (D,)
    keys = rng.random((n_rows, columns.max() + 1))  # (N, columns)
    orders: NDArray[np.int64] = np.argsort(keys[:, columns], axis=1, kind="stable")
    return orders
