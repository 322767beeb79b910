"""The order in which a row's columns are learned, where any order is allowed.

Shapes: `N` rows, `D` value slots.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..tokens import TokenLayout


def draw_orders(
    n_rows: int, layout: TokenLayout, rng: np.random.Generator, table_orders: float = 0.0
) -> NDArray[np.int64]:
    """Draw an order of the value slots for each row, (N, D); the slots of a column stay together, coarse to fine.

    A share of about `table_orders` of the rows keeps the table's order.
    """
    columns = np.unique([slot.column for slot in layout.value_slots], return_inverse=True)[1]  # (D,)
    keys = rng.random((n_rows, columns.max() + 1))  # (N, columns)
    if table_orders:
        keys[rng.random(n_rows) < table_orders] = np.arange(columns.max() + 1)
    orders: NDArray[np.int64] = np.argsort(keys[:, columns], axis=1, kind="stable")
    return orders
