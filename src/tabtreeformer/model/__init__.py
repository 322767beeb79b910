"""The network: embeddings, backbone, heads, loss."""

from __future__ import annotations

import torch

from ..config.settings import ModelConfig, TrainConfig
from ..tokens import TokenLayout
from .loss import RowLoss
from .masked_model import MaskedModel
from .network import Loss, Network
from .slot_model import SlotModel
from .vocab_model import VocabModel

__all__ = [
    "Loss",
    "MaskedModel",
    "Network",
    "RowLoss",
    "SlotModel",
    "VocabModel",
    "build_loss",
    "build_network",
    "build_row_losses",
]


def build_network(layout: TokenLayout, config: ModelConfig, generator: torch.Generator | None = None) -> Network:
    """The network that the config names."""
    if config.softmax == "vocabulary":
        return VocabModel(layout, config, generator)
    model = MaskedModel if config.softmax == "masked" else SlotModel
    return model(layout, config, generator)


def build_loss(network: Network, config: TrainConfig) -> Loss:
    """The mean loss of a batch, nats per token."""
    return network.build_loss(config)


def build_row_losses(network: Network, config: TrainConfig) -> tuple[Loss, int]:
    """The same loss for each row separately (B,), and how many tokens of a row it counts."""
    return network.build_row_losses(config)
