"""Rows that are set aside, so that there is something that a model never saw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError


def split_off(n_rows: int, share: float, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of the rows to learn from and of those set aside, drawn at random, each in table order."""
    number = isinstance(share, int | float) and not isinstance(share, bool)
    n_aside = round(n_rows * share) if number and 0 < share < 1 else 0
    if n_aside < 1 or n_rows - n_aside < 2:
        raise ConfigError(f"holdout must be a share between 0 and 1 that leaves rows on both sides, got {share!r}")
    order = rng.permutation(n_rows)
    return np.sort(order[n_aside:]), np.sort(order[:n_aside])
