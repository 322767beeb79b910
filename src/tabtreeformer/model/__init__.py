"""The network: embeddings, backbone, heads, loss."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..config import ModelConfig, TrainConfig
from ..tokens import TokenLayout
from .loss import RowLoss
from .row_model import RowModel
from .slot_model import SlotModel
from .steps import rows_of

Network = RowModel | SlotModel
RowLosses = Callable[[Tensor, Tensor | None, Tensor], Tensor]

__all__ = [
    "Network",
    "RowLoss",
    "RowLosses",
    "RowModel",
    "SlotModel",
    "build_loss",
    "build_network",
    "build_row_losses",
    "rows_of",
]


def build_network(layout: TokenLayout, config: ModelConfig, generator: torch.Generator | None = None) -> Network:
    """The network that the config names."""
    model = SlotModel if config.softmax == "allowed" else RowModel
    return model(layout, config, generator)


def build_loss(network: Network, config: TrainConfig) -> Callable[[Tensor, Tensor | None, Tensor], Tensor]:
    """Masked token rows (B, L), orders of their slots (B, D) and the whole rows → mean loss of predicting the whole."""
    if isinstance(network, SlotModel):
        return network.loss
    row_loss = RowLoss(network.layout, config).to(network.embedding.weight.device)
    # The last position predicts nothing.
    return lambda masked, order, rows: row_loss(network.hidden(masked[:, :-1]), rows, network.logits)


def build_row_losses(network: Network, config: TrainConfig) -> tuple[RowLosses, int]:
    """The same loss of each row by itself (B,), nats a token, and how many tokens of a row it counts."""
    if isinstance(network, SlotModel):
        return network.row_losses, network.layout.n_values
    row_loss = RowLoss(network.layout, config).to(network.embedding.weight.device)

    def losses(masked: Tensor, order: Tensor | None, rows: Tensor) -> Tensor:
        return row_loss.by_row(network.hidden(masked[:, :-1]), rows, network.logits)

    return losses, row_loss.n_counted
