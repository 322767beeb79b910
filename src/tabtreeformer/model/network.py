"""The protocol of a network: training, drawing, likelihoods and the gate use it, and never ask which network it is.

Shapes: `B` rows, `T` trees, `D` value slots, `L` positions of a row, `S` ids of a slot, `d` width.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from ..config.settings import ModelConfig, TrainConfig
from ..tokens import TokenLayout
from .fast_decode import PlainRows, Rows

Loss = Callable[[Tensor, Tensor | None, Tensor], Tensor]
"""Masked token rows (B, L), orders of their value slots (B, D) or None, and the whole rows (B, L) → a loss."""


class Network(nn.Module, ABC):
    """One network; takes and predicts the token sequences of a `TokenLayout`. The paper trains two of them."""

    layout: TokenLayout
    config: ModelConfig
    backbone: nn.Module

    @property
    @abstractmethod
    def n_prompts(self) -> int:
        """Number of positions between BOS and the state that predicts the first value."""

    @abstractmethod
    def hidden(self, tokens: Tensor, cache: Any | None = None, order: Tensor | None = None) -> Tensor:
        """Tokens from BOS on (B, 1 + T + k), or with a filled cache the next one → states of the new positions.

        The values are those of the slots that `order` (B or 1, > k) names, in that order; without it in table order.
        """

    @abstractmethod
    def slot_logits(self, hidden: Tensor, slot: int) -> Tensor:
        """Hidden states (B, d) before value slot `slot` → logits of the ids that it may hold (B, S)."""

    @abstractmethod
    def log_probs(self, rows: Tensor, order: Tensor | None = None) -> Tensor:
        """Log-probabilities of the values of rows (B, L), by slot (B, D), each given those before it in `order`.

        They cover only ids that a slot may hold, which is what the sampler draws from.
        """

    @abstractmethod
    def build_loss(self, config: TrainConfig) -> Loss:
        """The mean loss of a batch, nats per token."""

    @abstractmethod
    def build_row_losses(self, config: TrainConfig) -> tuple[Loss, int]:
        """The same loss for each row separately (B,), and how many tokens of a row it counts."""

    def start_from(self, rows: Tensor) -> None:
        """Take initial values from the training rows (N, L), if the network has any that come from data."""

    def fold(self) -> None:
        """Precompute what stays the same until the next `train()`, if anything."""

    def count(self, rows: Tensor) -> list[Tensor] | None:
        """How many of the rows (N, L) have each id of each value slot; None for a network that cannot be shifted."""
        return None

    def shift(self, slot: int, shift: Tensor) -> None:
        """Add to the logits of a value slot's ids (S,), whatever comes before them."""
        raise NotImplementedError

    def start_rows(self, *, cache: bool = True) -> Callable[[Tensor, Tensor | None], Rows]:
        """What starts rows from prompts (B, 1 + T) and orders of value slots (B or 1, D); None is table order.

        It uses the weights as they are now. Without a cache, all positions are recomputed for each value.
        """
        return lambda tokens, order: PlainRows(self, tokens, order, cache=cache)

    def new_cache(self, n_rows: int) -> Any:
        """An empty cache for `hidden`."""
        return self.backbone.new_cache(n_rows)  # type: ignore[operator]

    @property
    def n_parameters(self) -> int:
        """Trainable numbers."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)
