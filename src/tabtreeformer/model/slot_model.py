"""A model of rows in which every slot has its own embeddings and its own softmax, and trees share prompt positions.

The same causal idea as `RowModel`, reshaped for small tables and for speed: `pool` trees are summed into one prompt
position, so that a row is a handful of positions longer than its values; a slot predicts only ids that it may hold,
starting from their frequencies; an id that its bin rules out has no chance.

Shapes: `B` rows, `T` trees, `P` prompt positions, `D` value slots, `S` ids of a slot, `d` width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..config import ModelConfig
from ..tokens import MASK, Kind, TokenLayout
from .backbones import build_backbone
from .decoder import INIT_STD
from .embedding import quantile_embedding

SPIKE_REACH = 3
"""An id is held against so many on either side when asked whether it stands out."""

BUCKETS = (16, 64, 256, 1024)
"""Slots of similar size share one product of matrices; larger ones have one each."""
TABLED = 256
"""Up to so many ids, smoothed targets are kept in a table: it is no larger than what as many rows make in a step."""

COUNTED_AT_ONCE = 1 << 16
"""Rows whose ids are counted at once."""


class SlotModel(nn.Module):
    """One network; takes and predicts the token sequences of a `TokenLayout`."""

    rows: Tensor
    offsets: Tensor
    sizes: Tensor

    def __init__(self, layout: TokenLayout, config: ModelConfig, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self._folded: tuple[Tensor, Tensor] | None = None
        self.layout, self.config = layout, config
        T, self.n_prompts = layout.n_trees, math.ceil(layout.n_trees / config.pool)
        sizes = torch.tensor([slot.size for slot in layout.slots], dtype=torch.long)
        starts = torch.cat([torch.zeros(1, dtype=torch.long), (sizes + 1).cumsum(0)])  # one row more a slot: its mask
        with torch.random.fork_rng(devices=[]):  # modules draw from the global state when they are made
            self.begin = nn.Parameter(torch.empty(config.width))
            self.leaves = nn.Embedding(int(starts[T]), config.width)
            self.values = nn.Embedding(int(starts[-1] - starts[T]), config.width)
            self.backbone = build_backbone(config, 1 + self.n_prompts + layout.n_values, generator)
            self.head = nn.Embedding(int(sizes[T:].sum()), config.width)
            # In any order, an input says which slot comes next; in table order its position does.
            self.ahead = nn.Embedding(layout.n_values, config.width) if config.order == "any" else None
            self.bias = nn.Parameter(torch.zeros(int(sizes[T:].sum())))
        ahead = [] if self.ahead is None else [self.ahead.weight]
        for weight in (self.begin, self.leaves.weight, self.values.weight, self.head.weight, *ahead):
            nn.init.normal_(weight, std=INIT_STD, generator=generator)
        self.register_buffer("sizes", sizes, persistent=False)
        self.register_buffer("offsets", torch.from_numpy(layout.slot_offsets), persistent=False)
        self.register_buffer("rows", torch.cat([starts[:T], starts[T:-1] - starts[T]]), persistent=False)
        self.heads = nn.ModuleList(_Head(layout, slots, config.smoothing) for slots in _buckets(layout))
        self.smooth_values = _Smooth(layout, config, 1, generator) if config.basis else None
        self.smooth_head = _Smooth(layout, config, 0, generator) if config.basis else None

    def start_from(self, rows: Tensor) -> None:
        """Start the output biases at the frequencies of the training rows (N, L); rare ids are left to their rank."""
        counts = [
            torch.zeros(slot.size, dtype=torch.int64, device=self.offsets.device) for slot in self.layout.value_slots
        ]
        for part in torch.split(rows, COUNTED_AT_ONCE):  # all rows may be more than memory holds as wide numbers
            local = self._local(part[:, 1:-1].to(self.offsets.device).long())[:, self.layout.n_trees :]  # (n, D)
            for i, count in enumerate(counts):
                count += torch.bincount(local[:, i], minlength=len(count))
        self.start_at(counts)

    def start_at(self, counts: Sequence[Tensor]) -> None:
        """The same from how many rows each id of each value slot has."""
        with torch.no_grad():
            if self.config.frequency_start:
                self.bias.copy_(torch.cat([((c + 0.5) / (c + 0.5).sum()).log() for c in counts]))
            if self.smooth_values is not None and self.smooth_head is not None:
                own = [_stands_out(counts[i], self.config.own_rows) for i in _numbers(self.layout)]
                for smooth in (self.smooth_values, self.smooth_head):
                    smooth.keep_own(torch.cat(own or [torch.zeros(0, dtype=torch.bool)]))

    def hidden(self, tokens: Tensor, cache: Any | None = None, order: Tensor | None = None) -> Tensor:
        """Tokens from BOS on (B, 1 + T + k), or with a filled cache the one after → states of the new positions.

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
        if self.ahead is not None:
            new = x.shape[1] - (0 if first else self.n_prompts)
            ahead = self.ahead(order[:, first : first + new])  # (B or 1, new, d)
            x = x + nn.functional.pad(ahead, (0, 0, x.shape[1] - new, 0))
        states: Tensor = self.backbone(x, cache)
        return states

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
        if self._folded is not None:
            return self._folded[0]
        return self.values.weight if self.smooth_values is None else self.smooth_values(self.values.weight)

    def _head_table(self) -> Tensor:
        if self._folded is not None:
            return self._folded[1]
        return self.head.weight if self.smooth_head is None else self.smooth_head(self.head.weight)

    @torch.no_grad()
    def fold(self) -> None:
        """Add the smooth parts once instead of at every step; until the next `train()`."""
        self._folded = None
        self._folded = self.values_table(), self._head_table()

    def train(self, mode: bool = True) -> SlotModel:
        """Training changes the tables, so that folded ones no longer hold."""
        self._folded = None
        super().train(mode)
        return self

    def _local(self, tokens: Tensor) -> Tensor:
        return tokens - self.offsets

    def slot_logits(self, hidden: Tensor, slot: int, drawn: Tensor) -> Tensor:
        """Hidden states (B, d) before value slot `slot` → logits (B, S); `drawn` are the local ids so far (B, D)."""
        start = int(self.sizes[self.layout.n_trees :][:slot].sum())
        stop = start + self.layout.value_slots[slot].size
        logits = hidden @ self._head_table()[start:stop].T + self.bias[start:stop]
        ranges = self.layout.value_slots[slot].ranges
        if ranges:
            logits = _within(logits, torch.tensor(ranges, device=logits.device)[drawn[:, slot - 1].long()])
        return logits

    def loss(self, masked: Tensor, order: Tensor | None, rows: Tensor) -> Tensor:
        """Mean cross-entropy of the values of whole rows (B, L) given masked ones in an order (B, D), nats a slot."""
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
        local = self._local(rows[:, 1:-1])[:, T:]  # (B, D)
        table = self._head_table()
        return [(head.slots, head(hidden, local, table, self.bias, smooth)) for head in self.heads]  # type: ignore[misc]

    def new_cache(self, rows: int) -> Any:
        """An empty cache for `hidden`."""
        return self.backbone.new_cache(rows)  # type: ignore[operator]

    @property
    def n_parameters(self) -> int:
        """Trainable numbers."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)


class _Smooth(nn.Module):
    """Adds to a table of embeddings what smooth functions of an id's rank make of it, in slots of numbers.

    Neighbouring ids of a number then start alike and learn together, which a few hundred rows cannot teach them.
    """

    basis: Tensor
    rows: Tensor
    cells: Tensor
    own: Tensor

    def __init__(self, layout: TokenLayout, config: ModelConfig, spare: int, generator: torch.Generator | None) -> None:
        """Take the slots in order; `spare` rows of the table follow each slot's ids."""
        super().__init__()
        slots = layout.value_slots
        starts = [sum(slot.size + spare for slot in slots[:i]) for i in range(len(slots))]
        numbers = _numbers(layout)
        widest = max((slots[i].size for i in numbers), default=0)
        basis = torch.zeros(len(numbers), widest, config.basis)  # (n, S, r)
        rows, cells = [torch.zeros(0, dtype=torch.long)], [torch.zeros(0, dtype=torch.long)]
        for place, i in enumerate(numbers):
            functions = quantile_embedding(slots[i].size, config.basis)
            basis[place, : slots[i].size] = (functions - functions.mean(0)) / functions.std(0).clamp_min(1e-6)
            rows.append(starts[i] + torch.arange(slots[i].size))
            cells.append(place * widest + torch.arange(slots[i].size))
        self.register_buffer("basis", basis, persistent=False)
        self.register_buffer("rows", torch.cat(rows), persistent=False)
        self.register_buffer("cells", torch.cat(cells), persistent=False)
        # 0 where an id is nothing but its rank: kept with the weights, since it comes from the data.
        self.register_buffer("own", torch.ones(sum(slot.size + spare for slot in slots), 1))  # (rows, 1)
        self.weight = nn.Parameter(torch.empty(len(numbers), config.basis, config.width))
        nn.init.normal_(self.weight, std=INIT_STD / config.basis**0.5, generator=generator)

    def keep_own(self, own: Tensor) -> None:
        """Say which ids, of all slots of numbers in order, are more than their rank."""
        self.own[self.rows, 0] = own.to(self.own)

    def forward(self, table: Tensor) -> Tensor:
        """(rows, d) → (rows, d)."""
        smooth = torch.bmm(self.basis, self.weight).flatten(0, 1)  # (n * S, d)
        return (table * self.own).index_add(0, self.rows, smooth[self.cells])

    def functions(self) -> Tensor:
        """What the smooth functions are at each row of the table, (rows, r); 0 where a row has none."""
        flat = self.basis.flatten(0, 1)[self.cells]
        return flat.new_zeros(len(self.own), flat.shape[1]).index_copy(0, self.rows, flat)


