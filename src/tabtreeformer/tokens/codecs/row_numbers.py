"""Which rows of the whole table are in a part: values that must not repeat are numbered by row, not drawn.

Parts of a table can then be written anywhere and in any order without repeating a key.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROUNDS = 4
"""Rounds of a Feistel network; four make a permutation that looks random."""


@dataclass(frozen=True)
class RowNumbers:
    """Row numbers, starting at 0, and the seed of the table they belong to."""

    numbers: NDArray[np.int64]
    seed: int = 0
    people: NDArray[np.int64] | None = None
    """The category of the person in each row (see `stand_ins.py`): all made-up words of a row fit one person."""

    @classmethod
    def first(cls, n: int) -> RowNumbers:
        """The first n rows of a table."""
        return cls(np.arange(n))

    def __len__(self) -> int:
        return len(self.numbers)

    def scattered(self, size: int) -> NDArray[np.int64]:
        """Numbers below `size` in an order that depends on the seed; each occurs once before any repeats."""
        return self._walked(size, backwards=False)

    def gathered(self, size: int) -> NDArray[np.int64]:
        """Inverse of `scattered` for numbers below `size`."""
        return self._walked(size, backwards=True)

    def _walked(self, size: int, *, backwards: bool) -> NDArray[np.int64]:
        assert 0 < size <= 2**60
        half = np.uint64(max(1, ((size - 1).bit_length() + 1) // 2))
        mask = np.uint64((1 << int(half)) - 1)
        keys = np.random.SeedSequence(self.seed).generate_state(ROUNDS, np.uint64)
        places = (self.numbers % size).astype(np.uint64)
        outside = np.ones(len(places), dtype=bool)
        while outside.any():  # the network permutes a power of four: continue until back inside
            left, right = places[outside] >> half, places[outside] & mask
            for key in keys[::-1] if backwards else keys:
                if backwards:
                    left, right = right ^ (_mixed(left ^ key) & mask), left
                else:
                    left, right = right, left ^ (_mixed(right ^ key) & mask)
            places[outside] = (left << half) | right
            outside = places >= np.uint64(size)
        return places.astype(np.int64)


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Bits that depend on all bits of x."""
    for factor in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93):
        x = x * np.uint64(factor)
        x ^= x >> np.uint64(32)
    return x
