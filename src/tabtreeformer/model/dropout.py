"""Dropout whose masks cost little on a CPU, where PyTorch draws random numbers one by one, 6 ns each.

Each number is kept or dropped by 16 random bits, from a generator that PyTorch's own generator reseeds each time:
whoever sets or restores PyTorch's state gets the same masks again.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

LEVELS = 2**16
"""A rate is rounded to a multiple of one over this number, e.g. 0.1 to 0.100006."""


def keep_mask(like: Tensor, rate: float) -> Tensor:
    """Ones where a number is kept and zeros where it is dropped, of the shape and dtype of a tensor on the CPU."""
    generator = np.random.SFC64(int(torch.randint(2**63 - 1, ())))
    words = generator.random_raw((like.numel() + 3) // 4)
    bits = torch.from_numpy(words.view(np.int16)[: like.numel()]).view(like.shape)
    dropped = round(rate * LEVELS) - LEVELS // 2  # the bits are read as numbers from -32768 up
    return torch.ge(bits, dropped, out=torch.empty(like.shape, dtype=like.dtype))


def kept_share(rate: float) -> float:
    """The share of the numbers that `keep_mask` keeps: exactly what the kept ones have to be divided by."""
    return 1 - round(rate * LEVELS) / LEVELS


class Dropout(nn.Module):
    """Does what `nn.Dropout` does."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Zero a random share of the numbers and divide the others by the share that is left, when training."""
        if not self.training or not self.rate:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.rate)
        return x * keep_mask(x, self.rate).div_(kept_share(self.rate))


def attention_with_dropout(q: Tensor, k: Tensor, v: Tensor, rate: float, causal: bool) -> Tensor:
    """Attention (…, L, e) on the CPU, with dropout on its weights; PyTorch has no fused version there.

    The result is divided by the kept share afterwards: there are fewer values than weights.
    """
    shape = q.shape
    q, k, v = (t.reshape(-1, *shape[-2:]) for t in (q, k, v))  # (B H, L, e)
    hidden = torch.full((shape[-2], shape[-2]), -torch.inf if causal else 0.0, dtype=q.dtype).triu_(1)  # (L, L)
    weights = torch.baddbmm(hidden, q, k.mT, alpha=shape[-1] ** -0.5).softmax(-1)  # (B H, L, L)
    out = torch.bmm(weights * keep_mask(weights, rate), v) / kept_share(rate)
    return out.view(shape)
