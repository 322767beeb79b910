"""How weights follow gradients: AdamW for all of them, or Muon for the matrices between hidden states.

Muon moves a matrix by its momentum with all singular values made equal (Jordan et al., 2024; newer versions of PyTorch
include it as `torch.optim.Muon`): directions that few rows need are then learned as fast as those that all rows need.

Shapes: `n` matrices of one shape, `r` their shorter side, `c` the longer.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from ..config.settings import TrainConfig
from ..model import Network

WARMUP = 20
"""Warm-up steps at the beginning of the shared start and of each network, with Muon."""
MOMENTUM = 0.95
POLYNOMIAL = (3.4445, -4.7750, 2.0315)
"""Applied five times, it maps singular values between 0 and 1 to about 1."""
ITERATIONS = 5


def build_optimizer(model: Network, config: TrainConfig) -> torch.optim.Optimizer:
    """The optimiser of a network; each group of weights keeps its peak rate as `peak`."""
    weights = [p for p in model.parameters() if p.requires_grad]
    hidden = _hidden_matrices(model) if config.matrix_rate else []
    ids = {id(p) for p in hidden}
    groups: list[dict[str, Any]] = [{"params": [p for p in weights if id(p) not in ids], "peak": config.learning_rate}]
    if hidden:
        groups.append({"params": hidden, "peak": config.matrix_rate, "muon": True})
    optimizer = MuonAdamW(groups, weight_decay=0.0, fused=True)
    set_rate(optimizer, 1.0)
    return optimizer


def set_rate(optimizer: torch.optim.Optimizer, share: float) -> None:
    """Learn at a share of the peak rates."""
    for group in optimizer.param_groups:
        group["lr"] = group["peak"] * share


class MuonAdamW(torch.optim.AdamW):
    """AdamW in which marked groups are updated by Muon instead."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One update."""
        overflowed = getattr(self, "found_inf", None)  # in half precision, the scaler leaves skipping to AdamW
        for group in self.param_groups:
            if group.get("muon"):
                if overflowed is None or not overflowed.item():
                    self._move(group["params"], group["lr"])
                for weight in group["params"]:
                    weight.grad = None  # AdamW skips these
        return super().step(closure)

    def _move(self, weights: list[Tensor], rate: float) -> None:
        shapes: dict[tuple[int, ...], list[Tensor]] = {}
        for weight in weights:
            shapes.setdefault(tuple(sorted(weight.shape)), []).append(weight)
        for alike in shapes.values():
            wide = torch.stack([_as_wide(self._momentum(weight)) for weight in alike])  # (n, r, c)
            for weight, direction in zip(alike, orthogonal(wide), strict=True):
                tall = weight.shape[0] > weight.shape[1]
                scale = math.sqrt(max(1.0, weight.shape[0] / weight.shape[1]))
                weight.sub_(direction.T if tall else direction, alpha=rate * scale)

    def _momentum(self, weight: Tensor) -> Tensor:
        """The gradient plus what is left of earlier ones (Nesterov's form)."""
        assert weight.grad is not None
        state = self.state[weight]
        if not state:
            state["momentum"] = torch.zeros_like(weight)
            state["step"] = torch.zeros(())  # AdamW expects it when a state is loaded
        past = state["momentum"].lerp_(weight.grad, 1 - MOMENTUM)
        return weight.grad.lerp(past, MOMENTUM)


def orthogonal(matrices: Tensor) -> Tensor:
    """Matrices (n, r, c) with the same singular vectors and singular values of about one (Newton-Schulz)."""
    a, b, c = POLYNOMIAL
    x: Tensor = matrices / (matrices.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.mT  # (n, r, r)
        x = a * x + (b * square + c * square @ square) @ x
    return x


def _as_wide(matrix: Tensor) -> Tensor:
    return matrix.T if matrix.shape[0] > matrix.shape[1] else matrix


def _hidden_matrices(model: Network) -> list[Tensor]:
    """Weights that map hidden states to hidden states; embeddings and heads are tables, not maps."""
    return [m.weight for m in model.backbone.modules() if isinstance(m, nn.Linear) and m.weight.requires_grad]
