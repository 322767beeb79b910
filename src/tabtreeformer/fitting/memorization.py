"""The memorisation meter: how much more likely a network finds its training rows than rows of the other half.

The two differ only in the training, and are read under the same masks and orders, so the gap between their losses is
exactly what training taught the network about its own rows. The shared start learns from both halves, so what was
learned there is not part of the gap.

Shapes: `N` rows, `L` positions, `D` value slots.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..config.settings import TrainConfig
from ..tokens import MASK
from .split import Rows

if TYPE_CHECKING:
    from torch import Tensor

COST = 0.25
"""Own rows per reading, as a share of the rows trained on since the last one; this takes 8 % more time."""
QUANTILE = 0.01
"""A row counts as memorised if its loss is below all but this share of the other half's."""
MIN_ROWS = 10
"""With fewer rows than this, the meter never stops the training."""
SURE = 2.0
"""A gap or a count of more standard errors than this is not chance."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The meter at one validation."""

    step: int
    gap: float
    """How much more likely own rows are than rows of the other half, in nats per row."""
    error: float
    """Its standard error."""
    memorised: int
    """How many of the own rows read are more likely than nearly all of the other half, beyond chance."""
    rows: int
    """Number of own rows read."""

    def to_json(self) -> dict[str, float | int]:
        """Plain data."""
        return dataclasses.asdict(self)

    def beyond(self, limit: float | None) -> bool:
        """Whether the gap exceeds the limit by more than chance."""
        return limit is not None and self.rows >= MIN_ROWS and self.gap - SURE * self.error > limit


def own_rows(rows: Rows, n_validated: int, config: TrainConfig) -> Rows:
    """Rows of the training half, in random order: as many as are validated, or fewer if that would cost too much."""
    return rows[: max(1, min(n_validated, int(COST * config.validate_every * config.batch_size)))]


def as_masked(rows: Tensor, prepared: tuple[Tensor, Tensor | None]) -> tuple[Tensor, Tensor | None]:
    """Rows (N, L) under the masks and orders of an equal number of other rows."""
    masked, order = prepared
    n = len(rows)
    return rows.masked_fill(masked[:n] == MASK, MASK), None if order is None else order[:n]


def read(step: int, own: NDArray[np.float64], others: NDArray[np.float64], n_tokens: int) -> Reading:
    """Compare losses per token of own rows and of rows of the other half."""
    error = math.sqrt(_variance(own) / len(own) + _variance(others) / len(others))
    return Reading(
        step=step,
        gap=float(others.mean() - own.mean()) * n_tokens,
        error=error * n_tokens,
        memorised=memorised(own, others),
        rows=len(own),
    )


def memorised(own: NDArray[np.float64], others: NDArray[np.float64]) -> int:
    """Count the own rows whose loss is below the others' lowest percentile, beyond chance; 0 if none.

    The threshold is one of the other losses, so that by chance the count is beta-binomial.
    """
    let_pass, n, m = int(QUANTILE * len(others)), len(own), len(others)
    found = int((own < np.partition(others, let_pass)[let_pass]).sum())
    share = (let_pass + 1) / (m + 1)
    spread = math.sqrt(n * share * (1 - share) * (m + 1 + n) / (m + 2))
    excess = found - n * share
    return round(excess) if excess > SURE * spread else 0


def _variance(values: NDArray[np.float64]) -> float:
    return float(values.var(ddof=1)) if len(values) > 1 else 0.0
