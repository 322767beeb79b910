"""Rows from two networks: unconditional rows, rows under conditions, and completions of partial rows.

Known columns come first in the order of a row, so that the rest is drawn given them. Leaf prompts must agree with the
given values:

- Under conditions, prompts of the bank are weighted by the likelihood of the given values.
- Partial rows with all features of the trees use their own leaves.
- For other partial rows, prompts of the bank are weighted row by row (`prompt_weights.py`).

All prompts are masked as in training.

Rows are drawn in blocks. The seed of a block depends only on the seed of the call and the number of the block, so the
rows do not depend on the order of the blocks, the process or the machine.

Shapes: `n` or `N` rows, `T` trees, `D` value slots, `S` ids of a slot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from .._runtime.seeds import child
from .._runtime.threads import both
from ..artifact.fitted import Fitted
from ..artifact.prompt_bank import PromptBank
from ..config.settings import SampleConfig
from ..model import Network
from ..tokens import BLOCK, FREE, Given
from ..tokens.writer import Ids, Mask
from .committee import Committee
from .given_likelihood import given_log_probs
from .prompt_weights import agreeing_prompts, mixed_chances
from .prompts import Deck, blank, masked, protected_bank
from .sampler import Sampler
from .writer import Decoding, Floats

_ROWS, _PROMPTS, _KEYS = range(3)
"""What the seed of a call is divided into."""
CANDIDATES_PER_ROW, MIN_CANDIDATES = 8, 512
"""Number of prompts that are weighted under conditions."""
MASKS = 4
"""Number of masked prompts averaged for a prediction from known leaves."""
BATCH = 2048
"""Rows per batch for likelihoods."""


@dataclass
class NetworkWriter(Decoding):
    """A fitted model, and the seeds of one call."""

    fitted: Fitted
    sampling: SampleConfig
    seed: np.random.SeedSequence
    advance: Callable[[int], None]
    first_key: int | None = None

    @classmethod
    def of(
        cls, fitted: Fitted, sampling: SampleConfig, seed: np.random.SeedSequence, advance: Callable[[int], None]
    ) -> NetworkWriter:
        """The writer of a fitted model."""
        return cls(fitted, sampling, seed, advance)

    def __post_init__(self) -> None:
        self.codec, self.layout = self.fitted.codec, self.fitted.layout
        self.networks, self.banks = self.fitted.models, self.fitted.prompts
        self.decks = [Deck(bank, child(self.seed, _PROMPTS, j)) for j, bank in enumerate(self.banks)]
        self.turn, self.key = (int(x) for x in child(self.seed, _KEYS).generate_state(2))
        self.start(0)

    @cached_property
    def samplers(self) -> list[Sampler]:
        """One sampler per network, or two committees of both, each for the prompts of one network."""
        if self.sampling.committee:
            return [Committee(self.networks, self.sampling), Committee(self.networks[::-1], self.sampling)]
        return [Sampler(network, self.sampling) for network in self.networks]

    @property
    def width(self) -> int:
        """Width of the networks; determines the number of threads."""
        return self.networks[0].config.width

    def start(self, block: int) -> None:
        """Start a block of rows; its rows depend on its number only, not on earlier draws."""
        self.first = block * BLOCK
        seeds = child(self.seed, _ROWS, block).spawn(1 + len(self.networks))
        self.rng, *self.generators = (np.random.default_rng(seed) for seed in seeds)

    # ---- rows

    def write(self, n: int, given: Given = FREE) -> Ids:
        """Draw n rows of the block, about half of them from each network."""
        if given.ids is not None:
            return self._completed(given)
        return self._within(n, given.allowed) if given.allowed else self._free(n)

    def _free(self, n: int) -> Ids:
        """The first n rows of the block after prompts of the bank, in turn from each network."""
        numbers = self.first + np.arange(2 * self.samplers[0].whole_groups(-(-n // 2)))
        places = [np.flatnonzero((numbers + self.turn) % 2 == j) for j in range(2)]
        prompts = [deck.take(numbers[own] // 2) for deck, own in zip(self.decks, places, strict=True)]
        rows = np.empty((len(numbers), self.layout.n_values), dtype=np.int32)

        def draw(j: int) -> None:
            rows[places[j]] = self.samplers[j].draw(prompts[j], self.generators[j], lambda n: None)

        self._both(draw)
        self.advance(n)
        return rows[:n]

    def _within(self, n: int, allowed: Mapping[int, Mask]) -> Ids:
        """Draw n rows under conditions."""
        columns = {self.layout.value_slots[slot].column for slot in allowed}
        slots = self.layout.slots_of(*columns)
        # Columns with a single allowed id come first.
        single = {c: all(_is_single(allowed.get(slot)) for slot in self.layout.slots_of(c)) for c in columns}
        slots.sort(key=lambda slot: not single[self.layout.value_slots[slot].column])
        rows = np.zeros((n, self.layout.n_values), dtype=np.int32)
        halves = (slice(0, n // 2), slice(n // 2, n))
        # Drawn here: the threads below must not share a generator.
        offsets = self.rng.random(2)
        sizes = [max(CANDIDATES_PER_ROW * len(rows[half]), MIN_CANDIDATES) for half in halves]
        prompts = [bank.draw(size, self.rng) for bank, size in zip(self.banks, sizes, strict=True)]

        def draw(j: int) -> None:
            if len(rows[halves[j]]):
                rows[halves[j]] = self._weighted(j, len(rows[halves[j]]), allowed, slots, prompts[j], offsets[j])

        self._both(draw)
        self.advance(n)
        return rows[self.rng.permutation(n)]

    def _weighted(
        self, j: int, n: int, allowed: Mapping[int, Mask], slots: Sequence[int], prompts: Ids, offset: float
    ) -> Ids:
        """Draw the limited slots for more prompts than needed, and resample n by the probability of their limits.

        The product of the probabilities of the limits measures how well a prompt agrees with them. It also lets a later
        limit influence an earlier slot, which masking ids slot by slot does not.
        """
        sampler, generator = self.samplers[j], self.generators[j]
        starts, weights = sampler.draw_start(prompts, generator, allowed, slots)
        chances = np.exp(weights - weights.max())
        points = (np.arange(n) + offset) / n
        kept = np.searchsorted(np.cumsum(chances / chances.sum()), points).clip(max=len(prompts) - 1)
        known = np.zeros((n, self.layout.n_values), dtype=bool)
        known[:, slots] = True
        return sampler.draw(prompts[kept], generator, _uncounted, Given(allowed, starts[kept], known), slots)

    def _completed(self, given: Given) -> Ids:
        """Draw the unknown part of rows."""
        ids, known, leaves, has_leaves = _rows_of(given, self.layout.n_trees)
        turns = (self.rng.permutation(len(ids)) + self.rng.integers(2)) % 2
        prompts = masked(leaves, self.fitted.config.train.leaf_mask, self.rng)
        rows = ids.copy()

        def draw(j: int) -> None:
            own = np.flatnonzero(turns == j)
            unknown = own[~has_leaves[own]]
            rng = self.generators[j]
            if len(unknown):
                prompts[unknown] = agreeing_prompts(self.networks[j], self.banks[j], ids[unknown], known[unknown], rng)
            if len(own):
                part = Given(given.allowed, ids[own], known[own])
                rows[own] = self.samplers[j].draw(prompts[own], rng, _uncounted, part)

        self._both(draw)
        self.advance(len(ids))
        return rows

    def _both(self, draw: Callable[[int], None]) -> None:
        samplers = self.samplers  # created here, before two threads use them

        def give_up() -> None:
            for sampler in samplers:
                sampler.interrupted = True

        both(draw, give_up)

    # ---- prompts

    def own_prompts(self, real: NDArray[np.int64], floor: int, *, all_real: bool) -> tuple[PromptBank, PromptBank]:
        """New banks from rows that the networks write, of the same size and share of masks as their present banks.

        So no leaf of a real row is stored; `real` are the leaves of real rows, which no prompt may single out.
        """
        assert self.fitted.tree_encoder is not None
        sizes = [len(bank.leaf_ids) for bank in self.banks]
        frame = self.decode(self.write(sum(sizes)))
        leaf_ids = self.fitted.leaf_model.leaves(self.fitted.tree_encoder.features(frame))
        parts = np.split(leaf_ids, [sizes[0]])
        first, second = (
            protected_bank(part, bank.leaf_ids < 0, real, floor, self.rng, all_real=all_real)
            for part, bank in zip(parts, self.banks, strict=True)
        )
        return first, second

    # ---- likelihoods

    def log_prob(self, rows: Given, slots: Sequence[int], idle: Mask) -> Floats:
        """Log-probability of each slot given those before it in `slots`, for the mixture of both networks (N, D).

        Prompts are blank. Networks that were trained without blank prompts, as in the paper's presets, get the row's
        own leaves instead.
        """
        ids, _, leaves, has_leaves = _rows_of(rows, self.layout.n_trees)
        prompts = leaves if has_leaves.all() else blank(len(ids), self.layout.n_trees)
        tokens = self.layout.to_tokens(prompts, ids)
        order = None if list(slots) == list(range(self.layout.n_values)) else slots
        logs = [network_log_probs(network, tokens, order)[:, slots] for network in self.networks]
        # In a mixture, the weight of a network grows with its probability of the earlier slots.
        joint = np.logaddexp(*(np.cumsum(np.where(idle[:, slots], 0.0, log), axis=1) for log in logs)) - np.log(2)
        return np.asarray(np.diff(joint, axis=1, prepend=0.0))

    def log_prob_given_others(self, rows: Given, slots: Sequence[int], idle: Mask) -> Floats:
        """Log-probability of some slots given all others (N,)."""
        others = [slot for slot in range(self.layout.n_values) if slot not in set(slots)]
        return np.asarray(self.log_prob(rows, [*others, *slots], idle)[:, len(others) :].sum(1))

    def chances(self, given: Given, slot: int, rng: np.random.Generator) -> Floats:
        """Probabilities of a slot's ids given the known part of rows, summed over networks and prompts (N, S)."""
        ids, known, leaves, has_leaves = _rows_of(given, self.layout.n_trees)
        result = np.zeros((len(ids), self.layout.value_slots[slot].size))
        prompted, unknown = np.flatnonzero(has_leaves), np.flatnonzero(~has_leaves)
        for network, bank in zip(self.networks, self.banks, strict=True):
            for _ in range(MASKS if len(prompted) else 0):
                prompts = masked(leaves[prompted], self.fitted.config.train.leaf_mask, rng)
                result[prompted] += given_log_probs(network, prompts, ids[prompted], known[prompted], slot)[1] / MASKS
            if len(unknown):
                result[unknown] += mixed_chances(network, bank, ids[unknown], known[unknown], slot, rng)
        return result


