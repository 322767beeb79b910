"""Draws value ids slot by slot after a leaf prompt, from the allowed ids only, so that every drawn row is valid.

One loop serves unconditional rows, conditions and partial rows. Known slots come first in the order of a row, so that
the rest is drawn given them.

Shapes: `n` rows, `B` rows per batch, `T` trees, `D` value slots, `S` ids of a slot, `d` width.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..config.settings import SampleConfig
from ..model import Network
from ..tokens import FREE, MASK, Given, SlotKind
from ..tokens.writer import Ids, Mask

GROUPS = (64, 64, 64, 64, 128, 128, 256, 256, 512, 512)
"""Group sizes of rows drawn together, used cyclically: the more rows, the larger the groups."""
GOLDEN = (math.sqrt(5) - 1) / 2
"""Golden ratio: the fractional parts of its first multiples are always evenly spread."""


@dataclass(frozen=True)
class _Batch:
    """A batch of rows."""

    prompts: Ids
    """(B, T)."""
    ids: Ids
    """The known ids of the rows (B, D)."""
    orders: NDArray[np.int64]
    """Slots in the order of drawing (B, D), or (1, D) if it is the same for all."""
    n_known: NDArray[np.int64]
    """Number of known slots at the start of the order (B,)."""

    def take(self, rows: NDArray[np.int64]) -> _Batch:
        """Some of the rows."""
        orders = self.orders if len(self.orders) == 1 else self.orders[rows]
        return _Batch(self.prompts[rows], self.ids[rows], orders, self.n_known[rows])


class Sampler:
    """Draws rows from one network."""

    def __init__(self, model: Network, config: SampleConfig, *, cache: bool = True) -> None:
        """Without a `cache` of keys and values, each token recomputes all earlier positions: slow, for tests."""
        self.model, self.config, self.layout = model.eval(), config, model.layout
        self.interrupted = False
        """Set from another thread to end `draw` after the current batch."""
        model.fold()
        self._start_rows = model.start_rows(cache=cache)

    def whole_groups(self, n_rows: int) -> int:
        """Number of unconditional rows to draw for this many: groups are drawn whole and then cut."""
        if not self.config.together:
            return n_rows
        return sum(group_sizes(n_rows, self.config.batch_size))

    def draw(
        self,
        prompts: Ids,
        rng: np.random.Generator,
        advance: Callable[[int], None],
        given: Given = FREE,
        first: Sequence[int] = (),
    ) -> Ids:
        """Leaf prompts (n, T), masked with -1 → local value ids (n, D), batch by batch.

        Known slots come first, then those in `first`, then all others in table order. A network that fills masks draws
        each batch of unconditional rows in a random order. Unconditional rows use random numbers in order, so n rows
        (in whole groups) are the first n of a larger draw.
        """
        return self._draw(prompts, rng, advance, given, first, self.layout.n_values)[0]

    def draw_start(
        self, prompts: Ids, rng: np.random.Generator, allowed: Mapping[int, Mask], first: Sequence[int]
    ) -> tuple[Ids, NDArray[np.float64]]:
        """Draw only the slots in `first` (n, D), and return the log-probability of their allowed ids (n,)."""
        return self._draw(prompts, rng, lambda n: None, Given(allowed), first, len(first))

    def _draw(
        self,
        prompts: Ids,
        rng: np.random.Generator,
        advance: Callable[[int], None],
        given: Given,
        first: Sequence[int],
        stop: int,
    ) -> tuple[Ids, NDArray[np.float64]]:
        rows = self._order(prompts, given, first)
        drawn, weights = rows.ids.copy(), np.zeros(len(prompts))
        # Sort rows by their number of known slots, because in a batch, rows with many known slots wait for the others.
        by_length = np.argsort(rows.n_known, kind="stable")
        masks = {slot: torch.from_numpy(mask).to(self._device) for slot, mask in given.allowed.items()}
        for part, groups in self._batches(len(prompts)):
            own = by_length[part]
            batch = rows.take(own)
            if self.model.config.softmax == "masked" and given.ids is None:
                batch = replace(batch, orders=self._random_order(first, rng))
            drawn[own], weights[own] = self._draw_batch(batch, masks, rng, stop, groups)
            advance(len(own))
        return drawn, weights

    def _random_order(self, first: Sequence[int], rng: np.random.Generator) -> NDArray[np.int64]:
        """The slots in `first`, then columns in random order, each from coarse to fine as learned, (1, D)."""
        columns = np.array([slot.column for slot in self.layout.value_slots])
        keys = rng.random(columns.max() + 1)[columns]
        keys[list(first)] = np.arange(-len(first), 0)
        return np.argsort(keys, kind="stable")[None]

    def _order(self, prompts: Ids, given: Given, first: Sequence[int]) -> _Batch:
        """Order of the slots of each row: known ones, those in `first`, all others."""
        n, D = len(prompts), self.layout.n_values
        order = np.array([*first, *(i for i in range(D) if i not in set(first))], dtype=np.int64)
        if given.ids is None or given.known is None:
            return _Batch(prompts, np.zeros((n, D), dtype=np.int32), order[None], np.zeros(n, dtype=np.int64))
        known = given.known[:, order]
        if n and (known == known[0]).all():
            known = known[:1]
        orders = order[np.argsort(~known, axis=1, kind="stable")]
        return _Batch(prompts, given.ids, orders, given.known.sum(1))

    def _batches(self, n_rows: int) -> Iterator[tuple[slice, list[int]]]:
        """Batches of rows and their group sizes, until another thread interrupts."""
        size = self.config.batch_size
        left = group_sizes(n_rows, size) if self.config.together else [size] * -(-n_rows // size)
        if left:
            left[-1] -= sum(left) - n_rows
        start = 0
        while left:
            n = max(1, int(np.searchsorted(np.cumsum(left), size, side="right")))
            groups, left = left[:n], left[n:]
            if self.interrupted:
                raise KeyboardInterrupt
            yield slice(start, start + sum(groups)), groups
            start += sum(groups)

    @torch.inference_mode()
    def _draw_batch(
        self, batch: _Batch, allowed: Mapping[int, Tensor], rng: np.random.Generator, stop: int, groups: list[int]
    ) -> tuple[Ids, NDArray[np.float64]]:
        n, device, begin = len(batch.ids), self._device, int(batch.n_known.min())
        tokens = torch.from_numpy(self.layout.prompt_tokens(batch.prompts))  # (B, 1 + T)
        if not self.config.leaf_prompts:
            tokens[:, 1:] = MASK
        points = torch.from_numpy(rng.random((n, stop - begin), dtype=np.float32)).to(device)
        local = torch.from_numpy(batch.ids.copy()).to(device)  # (B, D), in table order
        weights = torch.zeros(n, dtype=torch.float64, device=device)
        in_table_order = np.array_equal(batch.orders, np.arange(self.layout.n_values)[None])
        order = torch.from_numpy(batch.orders).to(device)
        rows = self._start_rows(tokens.to(device), None if in_table_order else order)
        for place in range(stop):
            due = list(self._to_draw(batch, place))
            hidden = rows.hidden() if due else None  # (B, d)
            for slot, own in due:
                assert hidden is not None
                logits = self.slot_logits(hidden[own], slot)  # (B, S)
                if slot in allowed:
                    whole = torch.logsumexp(logits.double(), 1)
                    logits = logits.masked_fill(~allowed[slot], -math.inf)
                    weights[own] += torch.logsumexp(logits.double(), 1) - whole
                shares = torch.softmax(logits.float() / self.temperature(slot), dim=1)
                # otherwise the rows of a slot belong to many groups
                together = self.config.together and len(batch.orders) == 1
                chosen = choose(shares, points[own, place - begin], groups if together else None)
                local[own, slot] = chosen.to(local.dtype)
            if place + 1 < stop:
                slots = order[:, place]
                rows.push(local[:, slots[0]] if len(slots) == 1 else local.gather(1, slots[:, None])[:, 0])
        return local.cpu().numpy(), weights.cpu().numpy()

    def _to_draw(self, batch: _Batch, place: int) -> Iterator[tuple[int, Tensor | slice]]:
        """Slots at this position of the order, each with the rows in which it has to be drawn."""
        drawing = batch.n_known <= place
        if len(batch.orders) == 1:
            if drawing.any():
                yield int(batch.orders[0, place]), slice(None)
            return
        slots = batch.orders[:, place]
        for slot in np.unique(slots[drawing]).tolist():
            yield slot, torch.from_numpy(np.flatnonzero(drawing & (slots == slot))).to(self._device)

    def slot_logits(self, hidden: Tensor, slot: int) -> Tensor:
        """Hidden states (B, d) before a value slot → logits (B, S)."""
        return self.model.slot_logits(hidden, slot)

    def temperature(self, slot: int) -> float:
        """The temperature for a slot's kind."""
        category = self.layout.value_slots[slot].kind == SlotKind.CATEGORY
        return self.config.temperature_category if category else self.config.temperature_numeric

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device


