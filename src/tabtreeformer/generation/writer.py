"""Rows from two networks: any rows, rows that meet conditions, and the missing part of given rows.

Given columns come first in the order of a row, so that the rest is drawn from what the networks have learned about rows
like it. Leaf prompts must agree with what is given:

- Under conditions, prompts of the bank are weighed by how likely they make what is given.
- Of partial rows in which all features of the trees are given, the leaves are those of the row.
- For other partial rows prompts of the bank are weighed row by row (`agreeing`).

Whatever the prompt, it is masked as in training.

Rows are made in blocks of `BLOCK`, each from a seed of its own that hangs on the seed of the call and the number of the
block alone: the same rows come out whichever blocks are made first, in which process and on which machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..config import SampleConfig, TrainConfig
from ..model import Network, SlotModel
from ..seeds import child
from ..threads import both
from ..tokens import TableCodec, TokenLayout
from ..tokens.allowed import Allowed
from ..tokens.numbering import RowNumbers
from ..trees import FeatureEncoder, LeafModel
from .agreeing import agreeing_prompts
from .partial import Partial, draw_rest
from .prompts import Deck, PromptBank, masked
from .sampler import Plan, Sampler

Ids = NDArray[np.int32]
BLOCK = 4096
"""Rows of a block; another number here would make other rows of a seed."""
_ROWS, _PROMPTS, _KEYS = range(3)
"""What the seed of a call is divided into."""
CANDIDATES, LEAST_CANDIDATES = 8, 512
"""Prompts that are weighed under conditions: so many a row, and at least so many."""


@dataclass
class RowWriter:
    """All that drawing rows needs, and the seeds of one call."""

    train: TrainConfig
    sampling: SampleConfig
    codec: TableCodec
    layout: TokenLayout
    networks: Sequence[Network]
    banks: Sequence[PromptBank]
    encoder: FeatureEncoder | None
    leaf_model: Callable[[], LeafModel]
    seed: np.random.SeedSequence
    advance: Callable[[int], None]
    samplers: list[Sampler] = field(init=False)

    def __post_init__(self) -> None:
        self.samplers = [Sampler(network, self.sampling) for network in self.networks]
        self.decks = [Deck(bank, child(self.seed, _PROMPTS, j)) for j, bank in enumerate(self.banks)]
        self.turn, self.key = (int(x) for x in child(self.seed, _KEYS).generate_state(2))
        self.start(0)

    def start(self, block: int) -> None:
        """Go to a block of the rows; what is drawn from here on hangs on its number, not on what was drawn before."""
        self.first = block * BLOCK
        seeds = child(self.seed, _ROWS, block).spawn(1 + len(self.networks))
        self.rng, *self.generators = (np.random.default_rng(seed) for seed in seeds)

    def decode(
        self, ids: Ids, places: NDArray[np.int64] | None = None, within: Mapping[int, Allowed] | None = None
    ) -> pd.DataFrame:
        """The table of rows (n, D) of the block, those in `places` or the first n; keys follow their numbers."""
        places = np.arange(len(ids)) if places is None else places
        return self.codec.decode(ids, self.rng, RowNumbers(self.first + places, self.key), within)

    def any_rows(self, n: int) -> Ids:
        """Draw the first n rows of the block after prompts of the bank, in turn from each network."""
        numbers = self.first + np.arange(n)
        places = [np.flatnonzero((numbers + self.turn) % 2 == j) for j in range(2)]
        prompts = [deck.take(numbers[own] // 2) for deck, own in zip(self.decks, places, strict=True)]
        rows = np.empty((n, self.layout.n_values), dtype=np.int32)

        def draw(j: int) -> None:
            rows[places[j]] = self.samplers[j].draw(prompts[j], self.generators[j], self.advance)

        self._both(draw)
        return rows

    def own_prompts(self, real: NDArray[np.int64], floor: int, *, all_real: bool) -> tuple[PromptBank, PromptBank]:
        """Banks of rows that the networks write after the banks that they have: as many, and as much of them masked.

        With these no leaf of a real row is kept; `real` are the leaves of real rows, which no prompt may single out.
        """
        sizes = [len(bank.leaf_ids) for bank in self.banks]
        leaf_ids = self.leaves(self.decode(self.any_rows(sum(sizes))))
        parts = np.split(leaf_ids, [sizes[0]])
        first, second = (
            PromptBank.protected(part, bank.leaf_ids < 0, real, floor, self.rng, all_real=all_real)
            for part, bank in zip(parts, self.banks, strict=True)
        )
        return first, second

    def rows_within(self, n: int, allowed: Mapping[int, Allowed]) -> Ids:
        """Draw n rows under conditions, by place of the column."""
        slots = self.layout.slots_of(*allowed)
        # Those with nothing left to choose first.
        slots.sort(key=lambda i: not allowed[self.layout.value_slots[i].column].settled)
        masks = self._masks(allowed)
        plan = Plan(self._order(slots), 0, masks)
        rows = np.zeros((n, self.layout.n_values), dtype=np.int32)
        halves = (slice(0, n // 2), slice(n // 2, n))
        # Drawn here: the threads below must not share a generator.
        offsets = self.rng.random(2)
        sizes = [max(CANDIDATES * len(rows[half]), LEAST_CANDIDATES) for half in halves]
        prompts = [bank.draw(size, self.rng) for bank, size in zip(self.banks, sizes, strict=True)]

        def draw(j: int) -> None:
            if len(rows[halves[j]]):
                rows[halves[j]] = self._weighed(j, len(rows[halves[j]]), plan, len(slots), prompts[j], offsets[j])

        self._both(draw)
        self.advance(n)
        return rows[self.rng.permutation(n)]

    def completed(self, part: Partial, allowed: Mapping[int, Allowed]) -> Ids:
        """Draw what is not given of rows, about half of them from each network."""
        n, masks = len(part.ids), self._masks(allowed)
        turns = (self.rng.permutation(n) + self.rng.integers(2)) % 2
        prompts = masked(part.leaves, self.train.leaf_mask, self.rng)
        rows = part.ids.copy()

        def draw(j: int) -> None:
            own = np.flatnonzero(turns == j)
            unknown = own[~part.known[own]]
            network, rng = self.networks[j], self.generators[j]
            assert isinstance(network, SlotModel)
            if len(unknown):
                ids, given = part.ids[unknown], part.given[unknown]
                prompts[unknown] = agreeing_prompts(network, self.banks[j], ids, given, rng)
            if len(own):
                ids, given = part.ids[own], part.given[own]
                rows[own] = draw_rest(self.samplers[j], prompts[own], ids, given, masks, rng)

        self._both(draw)
        self.advance(n)
        return rows

    def _weighed(self, j: int, n: int, plan: Plan, n_limited: int, prompts: Ids, offset: float) -> Ids:
        """Draw the limited slots after more prompts than are needed, and keep n by how likely their limits were.

        The product of the shares that the limits left is how well a prompt agrees with what is given, and lets a later
        limit speak on an earlier slot, which leaving out ids slot by slot would not.
        """
        sampler, generator = self.samplers[j], self.generators[j]
        starts, weights = sampler.draw_start(prompts, generator, plan, n_limited)
        chances = np.exp(weights - weights.max())
        points = (np.arange(n) + offset) / n
        kept = np.searchsorted(np.cumsum(chances / chances.sum()), points).clip(max=len(prompts) - 1)
        given = Plan(plan.order, n_limited, plan.allowed)
        return sampler.draw(prompts[kept], generator, _nothing, given, starts[kept])

    def leaves(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """Leaves of rows (n, T)."""
        assert self.encoder is not None
        return self.leaf_model().leaves(self.encoder.features(frame))

    def _masks(self, allowed: Mapping[int, Allowed]) -> dict[int, NDArray[np.bool_]]:
        """Allowed ids by slot."""
        masks = {}
        for column, limits in allowed.items():
            for slot, mask in zip(self.layout.slots_of(column), limits.masks, strict=True):
                if mask is not None:
                    masks[slot] = mask
        return masks

    def _order(self, first: Sequence[int]) -> tuple[int, ...]:
        return (*first, *(i for i in range(self.layout.n_values) if i not in set(first)))

    def _both(self, draw: Callable[[int], None]) -> None:
        def give_up() -> None:
            for sampler in self.samplers:
                sampler.interrupted = True

        both(draw, give_up)


def _nothing(rows: int) -> None:
    """Rows are counted when they are whole."""