class SlotLogits(nn.Module):
    """The logits of slots of similar size, in one product of matrices."""

    rows: Tensor

    def __init__(self, rows: Tensor) -> None:
        """Take the rows (n, S) of the table that hold the ids of each slot."""
        super().__init__()
        self.register_buffer("rows", rows, persistent=False)

    def forward(self, hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Hidden states (B, n, d) → logits (B, n, S)."""
        return torch.einsum("bnd,nsd->bns", hidden, weight[self.rows]) + bias[self.rows]


class _Head(nn.Module):
    """The softmaxes of slots of similar size, padded to the largest of them: one product instead of one a slot."""

    slots: Tensor
    padding: Tensor
    parents: Tensor
    has_parent: Tensor
    limits: Tensor
    exact: Tensor
    kernels: Tensor | None

    def __init__(self, layout: TokenLayout, slots: list[int], smoothing: float) -> None:
        super().__init__()
        sizes = [slot.size for slot in layout.value_slots]
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        widest = max(sizes[i] for i in slots)
        ids = torch.arange(widest)
        own = torch.tensor([sizes[i] for i in slots])
        self.register_buffer("slots", torch.tensor(slots), persistent=False)
        self.logits = SlotLogits(torch.stack([starts[i] + ids.clamp(max=sizes[i] - 1) for i in slots]))  # (n, S)
        self.register_buffer("padding", ids >= own[:, None], persistent=False)  # (n, S)
        # What the slot before allows, by its id: everything where it has no say.
        most = max([1, *(len(layout.value_slots[i].ranges) for i in slots)])
        limits = torch.tensor([[0, widest]]).repeat(len(slots), most, 1)  # (n, K, 2)
        for row, i in enumerate(slots):
            for parent, pair in enumerate(layout.value_slots[i].ranges):
                limits[row, parent] = torch.tensor(pair)
        # Targets are smoothed among the intervals of a number; its atoms, and categories, have no near misses.
        exact = torch.ones(len(slots), widest, dtype=torch.bool)
        for row, i in enumerate(slots):
            if layout.value_slots[i].kind == Kind.QUANTILE:
                exact[row, [k for k in range(sizes[i]) if k not in layout.value_slots[i].atoms]] = False
        self.smoothing = 0.0 if exact.all() else smoothing
        self.register_buffer("exact", exact, persistent=False)  # (n, S)
        self.limited = any(layout.value_slots[i].ranges for i in slots)
        has_parent = torch.tensor([bool(layout.value_slots[i].ranges) for i in slots])
        self.register_buffer("parents", torch.where(has_parent, torch.tensor(slots) - 1, 0), persistent=False)
        self.register_buffer("has_parent", has_parent, persistent=False)
        self.register_buffer("limits", limits, persistent=False)
        # Where no slot has a say on another, what a target is smoothed to is known once and for all.
        alike = self.smoothing and not self.limited and widest <= TABLED
        kernels = self._kernel(ids.repeat(len(slots), 1).T, self.padding) if alike else None  # (S, n, S)
        self.register_buffer("kernels", kernels, persistent=False)

    def forward(self, hidden: Tensor, local: Tensor, weight: Tensor, bias: Tensor, smooth: bool) -> Tensor:
        """(B, D, d) hidden states and (B, D) local ids → losses (B, n)."""
        raw: Tensor = self.logits(hidden[:, self.slots], weight, bias).float()
        logits = raw.masked_fill(self.padding, -math.inf)
        n = torch.arange(len(self.slots), device=local.device)
        if self.limited:
            parent = local[:, self.parents] * self.has_parent  # (B, n)
            logits = _within(logits, self.limits[n, parent])
        target = local[:, self.slots]  # (B, n)
        if self.smoothing and smooth:
            kernel = self._kernel(target, logits == -math.inf) if self.kernels is None else self.kernels[target, n]
            return torch.logsumexp(logits, dim=2) - (kernel * raw).sum(2)
        return torch.logsumexp(logits, dim=2) - logits.gather(2, target[..., None])[..., 0]

    def _kernel(self, target: Tensor, outside: Tensor) -> Tensor:
        """What targets (B, n) are smoothed to (B, n, S), none of it on ids that are `outside` (B or 1, n, S)."""
        gap = torch.arange(self.exact.shape[1], device=target.device) - target[..., None]  # (B, n, S)
        slot = torch.arange(len(self.slots), device=target.device)
        alone = self.exact[slot, target][..., None] | self.exact | outside
        return torch.softmax((-0.5 * (gap / self.smoothing) ** 2).masked_fill(alone & (gap != 0), -math.inf), dim=2)


def _within(logits: Tensor, limits: Tensor) -> Tensor:
    """Give no chance to ids outside [first, stop); logits (…, S), limits (…, 2)."""
    ids = torch.arange(logits.shape[-1], device=logits.device)
    return logits.masked_fill((ids < limits[..., :1]) | (ids >= limits[..., 1:]), -math.inf)


def _stands_out(counts: Tensor, rows: int) -> Tensor:
    """Ids (S,) seen so often that they can be learned one by one, or a fifth as often and twice as often as those near.

    The second are values such as a common rate among uncommon ones, which mean more than their rank says.
    """
    reach = SPIKE_REACH
    padded = nn.functional.pad(counts.float(), (reach, reach), value=math.nan)
    around = padded.unfold(0, 2 * reach + 1, 1)  # (S, 2 reach + 1)
    around = torch.cat([around[:, :reach], around[:, reach + 1 :]], dim=1)
    return (counts >= rows) | ((5 * counts >= rows) & (counts >= 2 * around.nanmedian(1).values))


def _numbers(layout: TokenLayout) -> list[int]:
    """Value slots whose ids are ordered, and enough to be smooth."""
    return [i for i, slot in enumerate(layout.value_slots) if slot.kind != Kind.CATEGORY and slot.size > 2]


def _buckets(layout: TokenLayout) -> list[list[int]]:
    """Value slots of similar size together."""
    buckets: dict[int, list[int]] = {}
    for index, slot in enumerate(layout.value_slots):
        key = next((size for size in BUCKETS if slot.size <= size), -index - 1)
        buckets.setdefault(key, []).append(index)
    return list(buckets.values())


def _length(cache: Any) -> int:
    return int(cache.length if hasattr(cache, "length") else cache.get_seq_length())
