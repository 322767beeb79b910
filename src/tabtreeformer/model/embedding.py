"""The ordered start of the quantile tokens' embeddings (paper, equations `bin-scale`, `bin-offset`, `bin-emb`).

Dimension d is a sigmoid over the quantile ids with its own slope and shift: scale s has 2s dimensions, whose shifts
are spread evenly over [-2s, 2s]. Every dimension grows with the id, so distances between embeddings keep the order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn import functional


def scale_factors(width: int) -> Tensor:
    """S_d = floor((1 + sqrt(1 + 4d)) / 2), shape (d,)."""
    d = torch.arange(width, dtype=torch.float64)
    return torch.floor((1 + torch.sqrt(1 + 4 * d)) / 2)


def offsets(width: int) -> Tensor:
    """O_d = (-4 S_d³ + (4d + 2) S_d) / (2 S_d - 1), shape (d,)."""
    d, s = torch.arange(width, dtype=torch.float64), scale_factors(width)
    return (-4 * s**3 + (4 * d + 2) * s) / (2 * s - 1)


CORES: Mapping[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": torch.sigmoid,
    "tanh": lambda x: torch.tanh(x / 2),
    "softsign": lambda x: functional.softsign(x / 2),
    "ramp": lambda x: torch.clamp(x / 4 + 0.5, 0, 1),
}
"""Monotone, bounded functions; the paper takes the first and names the others. All change most over [-2, 2]."""


def quantile_embedding(n_quantiles: int, width: int, core: str = "sigmoid") -> Tensor:
    """QE_id = sigmoid(4 S_d (i/Q - 1/2) + O_d), shape (Q, d); `core` may be a function other than the sigmoid.

    NOTE[PAPER]: the paper's Q is 1000, and also "the total Q quantile tokens"; the two differ where no column has 1000
    quantiles. We divide by the number of tokens that exist; otherwise, a table with few distinct values would use
    only the start of the curve, with embeddings nearly equal. With 1000 quantiles both are the same.
    """
    place = torch.arange(n_quantiles, dtype=torch.float64) / n_quantiles - 0.5  # (Q,)
    return CORES[core](4 * scale_factors(width) * place[:, None] + offsets(width)).float()  # (Q, d)
