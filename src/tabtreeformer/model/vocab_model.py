"""The paper's network: token embeddings, a causal backbone, and a head over the whole vocabulary.

Shapes: `B` rows, `L` positions, `V` ids, `d` width.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..config.settings import ModelConfig, TrainConfig
from ..tokens import TokenLayout
from .backbones import build_backbone
from .decoder import INIT_STD
from .embedding import quantile_embedding
from .loss import RowLoss
from .network import Loss, Network
from .sizes import table_rows


class VocabModel(Network):
    """The paper's network: one position per tree, and one softmax over all tokens."""

    def __init__(self, layout: TokenLayout, config: ModelConfig, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.layout, self.config = layout, config
        # Modules draw from torch's global state when they are made, before our own start: leave the user's alone.
        with torch.random.fork_rng(devices=[]):
            self._build(generator)

    def _build(self, generator: torch.Generator | None) -> None:
        layout, config = self.layout, self.config
        n_rows = table_rows(layout, config)
        self.embedding = nn.Embedding(n_rows["embedding"], config.width)
        nn.init.normal_(self.embedding.weight, std=INIT_STD, generator=generator)
        quantiles = layout.quantile_tokens
        if config.quantile_embedding != "none" and len(quantiles):
            start = quantile_embedding(len(quantiles), config.width, config.quantile_embedding)
            with torch.no_grad():
                self.embedding.weight[quantiles.start :] = start
        self.backbone = build_backbone(config, n_rows["positions"], generator)

    @property
    def n_prompts(self) -> int:
        """One position per tree."""
        return self.layout.n_trees

    def hidden(self, tokens: Tensor, cache: Any | None = None, order: Tensor | None = None) -> Tensor:
        """Tokens (B, L) → hidden states (B, L, d); with a cache, those after it. Only in table order."""
        assert order is None, "this network knows the order of the table only"
        states: Tensor = self.backbone(self.embedding(tokens), cache)
        return states

    def logits(self, hidden: Tensor, tokens: range | None = None) -> Tensor:
        """Hidden states (…, d) → logits (…, V), or only those of a range of tokens."""
        table = self.embedding.weight  # (V, d), the output head too
        if tokens is not None:
            table = table[tokens.start : tokens.stop]
        return hidden @ table.T

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens (B, L) → logits (B, L, V); those at position k are about position k + 1."""
        return self.logits(self.hidden(tokens))

    def slot_logits(self, hidden: Tensor, slot: int) -> Tensor:
        """Hidden states (B, d) before value slot `slot` → logits of the ids that it may hold (B, S)."""
        return self.logits(hidden, self.layout.allowed(self.layout.n_trees + slot))

    def log_probs(self, rows: Tensor, order: Tensor | None = None) -> Tensor:
        """Log-probabilities of the values of rows (B, L), by slot (B, D); only in table order."""
        T = self.layout.n_trees
        hidden = self.hidden(rows[:, :-1], order=order)  # (B, L - 1, d)
        logs = []
        for slot in range(self.layout.n_values):
            logits = self.slot_logits(hidden[:, T + slot], slot).double()  # (B, S)
            ids = rows[:, 1 + T + slot] - self.layout.allowed(T + slot).start  # (B,)
            logs.append(torch.log_softmax(logits, 1).gather(1, ids[:, None]))
        return torch.cat(logs, dim=1)

    def build_loss(self, config: TrainConfig) -> Loss:
        """The paper's loss, as a mean over the batch."""
        row_loss = RowLoss(self.layout, config).to(self.embedding.weight.device)
        # The last position predicts nothing.
        return lambda masked, order, rows: row_loss(self.hidden(masked[:, :-1]), rows, self.logits)

    def build_row_losses(self, config: TrainConfig) -> tuple[Loss, int]:
        """The paper's loss of each row."""
        row_loss = RowLoss(self.layout, config).to(self.embedding.weight.device)

        def losses(masked: Tensor, order: Tensor | None, rows: Tensor) -> Tensor:
            return row_loss.by_row(self.hidden(masked[:, :-1]), rows, self.logits)

        return losses, row_loss.n_counted
