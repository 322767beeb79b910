"""TabMT (Gulati and Roysdon, 2023): a masked transformer over one token per column, written here from its paper.

A row is its columns' ids, from the same codec that `auto` uses; a share of them, drawn uniformly from 0 to 1 for each
row, is hidden, and the network, which sees all others in both directions, predicts them. New rows start fully hidden
and are filled column by column in an order drawn for each row. So it differs from `auto` in being masked instead of
causal, and in having no trees. The paper's widths (up to 512, searched) are too large for a CPU: width is 64 with 3
layers, as in `auto`. Biases start at the frequencies of the ids; otherwise tables this small are learned badly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from encoding import Clock
from torch import Tensor, nn

from tabtreeformer import Schema
from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.tokens import TableCodec

WIDTH, LAYERS, HEADS = 64, 3, 4
STEPS, BATCH, RATE, PATIENCE, EVERY = 3000, 64, 1e-3, 10, 50
HIDDEN_SHARE_ROWS = 0.1
"""Share of the rows that is kept for early stopping."""

# B rows, D columns, d width, k ids of a column.


class Network(nn.Module):
    """Tied embeddings, as in the paper: a column's head is its table; neighbours among numbers start alike."""

    def __init__(self, sizes: list[int], ordered: list[bool]) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size + 1, WIDTH) for size in sizes)  # the last id is the mask
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(size)) for size in sizes)
        self.columns = nn.Parameter(torch.randn(len(sizes), WIDTH) * 0.05)
        for table, size, order in zip(self.tables, sizes, ordered, strict=True):
            nn.init.normal_(table.weight, std=0.05)
            if order:  # the paper's ordered embedding: a line between two ends, and something of its own
                place = torch.linspace(0, 1, size)[:, None]
                ends = torch.randn(2, WIDTH) * 0.05
                table.weight.data[:-1] = place * ends[0] + (1 - place) * ends[1] + table.weight.data[:-1] * 0.1
        block = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="relu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(block, LAYERS, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, ids: Tensor, hidden: Tensor) -> list[Tensor]:
        """Logits of every column, given the ids (B, D) of those that are not hidden (B, D)."""
        parts = []
        for j, table in enumerate(self.tables):
            shown = torch.where(hidden[:, j], table.num_embeddings - 1, ids[:, j])
            parts.append(table(shown) + self.columns[j])
        out = self.norm(self.blocks(torch.stack(parts, 1)))  # (B, D, d)
        return [out[:, j] @ t.weight[:-1].T + self.biases[j] for j, t in enumerate(self.tables)]  # (B, k) each

    def loss(self, ids: Tensor, hidden: Tensor) -> Tensor:
        """Cross-entropy of the hidden columns, a mean over them."""
        total = ids.new_zeros((), dtype=torch.float32)
        for j, logits in enumerate(self(ids, hidden)):
            lost = nn.functional.cross_entropy(logits, ids[:, j], reduction="none")
            total = total + (lost * hidden[:, j]).sum()
        return total / hidden.sum().clamp(min=1)


class Generator:
    """Trains until held-out rows say stop, or the time is up."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None, temperature: float = 1.0) -> None:
        torch.manual_seed(seed)
        self.seed, self.budget_seconds, self.temperature = seed, budget_seconds, temperature
        self.facts: dict[str, Any] = {}

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Learn ids, then the network."""
        clock = Clock(self.budget_seconds)
        n = len(df)
        self.rng = np.random.default_rng(self.seed)
        plan = Schema.infer(df, schema["target"])
        tokens = TokenConfig(scheme="atoms", quantiles=min(max(n * 2 // 5, 20), 60 if n < 5000 else 128), bins=1)
        self.codec = TableCodec.learn(plan.validate(df), plan, tokens)
        sizes = [slot.size for slot in self.codec.slots]
        ordered = [slot.kind.name != "CATEGORY" for slot in self.codec.slots]
        ids = torch.from_numpy(self.codec.encode(df)[self.rng.permutation(n)])
        n_kept = max(2, round(n * HIDDEN_SHARE_ROWS))
        kept, ids = ids[:n_kept], ids[n_kept:]
        self.network = Network(sizes, ordered)
        for bias, size, column in zip(self.network.biases, sizes, ids.T, strict=True):
            counts = torch.bincount(column, minlength=size)  # start from the marginals: rows this few teach them slowly
            bias.data = torch.log((counts + 0.1) / (len(ids) + 0.1 * size))
        optimizer = torch.optim.AdamW(self.network.parameters(), RATE, weight_decay=0.01)
        rng = torch.Generator().manual_seed(self.seed)
        kept = kept.repeat(max(1, 512 // len(kept)), 1)
        kept_hidden = _hide(kept.shape, rng)
        best, best_loss, waited = self.network.state_dict(), float("inf"), 0
        for step in range(1, STEPS + 1):
            batch = ids[torch.randint(len(ids), (min(BATCH, len(ids)),), generator=rng)]
            optimizer.zero_grad()
            self.network.loss(batch, _hide(batch.shape, rng)).backward()
            nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
            optimizer.step()
            if step % EVERY == 0:
                self.network.eval()
                with torch.inference_mode():
                    loss = float(self.network.loss(kept, kept_hidden))
                self.network.train()
                if loss < best_loss:
                    best, best_loss, waited = {k: v.clone() for k, v in self.network.state_dict().items()}, loss, 0
                else:
                    waited += 1
                if waited == PATIENCE or clock.over(0.9):
                    break
        self.network.load_state_dict(best)
        self.facts = {"steps": step, "loss": best_loss}

    @torch.inference_mode()
    def sample(self, n: int) -> pd.DataFrame:
        """Fill rows one column at a time; which column comes next is drawn for each row."""
        self.network.eval()
        draw = torch.Generator().manual_seed(self.seed)
        width = len(self.codec.slots)
        ids = torch.zeros(n, width, dtype=torch.long)
        hidden = torch.ones(n, width, dtype=torch.bool)
        order = torch.rand(n, width, generator=draw).argsort(1)  # (B, D)
        for turn in range(width):
            logits = self.network(ids, hidden)
            for j in range(width):
                rows = torch.nonzero(order[:, turn] == j)[:, 0]
                if len(rows):
                    chances = torch.softmax(logits[j][rows] / self.temperature, 1)
                    ids[rows, j] = torch.multinomial(chances, 1, generator=draw)[:, 0]
                    hidden[rows, j] = False
        return self.codec.decode(ids.numpy(), self.rng)


def _hide(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Hide a share of each row's columns that is itself drawn, at least one."""
    share = torch.rand(shape[0], 1, generator=generator)
    hidden = torch.rand(shape, generator=generator) < share
    hidden[torch.arange(shape[0]), torch.randint(shape[1], (shape[0],), generator=generator)] = True
    return hidden
