"""Norms of per-row gradients, without materialising the gradients.

For every matrix, the gradient of a row is a product of its input and the gradient of its output; the norm follows from
these two. One backward pass to the activations gives the norms, a second one the sum of the clipped gradients. A test
compares them with gradients computed row by row.

Shapes: `B` rows, `L` positions, `D` value slots, `S` ids of a slot, `d` width.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ...errors import ConfigError, TabTreeFormerError
from ...model import SlotModel
from ...model.slot_heads import SlotLogits


class RowNorms:
    """Hooks into a network and computes the norm of each row's gradient."""

    def __init__(self, model: SlotModel) -> None:
        if model.layout.n_trees:
            raise ConfigError("differential privacy does not support trees: their leaves are learned without noise")
        self.model = model
        values, head = model.smooth_values, model.smooth_head
        # Weight of a gradient at a row of an embedding table: its own entry and the smooth functions.
        self._values = values.own[:, 0] ** 2 + values.functions().square().sum(1)
        self._head = head.own[:, 0] ** 2, head.functions()
        self._seen: list[tuple[nn.Module, tuple[Any, ...], Tensor]] = []
        self._stream: Tensor | None = None
        self._handles = [model.backbone.register_forward_pre_hook(self._enter)]
        watched = (nn.Linear, nn.LayerNorm, SlotLogits)
        for module in model.modules():
            if isinstance(module, watched):
                self._handles.append(module.register_forward_hook(self._leave))
        covered = {id(p) for m in model.modules() if isinstance(m, nn.Linear | nn.LayerNorm) for p in m.parameters()}
        covered |= {id(p) for p in self._tables()}
        strange = [name for name, p in model.named_parameters() if p.requires_grad and id(p) not in covered]
        if strange:
            raise ConfigError(f"the gradients of {strange[0]} cannot be clipped row by row; use model.backbone='gpt2'")

    def _tables(self) -> list[Tensor]:
        model = self.model
        wpe = getattr(model.backbone, "wpe", None)
        modules = (model.leaves, model.values, model.head, model.ahead, model.smooth_values, model.smooth_head, wpe)
        return [model.begin, model.bias, *(module.weight for module in modules if module is not None)]

    def _enter(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        self._stream = inputs[0]

    def _leave(self, module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        self._seen.append((module, inputs, output))

    def close(self) -> None:
        """Remove the hooks."""
        for handle in self._handles:
            handle.remove()

    def __call__(self, masked: Tensor, order: Tensor | None, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Losses (B,) with their graph, and the norms of their gradients (B,)."""
        self._seen.clear()
        losses = self.model.row_losses(masked, order, rows)
        assert self._stream is not None
        back = torch.autograd.grad(
            losses.sum(), [self._stream, *(out for _, _, out in self._seen)], retain_graph=True, materialize_grads=True
        )
        squares = self._of_inputs(back[0], masked, order)
        for (module, inputs, _), gradient in zip(self._seen, back[1:], strict=True):
            squares = squares + self._of_module(module, inputs, gradient)
        self._seen.clear()
        return losses, squares.sqrt()

    def _of_inputs(self, back: Tensor, masked: Tensor, order: Tensor | None) -> Tensor:
        """Embeddings summed into the input stream: positions, next slots, values, smooth parts, the start."""
        model = self.model
        squares = back.square().sum(2)  # (B, L)
        total = squares[:, 0] + squares.sum(1)  # the start, and the positions
        total = total + squares.sum(1)  # every slot is ahead once
        B, n = squares.shape[0], squares.shape[1] - 1
        slots = torch.arange(model.layout.n_values, device=masked.device).expand(B, -1) if order is None else order
        tokens = masked[:, 1:-1].gather(1, slots)[:, :n]
        table = model.table_rows(tokens, slots[:, :n])  # (B, n), different rows all
        return total + (squares[:, 1:] * self._values[table]).sum(1)

    def _of_module(self, module: nn.Module, inputs: tuple[Any, ...], back: Tensor) -> Tensor:
        x: Tensor = inputs[0]
        if isinstance(module, nn.Linear):
            products = (x @ x.transpose(1, 2)) * (back @ back.transpose(1, 2))  # (B, L, L)
            return products.sum((1, 2)).clamp_min(0) + back.sum(1).square().sum(1)
        if isinstance(module, nn.LayerNorm):
            x = nn.functional.layer_norm(x, module.normalized_shape, eps=module.eps)
            return (x * back).sum(1).square().sum(1) + back.sum(1).square().sum(1)
        assert isinstance(module, SlotLogits)
        hidden = x.square().sum(2)  # (B, n)
        ids = back.square()  # (B, n, S)
        total = ids.sum((1, 2))  # the biases
        own, functions = self._head
        total = total + ((ids * own[module.rows]).sum(2) * hidden).sum(1)
        functions = torch.einsum("bns,nsr->bnr", back, functions[module.rows])  # (B, n, r)
        return total + (functions.square().sum(2) * hidden).sum(1)


def clipped_sum(norms: RowNorms, masked: Tensor, order: Tensor | None, rows: Tensor, clip: float) -> None:
    """Add the gradients of rows, each clipped to the norm `clip`, to the `grad` of the parameters."""
    losses, lengths = norms(masked, order, rows)
    if not bool(torch.isfinite(lengths).all()):
        raise TabTreeFormerError("a gradient is not a number; lower train.learning_rate and fit again")
    # Slightly less than clip, because norms are floats and the bound must hold for the actual gradients.
    factors = (clip * (1 - 1e-4) / lengths.clamp_min(1e-12)).clamp(max=1.0)
    (losses * factors.detach()).sum().backward()  # type: ignore[no-untyped-call]