def group_sizes(n_rows: int, largest: int) -> list[int]:
    """Sizes of the groups for the first `n_rows` rows; the last group is whole, none is larger than a batch."""
    sizes, left = [], n_rows
    for group in itertools.cycle(GROUPS):
        if left <= 0:
            break
        size = min(group, largest)
        sizes.append(size)
        left -= size
    return sizes


def choose(shares: Tensor, points: Tensor, groups: Sequence[int] | None = None) -> Tensor:
    """Draw ids by inverse CDF: probabilities (B, S) and points in [0, 1) (B,) → ids (B,).

    `groups` are the sizes of consecutive groups whose rows are drawn together.
    """
    if groups is not None:
        cuts = np.cumsum(groups)[:-1].tolist()
        parts = zip(torch.tensor_split(shares, cuts), torch.tensor_split(points, cuts), strict=True)
        points = torch.cat([_spread(*rows) for rows in parts])
    ends = shares.cumsum(1)
    # Scaled by the last value, which may not be exactly 1, so that no point falls outside.
    return torch.searchsorted(ends, points[:, None] * ends[:, -1:], right=True)[:, 0]


def _spread(shares: Tensor, points: Tensor) -> Tensor:
    """Evenly spread points with one random offset for a group of rows with these probabilities (B, S).

    Each single row still follows its distribution; together the rows match the expected counts better than independent
    draws (array randomised quasi-Monte Carlo).
    """
    expected = shares @ torch.arange(shares.shape[1], dtype=shares.dtype, device=shares.device)
    steps = torch.arange(len(shares), dtype=torch.float64, device=shares.device)
    spread = torch.empty_like(points)
    spread[expected.argsort(stable=True)] = ((points[0] + steps * GOLDEN) % 1.0).to(points.dtype)
    return spread.clamp_(max=1 - 2**-24)
