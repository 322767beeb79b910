"""The network of `auto`: every slot has its own embeddings and its own softmax, and trees share prompt positions.

The same causal idea as `VocabModel`, reshaped for small tables and for speed: `pool` trees are summed into one prompt
position, so that a row is a handful of positions longer than its values; a slot predicts only ids that it may hold,
starting from their frequencies.

Shapes: `B` rows, `T` trees, `P` prompt positions, `D` value slots, `S` ids of a slot, `d` width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..config.settings import ModelConfig, TrainConfig
from ..tokens import MASK, TokenLayout
from .backbones import build_backbone
from .copula import Copula
from .decoder import INIT_STD
from .fast_decode import Rows, SlotRows, SlotSteps
from .network import Loss, Network
from .sizes import n_prompts, number_slots, table_rows
from .slot_heads import SMOOTHING, SlotHead, buckets
from .smooth_tables import OWN_ROWS, SmoothTable, stands_out

COUNTED_AT_ONCE = 1 << 16
"""Rows whose ids are counted at once."""
WEIGHED = 4096
"""Maximum number of rows used to find how far to trust what other slots say about one."""


class SlotModel(Network):
    """A network with embeddings and a softmax of its own for each slot."""

    rows: Tensor
    offsets: Tensor
    sizes: Tensor

    def __init__(self, layout: TokenLayout, config: ModelConfig, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self._folded: tuple[Tensor, Tensor] | None = None
        self.layout, self.config = layout, config
        T = layout.n_trees
        sizes = torch.tensor([slot.size for slot in layout.slots], dtype=torch.long)
        starts = torch.cat([torch.zeros(1, dtype=torch.long), (sizes + 1).cumsum(0)])  # one row more per slot: its mask
        n_rows = table_rows(layout, config)
        with torch.random.fork_rng(devices=[]):  # modules draw from the global state when they are made
            self.begin = nn.Parameter(torch.empty(config.width))
            self.leaves = nn.Embedding(n_rows["leaves"], config.width)
            self.values = nn.Embedding(n_rows["values"], config.width)
            self.backbone = build_backbone(config, n_rows["positions"], generator)
            self.head = nn.Embedding(n_rows["head"], config.width)
            # In any order, an input says which slot comes next.
            self.ahead = nn.Embedding(n_rows["ahead"], config.width)
            self.bias = nn.Parameter(torch.zeros(n_rows["head"]))
        for weight in (self.begin, self.leaves.weight, self.values.weight, self.head.weight, self.ahead.weight):
            nn.init.normal_(weight, std=INIT_STD, generator=generator)
        self.register_buffer("sizes", sizes, persistent=False)
        self.register_buffer("offsets", torch.from_numpy(layout.slot_offsets), persistent=False)
        self.register_buffer("rows", torch.cat([starts[:T], starts[T:-1] - starts[T]]), persistent=False)
        self.heads = nn.ModuleList(SlotHead(layout, slots, SMOOTHING) for slots in buckets(layout))
        self.smooth_values = SmoothTable(layout, config, 1, generator, raw=config.quantile_embedding == "raw")
        self.smooth_head = SmoothTable(layout, config, 0, generator)
        self.copula = Copula(layout) if config.copula and config.softmax == "allowed" else None

    @property
    def n_prompts(self) -> int:
        """Groups of trees that share a position."""
        return n_prompts(self.layout, self.config)

    def start_from(self, rows: Tensor) -> None:
        """Start the output biases at the frequencies of the training rows (N, L); rare ids are left to their rank."""
        counts = self.count(rows)
        self.start_at(counts)
        if self.copula is not None:
            parts = (self._value_ids(part) for part in torch.split(rows, COUNTED_AT_ONCE))
            self.copula.learn(counts, parts, self._value_ids(rows[:: -(-len(rows) // WEIGHED)]), self.bias.detach())

    def count(self, rows: Tensor) -> list[Tensor]:
        """How many of the rows (N, L) have each id of each value slot."""
        counts = [
            torch.zeros(slot.size, dtype=torch.int64, device=self.offsets.device) for slot in self.layout.value_slots
        ]
        for part in torch.split(rows, COUNTED_AT_ONCE):  # as wide numbers, all rows may not fit in memory
            local = self._value_ids(part)
            for i, count in enumerate(counts):
                count += torch.bincount(local[:, i], minlength=len(count))
        return counts

    def _value_ids(self, rows: Tensor) -> Tensor:
        """Token rows (n, L) → local ids of their values (n, D)."""
        return self._local(rows[:, 1:-1].to(self.offsets.device).long())[:, self.layout.n_trees :]

    def start_at(self, counts: Sequence[Tensor]) -> None:
        """The same, given how many rows have each id of each value slot."""
        with torch.no_grad():
            self.bias.copy_(torch.cat([((c + 0.5) / (c + 0.5).sum()).log() for c in counts]))
            own = [stands_out(counts[i], OWN_ROWS) for i in number_slots(self.layout)]
            for smooth in (self.smooth_values, self.smooth_head):
                smooth.keep_own(torch.cat(own or [torch.zeros(0, dtype=torch.bool)]))

    def hidden(self, tokens: Tensor, cache: Any | None = None, order: Tensor | None = None) -> Tensor:
        """Tokens from BOS on (B, 1 + T + k), or with a filled cache the next one → states of the new positions.

        The values are those of the slots that `order` (B, > k) names, in that order; without it in table order. The
        last state is about the slot after them.
        """
        T = self.layout.n_trees
        if order is None:
            order = torch.arange(self.layout.n_values, device=tokens.device)[None]
        if cache is not None and _length(cache):
            first = _length(cache) - self.n_prompts
            x = self._embed_values(tokens, order[:, first - 1 : first])
        else:
            first, k = 0, tokens.shape[1] - 1 - T
            x = torch.cat(
                [self._embed_prompts(tokens[:, 1 : 1 + T]), self._embed_values(tokens[:, 1 + T :], order[:, :k])], dim=1
            )
        new = x.shape[1] - (0 if first else self.n_prompts)
        ahead = self.ahead(order[:, first : first + new])  # (B or 1, new, d)
        x = x + nn.functional.pad(ahead, (0, 0, x.shape[1] - new, 0))
        states: Tensor = self.backbone(x, cache)
        if self.copula is None:
            return states
        values = tokens if first else tokens[:, 1 + T :]
        slots = order[:, first - 1 : first] if first else order[:, : values.shape[1]]
        masked = values == MASK
        local = (values - self.offsets[T + slots]).masked_fill(masked, 0)
        expected = (
            self.copula.expect(local, order, masked) if cache is None else self.copula.follow(cache, local, order)
        )
        return torch.cat([states, nn.functional.pad(expected, (0, 0, x.shape[1] - expected.shape[1], 0))], dim=2)

    def _embed_prompts(self, tokens: Tensor) -> Tensor:
        """Leaf tokens (B, T) → BOS and pooled prompts (B, 1 + P, d)."""
        B, T = tokens.shape
        begin = self.begin.expand(B, 1, -1)
        if not T:
            return begin
        x = self.leaves(self.table_rows(tokens, torch.arange(T, device=tokens.device)))  # (B, T, d)
        spare = self.n_prompts * self.config.pool - T
        x = nn.functional.pad(x, (0, 0, 0, spare)).view(B, self.n_prompts, self.config.pool, -1)
        return torch.cat([begin, x.sum(2)], dim=1)  # (B, 1 + P, d)

    def _embed_values(self, tokens: Tensor, slots: Tensor) -> Tensor:
        """Value tokens (B, k) of value slots (B or 1, k) → (B, k, d)."""
        rows = self.table_rows(tokens, self.layout.n_trees + slots)
        embedded: Tensor = nn.functional.embedding(rows, self.values_table())
        return embedded

    def table_rows(self, tokens: Tensor, slots: Tensor) -> Tensor:
        """Tokens (B, k) of slots (k,) or (B, k) → rows of their embeddings; a slot's mask follows its ids."""
        return torch.where(tokens == MASK, self.sizes[slots], tokens - self.offsets[slots]) + self.rows[slots]

    def values_table(self) -> Tensor:
        """Embeddings of the ids of all value slots (rows, d)."""
        if self._folded is not None:
            return self._folded[0]
        table: Tensor = self.smooth_values(self.values.weight)
        return table

    def _head_table(self) -> Tensor:
        if self._folded is not None:
            return self._folded[1]
        table: Tensor = self.smooth_head(self.head.weight)
        return table if self.copula is None else torch.cat([table, self.copula.table()], dim=1)

    @torch.no_grad()
    def fold(self) -> None:
        """Add the smooth parts once instead of at every step, until the next `train()`."""
        self._folded = None
        self._folded = self.values_table(), self._head_table()

    def train(self, mode: bool = True) -> SlotModel:
        """Training changes the tables, so that folded ones are no longer valid."""
        self._folded = None
        super().train(mode)
        return self

    def _local(self, tokens: Tensor) -> Tensor:
        return tokens - self.offsets

    def slot_logits(self, hidden: Tensor, slot: int) -> Tensor:
        """Hidden states (B, d) before value slot `slot` → logits of the ids that it may hold (B, S)."""
        ids = self._ids(slot)
        return hidden @ self._head_table()[ids].T + self.bias[ids]

    def _ids(self, slot: int) -> slice:
        """Where the ids of a value slot are in head and bias."""
        start = int(self.sizes[self.layout.n_trees :][:slot].sum())
        return slice(start, start + self.layout.value_slots[slot].size)

    def shift(self, slot: int, shift: Tensor) -> None:
        """Add to the logits of a value slot's ids (S,), whatever comes before them."""
        with torch.no_grad():
            self.bias[self._ids(slot)] += shift

    def loss(self, masked: Tensor, order: Tensor | None, rows: Tensor) -> Tensor:
        """Mean cross-entropy of the values of whole rows (B, L) given masked ones in an order (B, D), nats per slot."""
        losses = [part.sum() for _, part in self._losses(masked, order, rows, smooth=True)]
        return torch.stack(losses).sum() / (len(rows) * self.layout.n_values)

    def row_losses(self, masked: Tensor, order: Tensor | None, rows: Tensor) -> Tensor:
        """The same for each row (B,)."""
        losses = [part.sum(1) for _, part in self._losses(masked, order, rows, smooth=True)]
        return torch.stack(losses).sum(0) / self.layout.n_values

    def log_probs(self, rows: Tensor, order: Tensor | None = None) -> Tensor:
        """Log-probabilities of the values of rows (B, L), by slot (B, D), each given those before it in `order`."""
        logs = torch.empty(len(rows), self.layout.n_values, dtype=torch.float64, device=rows.device)
        for slots, part in self._losses(rows, order, rows, smooth=False):
            logs[:, slots] = -part.double()
        return logs

    def _losses(
        self, masked: Tensor, order: Tensor | None, rows: Tensor, *, smooth: bool
    ) -> list[tuple[Tensor, Tensor]]:
        """Slots (n,) and their losses (B, n), a bucket at a time."""
        T = self.layout.n_trees
        values = masked[:, 1 + T : -1] if order is None else masked[:, 1 + T : -1].gather(1, order)
        inputs = torch.cat([masked[:, : 1 + T], values[:, :-1]], dim=1)  # the last value is never an input
        hidden = self.hidden(inputs, order=order)[:, self.n_prompts :]  # (B, D, d)
        if order is not None:  # back to table order
            hidden = hidden.gather(1, order.argsort(1)[..., None].expand_as(hidden))
        return self._by_head(hidden, rows, smooth=smooth)

    def _by_head(self, hidden: Tensor, rows: Tensor, *, smooth: bool) -> list[tuple[Tensor, Tensor]]:
        """Slots (n,) and their losses (B, n) from their states (B, D, d) in table order, a bucket at a time."""
        local = self._local(rows[:, 1:-1])[:, self.layout.n_trees :]  # (B, D)
        table = self._head_table()
        return [(head.slots, head(hidden, local, table, self.bias, smooth)) for head in self.heads]  # type: ignore[misc]

    def build_loss(self, config: TrainConfig) -> Loss:
        """Cross-entropy over the ids of each slot."""
        return self.loss

    def build_row_losses(self, config: TrainConfig) -> tuple[Loss, int]:
        """The same of each row."""
        return self.row_losses, self.layout.n_values

    def start_rows(self, *, cache: bool = True) -> Callable[[Tensor, Tensor | None], Rows]:
        """The fast way, if the backbone is our own decoder."""
        steps = SlotSteps.of(self) if cache else None
        if steps is None:
            return super().start_rows(cache=cache)
        return lambda tokens, order: SlotRows(steps, tokens, order)


def _length(cache: Any) -> int:
    return int(cache.length if hasattr(cache, "length") else cache.get_seq_length())
