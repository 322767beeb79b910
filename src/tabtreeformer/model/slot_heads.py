"""One softmax per slot, over the ids that the slot may hold; slots of similar size share one product of matrices.

Shapes: `B` rows, `D` value slots, `n` slots of a head, `S` ids of a slot, `d` width.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..tokens import TokenLayout

BUCKETS = (16, 64, 256, 1024)
"""Slots of similar size share one product of matrices; larger ones have one each."""


class SlotLogits(nn.Module):
    """The logits of slots of similar size, in one product of matrices."""

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

    def __init__(self, layout: TokenLayout, slots: list[int]) -> None:
        super().__init__()
        sizes = [slot.size for slot in layout.value_slots]
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        widest = max(sizes[i] for i in slots)
        ids = torch.arange(widest)
        own = torch.tensor([sizes[i] for i in slots])
        self.register_buffer("slots", torch.tensor(slots), persistent=False)
        self.logits = SlotLogits(torch.stack([starts[i] + ids.clamp(max=sizes[i] - 1) for i in slots]))  # (n, S)
        self.register_buffer("padding", ids >= own[:, None], persistent=False)  # (n, S)

    def forward(self, hidden: Tensor, local: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """(B, D, d) hidden states and (B, D) local ids → losses (B, n)."""
        logits = self.logits(hidden[:, self.slots], weight, bias).float().masked_fill(self.padding, -math.inf)
        own: Tensor = logits.gather(2, local[:, self.slots][..., None])[..., 0]  # (B, n)
        return torch.logsumexp(logits, dim=2) - own


def buckets(layout: TokenLayout) -> list[list[int]]:
    """Value slots of similar size together."""
    buckets: dict[int, list[int]] = {}
    for index, slot in enumerate(layout.value_slots):
        key = next((size for size in BUCKETS if slot.size <= size), -index - 1)
        buckets.setdefault(key, []).append(index)
    return list(buckets.values())
