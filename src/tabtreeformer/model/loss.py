"""The paper's loss: ordinal cross-entropy plus the valid-group term on quantile positions, cross-entropy elsewhere.

Shapes: `N` tokens, `V` ids, `Q` quantile ids.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..config.settings import TrainConfig
from ..tokens import TokenLayout


def ordinal_weights(n: int, *, sigma: float = 0.005, floor: float = 0.5) -> Tensor:
    """w_ti = 1 + m - exp(-(t - i)² / (nσ)²), shape (n, n): row t weighs the tokens i for target t (eq. `weight`).

    NOTE[PAPER]: the paper writes V for n and applies the loss to the slice of the quantile tokens (eq. `loss`); we take
    the length of that slice, 1000 as in its figure wherever a column has 1000 quantiles, not the whole vocabulary.
    """
    ids = torch.arange(n, dtype=torch.float64)
    return (1 + floor - torch.exp(-((ids[:, None] - ids) ** 2) / (n * sigma) ** 2)).float()


def ordinal_cross_entropy(logits: Tensor, target: Tensor, log_weights: Tensor) -> Tensor:
    """Cross-entropy in which near misses cost less than far ones (eq. `sce`).

    Shapes: logits (N, Q), target (N,), log_weights (Q, Q) → (N,).
    """
    weighted = logits + log_weights[target]  # (N, Q)
    return torch.logsumexp(weighted, dim=1) - weighted.gather(1, target[:, None])[:, 0]


def valid_group_loss(logits: Tensor, start: int, stop: int) -> Tensor:
    """Minus the log of the total probability of tokens start … stop-1 (eq. `vg`). (N, V) → (N,)."""
    return torch.logsumexp(logits, dim=1) - torch.logsumexp(logits[:, start:stop], dim=1)


class RowLoss(nn.Module):
    """Mean loss over every predicted position of a batch of rows (eq. `loss`).

    `hidden[:, k]` predicts `tokens[:, k + 1]`; BOS is given, EOS is predicted.
    """

    log_weights: Tensor
    quantile_rows: Tensor
    other_rows: Tensor

    def __init__(self, layout: TokenLayout, config: TrainConfig) -> None:
        super().__init__()
        quantile = torch.zeros(layout.length - 1, dtype=torch.bool)
        quantile[torch.from_numpy(layout.quantile_positions) - 1] = True
        if not config.ordinal_loss:
            quantile[:] = False
        self.quantile_range = layout.quantile_tokens
        self.register_buffer("quantile_rows", torch.nonzero(quantile)[:, 0])
        self.register_buffer("other_rows", torch.nonzero(~quantile)[:, 0])
        n = len(self.quantile_range)
        weights = ordinal_weights(n, sigma=config.ordinal_loss) if config.ordinal_loss else torch.ones(n, n)
        self.register_buffer("log_weights", weights.log())

    def forward(self, hidden: Tensor, tokens: Tensor, to_logits: Callable[[Tensor], Tensor]) -> Tensor:
        """Hidden states (B, L-1, d) and unmasked tokens (B, L) → mean loss per token."""
        return self.by_row(hidden, tokens, to_logits).mean()

    def by_row(self, hidden: Tensor, tokens: Tensor, to_logits: Callable[[Tensor], Tensor]) -> Tensor:
        """Hidden states (B, L-1, d) and unmasked tokens (B, L) → mean loss per token of each row (B,).

        Positions are picked before `to_logits`, not after: logits of the whole row are the largest tensor there is.
        """
        target, n_rows = tokens[:, 1:], len(tokens)
        z = to_logits(hidden[:, self.other_rows]).float().flatten(0, 1)  # (N, V); half precision would lose the tails
        losses = F.cross_entropy(z, target[:, self.other_rows].flatten(), reduction="none")
        total = losses.view(n_rows, -1).sum(1)
        if len(self.quantile_rows):
            start, stop = self.quantile_range.start, self.quantile_range.stop
            z = to_logits(hidden[:, self.quantile_rows]).float().flatten(0, 1)  # (N, V)
            t = target[:, self.quantile_rows].flatten()  # (N,)
            losses = ordinal_cross_entropy(z[:, start:stop], t - start, self.log_weights)
            losses = losses + valid_group_loss(z, start, stop)
            total = total + losses.view(n_rows, -1).sum(1)
        return total / self.n_counted

    @property
    def n_counted(self) -> int:
        """Tokens of a row that are counted."""
        return len(self.other_rows) + len(self.quantile_rows)
