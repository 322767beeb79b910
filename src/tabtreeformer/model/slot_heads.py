"""One softmax per slot, over the ids that the slot may hold; slots of similar size share one matrix product.

Shapes: `B` rows, `D` value slots, `n` slots of a head, `S` ids of a slot, `d` width.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..tokens import SlotKind, TokenLayout

BUCKETS = (16, 64, 256, 1024)
"""Up to these sizes, slots of similar size share one matrix product; larger ones have one each."""
SMOOTHING = 0.7
"""Width, in ids, of the Gaussian that spreads a number's target over neighbouring ids."""
MAX_TABLED = 256
"""Up to this many ids, smoothed targets are kept in a table, which is then no larger than those of a batch."""


class SlotLogits(nn.Module):
    """The logits of slots of similar size, in one matrix product."""

    rows: Tensor

    def __init__(self, rows: Tensor) -> None:
        """Take the rows (n, S) of the table that hold the ids of each slot."""
        super().__init__()
        self.register_buffer("rows", rows, persistent=False)

    def forward(self, hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Hidden states (B, n, d) → logits (B, n, S)."""
        return torch.einsum("bnd,nsd->bns", hidden, weight[self.rows]) + bias[self.rows]


class SlotHead(nn.Module):
    """The softmaxes of slots of similar size, padded to the largest of them: one product instead of one per slot."""

    slots: Tensor
    padding: Tensor
    exact: Tensor
    kernels: Tensor | None

    def __init__(self, layout: TokenLayout, slots: list[int], smoothing: float) -> None:
        super().__init__()
        sizes = [slot.size for slot in layout.value_slots]
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        widest = max(sizes[i] for i in slots)
        ids = torch.arange(widest)
        own = torch.tensor([sizes[i] for i in slots])
        self.register_buffer("slots", torch.tensor(slots), persistent=False)
        self.logits = SlotLogits(torch.stack([starts[i] + ids.clamp(max=sizes[i] - 1) for i in slots]))  # (n, S)
        self.register_buffer("padding", ids >= own[:, None], persistent=False)  # (n, S)
        # Targets are smoothed among the intervals of a number; its atoms, and categories, have no near misses.
        exact = torch.ones(len(slots), widest, dtype=torch.bool)
        for row, i in enumerate(slots):
            if layout.value_slots[i].kind == SlotKind.QUANTILE:
                exact[row, [k for k in range(sizes[i]) if k not in layout.value_slots[i].atoms]] = False
        self.smoothing = 0.0 if exact.all() else smoothing
        self.register_buffer("exact", exact, persistent=False)  # (n, S)
        tabled = self.smoothing and widest <= MAX_TABLED
        kernels = self._kernel(ids.repeat(len(slots), 1).T) if tabled else None  # (S, n, S)
        self.register_buffer("kernels", kernels, persistent=False)

    def forward(self, hidden: Tensor, local: Tensor, weight: Tensor, bias: Tensor, smooth: bool) -> Tensor:
        """(B, D, d) hidden states and (B, D) local ids → losses (B, n)."""
        raw: Tensor = self.logits(hidden[:, self.slots], weight, bias).float()
        logits = raw.masked_fill(self.padding, -math.inf)
        n = torch.arange(len(self.slots), device=local.device)
        target = local[:, self.slots]  # (B, n)
        if self.smoothing and smooth:
            kernel = self._kernel(target) if self.kernels is None else self.kernels[target, n]
            return torch.logsumexp(logits, dim=2) - (kernel * raw).sum(2)
        return torch.logsumexp(logits, dim=2) - logits.gather(2, target[..., None])[..., 0]

    def _kernel(self, target: Tensor) -> Tensor:
        """Targets (B, n) smoothed to (B, n, S), with nothing on ids that a slot does not have."""
        gap = torch.arange(self.exact.shape[1], device=target.device) - target[..., None]  # (B, n, S)
        slot = torch.arange(len(self.slots), device=target.device)
        alone = self.exact[slot, target][..., None] | self.exact | self.padding
        return torch.softmax((-0.5 * (gap / self.smoothing) ** 2).masked_fill(alone & (gap != 0), -math.inf), dim=2)


def buckets(layout: TokenLayout) -> list[list[int]]:
    """Value slots, grouped by similar size."""
    buckets: dict[int, list[int]] = {}
    for index, slot in enumerate(layout.value_slots):
        key = next((size for size in BUCKETS if slot.size <= size), -index - 1)
        buckets.setdefault(key, []).append(index)
    return list(buckets.values())
