"""The paper's loss: cross-entropy elsewhere, ordinal cross-entropy plus the valid-group term on quantile positions.

Shapes: `N` tokens, `V` ids, `Q` quantile ids.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..config import TrainConfig
from ..tokens import TokenLayout


def ordinal_weights(n: int, *, sigma: float = 0.005, floor: float = 0.5) -> Tensor:
    """w_ti = 1 + m - exp(-(t - i)² / (nσ)²), shape (n, n): row t weighs the tokens i for target t (eq. `weight`).

    NOTE[PAPER]: the paper writes V for n; we take the number of quantile tokens, the length of the slice that the loss
    is applied to, as its figure does.
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
    """Minus the log of the probability that lies on tokens start … stop-1 (eq. `vg`). (N, V) → (N,)."""
    return torch.logsumexp(logits, dim=1) - torch.logsumexp(logits[:, start:stop], dim=1)


class RowLoss(nn.Module):
    """Mean loss over every predicted position of a batch of rows (eq. `loss`).

    `logits[:, k]` predicts `tokens[:, k + 1]`; BOS is given, EOS is predicted.
    """

    log_weights: Tensor
    quantile_rows: Tensor
    other_rows: Tensor

    def __init__(self, layout: TokenLayout, config: TrainConfig) -> None:
        super().__init__()
        quantile = torch.zeros(layout.length - 1, dtype=torch.bool)
        quantile[torch.from_numpy(layout.quantile_positions) - 1] = True
        counted = torch.ones(layout.length - 1, dtype=torch.bool)
        counted[: layout.n_trees] = config.leaf_loss
        if not config.ordinal_loss:
            quantile[:] = False
        self.quantile_range = layout.quantile_tokens
        self.register_buffer("quantile_rows", torch.nonzero(quantile & counted)[:, 0])
        self.register_buffer("other_rows", torch.nonzero(~quantile & counted)[:, 0])
        weights = ordinal_weights(len(self.quantile_range), sigma=config.sigma, floor=config.floor)
        self.register_buffer("log_weights", weights.log())

    def forward(self, logits: Tensor, tokens: Tensor) -> Tensor:
        """(B, L-1, V) logits and (B, L) unmasked tokens → mean loss a token."""
        logits, target = logits.float(), tokens[:, 1:]  # half precision would lose the far tails
        other = F.cross_entropy(
            logits[:, self.other_rows].flatten(0, 1), target[:, self.other_rows].flatten(), reduction="sum"
        )
        n_tokens = len(target) * (len(self.other_rows) + len(self.quantile_rows))
        if not len(self.quantile_rows):
            return other / n_tokens
        start, stop = self.quantile_range.start, self.quantile_range.stop
        z = logits[:, self.quantile_rows].flatten(0, 1)  # (N, V)
        t = target[:, self.quantile_rows].flatten()  # (N,)
        ordinal = ordinal_cross_entropy(z[:, start:stop], t - start, self.log_weights)
        return (other + ordinal.sum() + valid_group_loss(z, start, stop).sum()) / n_tokens
