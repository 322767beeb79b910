"""Rows from a forest: unconditional rows, rows under conditions, and completions of partial rows.

Shapes: `n` or `N` rows, `D` value slots, `S` ids of a slot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._runtime.seeds import child
from ..forest import BLOCK, Forest, chances, complete, draw_rows, log_shares, write_within
from ..tokens import FREE, Given, TableCodec, TokenLayout
from ..tokens.writer import Ids, Mask
from .writer import Decoding, Floats

DRAWS = 64
"""Number of completions averaged for likelihoods in another order than that of the table."""
_ROWS, _KEYS = range(2)
"""Streams into which the seed of a call is split."""


@dataclass
class ForestWriter(Decoding):
    """A forest with its codec and the seeds of one call."""

    forest: Forest
    codec: TableCodec
    layout: TokenLayout
    seed: np.random.SeedSequence
    advance: Callable[[int], None]
    first_key: int | None = None

    def __post_init__(self) -> None:
        self.key = int(child(self.seed, _KEYS).generate_state(1)[0])
        self.start(0)

    @property
    def width(self) -> int:
        """0, because there is no network."""
        return 0

    def start(self, block: int) -> None:
        """Start a block of rows."""
        self.first = block * BLOCK
        drawn, decoded = child(self.seed, _ROWS, block).spawn(2)
        self.drawn, self.rng = np.random.default_rng(drawn), np.random.default_rng(decoded)

    def write(self, n: int, given: Given = FREE) -> Ids:
        """Draw n rows of the block."""
        if given.ids is not None and given.known is not None:
            rows = complete(self.forest, given.ids, given.known, self.drawn, given.allowed)
        elif given.allowed:
            rows = write_within(self.forest, n, given.allowed, self.drawn)
        else:
            rows = draw_rows(self.forest, n, self.drawn)
        self.advance(n)
        return rows

    def log_prob(self, rows: Given, slots: Sequence[int], idle: Mask) -> Floats:
        """Log of the share of each slot given those before it (N, D), in that order.

        In table order the result is exact. In another order, unknown slots are averaged over draws, and the parts are
        estimates.
        """
        ids = rows.ids
        assert ids is not None
        own = np.where(idle, 0.0, log_shares(self.forest, ids))
        logs, known, rng = np.empty(ids.shape), idle.copy(), np.random.default_rng(0)
        for place, slot in enumerate(slots):
            if set(slots[:place]) == set(range(slot)):
                logs[:, place] = own[:, slot]
            else:
                found = chances(self.forest, ids, known, slot, rng, DRAWS)[np.arange(len(ids)), ids[:, slot]]
                with np.errstate(divide="ignore"):
                    logs[:, place] = np.where(idle[:, slot], 0.0, np.log(found))
            known[:, slot] = True
        return logs

    def log_prob_given_others(self, rows: Given, slots: Sequence[int], idle: Mask) -> Floats:
        """Log-probability of some slots given all others, one slot at a time (N,)."""
        assert rows.ids is not None
        ids, every, total = rows.ids, np.ones(rows.ids.shape, dtype=bool), np.zeros(len(rows.ids))
        for slot in slots:
            found = chances(self.forest, ids, every, slot, np.random.default_rng(0))
            with np.errstate(divide="ignore"):
                total += np.where(idle[:, slot], 0.0, np.log(found[np.arange(len(ids)), ids[:, slot]]))
        return total

    def chances(self, given: Given, slot: int, rng: np.random.Generator) -> Floats:
        """Probabilities of a slot's ids, given the known part of rows (N, S)."""
        assert given.ids is not None
        assert given.known is not None
        return chances(self.forest, given.ids, given.known, slot, rng)
