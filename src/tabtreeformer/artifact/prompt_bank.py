"""Stored leaf prompts: what a network is given before it writes a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MASKED = -1
"""The id of a leaf that is hidden."""


@dataclass(frozen=True)
class PromptBank:
    """Leaf ids of one half's rows, (N, T), masked for good (-1) and in random order.

    NOTE[PAPER]: the paper keeps the leaf matrix and masks it again for each row it samples; we mask once, when training
    ends, and forget the rest, so that neither a model nor its file holds the leaves of a real row in full (if the
    masks of training hide none, as in NM, nothing is hidden here either). For up to as many rows as the half had,
    both draw from the same distribution.
    """

    leaf_ids: NDArray[np.int32]

    @classmethod
    def build(cls, leaf_ids: NDArray[np.int64], hidden: NDArray[np.bool_], rng: np.random.Generator) -> PromptBank:
        """Mask and shuffle the leaf ids of a half."""
        masked = np.where(hidden, MASKED, leaf_ids).astype(np.int32)
        return cls(masked[rng.permutation(len(masked))])

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw n prompts: without repeats while there are enough, then repeated evenly."""
        rows = rng.choice(len(self.leaf_ids), size=n, replace=n > len(self.leaf_ids))
        return self.leaf_ids[rows]
