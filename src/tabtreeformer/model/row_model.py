"""A model of rows: token embeddings, a causal backbone, and a head over the vocabulary.

Shapes: `B` rows, `L` positions, `V` ids, `d` width.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..config import ModelConfig
from ..tokens import TokenLayout
from .backbones import build_backbone
from .decoder import INIT_STD
from .embedding import quantile_embedding


class RowModel(nn.Module):
    """One network; the paper trains two of them."""

    def __init__(self, layout: TokenLayout, config: ModelConfig, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.layout, self.config = layout, config
        # Modules draw from torch's global state when they are made, before our own start: leave the user's alone.
        with torch.random.fork_rng(devices=[]):
            self._build(generator)

    def _build(self, generator: torch.Generator | None) -> None:
        layout, config = self.layout, self.config
        self.embedding = nn.Embedding(layout.n_vocab, config.width)
        nn.init.normal_(self.embedding.weight, std=INIT_STD, generator=generator)
        quantiles = layout.quantile_tokens
        if config.quantile_embedding and len(quantiles):
            with torch.no_grad():
                self.embedding.weight[quantiles.start :] = quantile_embedding(len(quantiles), config.width)
        self.backbone = build_backbone(config, layout.length, generator)
        self.head = None if config.tied else nn.Linear(config.width, layout.n_vocab, bias=False)
        if self.head is not None:
            nn.init.normal_(self.head.weight, std=INIT_STD, generator=generator)

    def hidden(self, tokens: Tensor, cache: Any | None = None, order: Tensor | None = None) -> Tensor:
        """Tokens (B, L) → hidden states (B, L, d); with a cache, those after what it holds. Only in table order."""
        assert order is None
        states: Tensor = self.backbone(self.embedding(tokens), cache)
        return states

    def logits(self, hidden: Tensor, tokens: range | None = None) -> Tensor:
        """Hidden states (…, d) → logits (…, V), or only those of a range of tokens."""
        table = self.embedding.weight if self.head is None else self.head.weight  # (V, d)
        if tokens is not None:
            table = table[tokens.start : tokens.stop]
        return hidden @ table.T

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens (B, L) → logits (B, L, V); those at position k are about position k + 1."""
        return self.logits(self.hidden(tokens))

    def slot_logits(self, hidden: Tensor, slot: int, drawn: Tensor) -> Tensor:
        """Hidden states (B, d) before value slot `slot` → logits of the ids that it may hold (B, S)."""
        return self.logits(hidden, self.layout.allowed(self.layout.n_trees + slot))

    def start_from(self, rows: Tensor) -> None:
        """Nothing here starts from the data."""

    def fold(self) -> None:
        """Nothing here can be computed ahead."""

    def new_cache(self, rows: int) -> Any:
        """An empty cache for `hidden`."""
        return self.backbone.new_cache(rows)  # type: ignore[operator]

    @property
    def n_parameters(self) -> int:
        """Trainable numbers."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)