@torch.inference_mode()
def network_log_probs(network: Network, tokens: NDArray[np.int64], order: Sequence[int] | None = None) -> Floats:
    """Log-probabilities of the values of rows (N, L) by slot (N, D), each given those before it in `order`."""
    network.eval()
    device = next(network.parameters()).device
    parts = [np.empty((0, network.layout.n_values))]
    for start in range(0, len(tokens), BATCH):
        rows = torch.from_numpy(tokens[start : start + BATCH]).to(device)
        orders = None if order is None else torch.tensor([list(order)], device=device).expand(len(rows), -1)
        parts.append(network.log_probs(rows, orders).cpu().numpy())
    return np.concatenate(parts)


def _rows_of(given: Given, n_trees: int) -> tuple[Ids, Mask, NDArray[np.int64], Mask]:
    """Ids and a mask of the known ones (N, D), leaves (N, T) and a mask of rows with known leaves (N,)."""
    assert given.ids is not None
    assert given.known is not None
    if given.leaves is None or given.has_leaves is None:
        n = len(given.ids)
        return given.ids, given.known, np.zeros((n, n_trees), dtype=np.int64), np.zeros(n, dtype=bool)
    return given.ids, given.known, given.leaves, given.has_leaves


def _is_single(mask: Mask | None) -> bool:
    return mask is not None and int(mask.sum()) == 1


def _uncounted(rows: int) -> None:
    """No progress: rows are counted when they are complete."""
