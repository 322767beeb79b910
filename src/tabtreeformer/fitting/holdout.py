"""Held-out rows, which the model never sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.io.chunked import Chunks
from ..data.io.frames import take_in
from ..errors import ConfigError


def set_aside(
    table: pd.DataFrame | Chunks, holdout: Any, seed: np.random.SeedSequence
) -> tuple[pd.DataFrame | Chunks, pd.DataFrame | None]:
    """The rows to learn from, and the rows to keep for the verdict: a share of the table, or a separate table."""
    if holdout is None:
        return table, None
    if not isinstance(holdout, int | float):
        return table, take_in(holdout)[0]
    if isinstance(table, Chunks):
        raise ConfigError("a share of a table that is read in parts cannot be set aside; pass the rows: holdout=rows")
    return split_frame(table, holdout, seed)


def split_frame(df: pd.DataFrame, share: float, seed: np.random.SeedSequence) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows to learn from, and a share of them that is set aside."""
    learned, held = split_off(len(df), share, np.random.default_rng(seed))
    return df.iloc[learned].reset_index(drop=True), df.iloc[held].reset_index(drop=True)


def split_off(n_rows: int, share: float, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the rows to learn from and of those set aside, drawn at random, each in table order."""
    number = isinstance(share, int | float) and not isinstance(share, bool)
    n_aside = round(n_rows * share) if number and 0 < share < 1 else 0
    if n_aside < 1 or n_rows - n_aside < 2:
        raise ConfigError(f"holdout must be a share between 0 and 1 that leaves rows on both sides, got {share!r}")
    order = rng.permutation(n_rows)
    return np.sort(order[n_aside:]), np.sort(order[:n_aside])
