"""What is known while fitting but not kept in the model: the privacy gate compares the model with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .history import History


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What is known while fitting but not kept in the model."""

    take: Callable[[NDArray[np.int64]], pd.DataFrame]
    """Rows of the table by their indices, in ascending order."""
    tokens: NDArray[Any]
    """Token sequences of all rows (N, L), in memory or on disk."""
    parts: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]
    """For each network, the rows it was trained on and the rows it was validated on."""
    histories: Sequence[History]
    holdout: pd.DataFrame | None = None
    """Rows that nothing was learned from."""
