"""New texts from the space of all texts of one form, none of them a learned text.

The texts of a space are put in a fixed order that looks random, and divided into classes. One class without any learned
text is chosen, and new texts come only from it. The model stores only the number of the class.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .row_numbers import RowNumbers

FIXED = 20_240_131
"""Seed of the fixed order."""
MAX_SPACE = 2**60
FULLEST = 16
"""With this many taken places per class on average, a free class is very unlikely."""


class Part(NamedTuple):
    """Places `n_classes` * k + `chosen` of a space, in its fixed order."""

    n_classes: int
    chosen: int

    @classmethod
    def free_of(cls, places: Iterable[int], size: int, min_room: int, rng: np.random.Generator) -> Part:
        """A class that contains none of the places; the whole space if the class would be smaller than `min_room`."""
        known = np.unique(np.fromiter((place for place in places if 0 <= place < size), dtype=np.int64))
        n_classes = 2 * len(known) + 1
        if not len(known) or size // n_classes < max(min_room, 1):
            return cls(1, 0)
        return cls(n_classes, int(rng.choice(_free(_ranks(known, size), n_classes))))

    @classmethod
    def roomiest(cls, places: Iterable[int], size: int, rng: np.random.Generator) -> Part:
        """A class that contains none of the places, with about as few classes as possible."""
        ranks = _ranks(np.unique(np.fromiter((place for place in places if 0 <= place < size), dtype=np.int64)), size)
        n_classes = max(len(ranks) // FULLEST, 2)
        while not len(free := _free(ranks, n_classes)):
            n_classes += max(n_classes // 4, 1)
        return cls(n_classes, int(rng.choice(free)))

    def places(self, rows: RowNumbers, size: int) -> NDArray[np.int64]:
        """A place for each row; each place occurs once before any repeats."""
        room = max((size - self.chosen - 1) // self.n_classes + 1, 1)
        return _places(rows.scattered(room) * self.n_classes + self.chosen, size)


def _free(ranks: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
    """The classes that contain none of the ranks."""
    return np.flatnonzero(np.bincount(ranks % n_classes, minlength=n_classes) == 0)


def _places(ranks: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The places at the given ranks of the fixed order."""
    return RowNumbers(ranks, FIXED).scattered(size)


def _ranks(places: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Inverse of `_places`."""
    return RowNumbers(places, FIXED).gathered(size)
