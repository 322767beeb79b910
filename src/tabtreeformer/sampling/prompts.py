"""Prompts for sampling: blank, masked, protected, and assigned by row number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._runtime.seeds import child
from ..artifact.prompt_bank import MASKED, PromptBank


def blank(n_rows: int, n_trees: int) -> NDArray[np.int32]:
    """Prompts without information (n, T)."""
    return np.full((n_rows, n_trees), MASKED, dtype=np.int32)


def masked(leaf_ids: NDArray[np.int64], share: tuple[float, float], rng: np.random.Generator) -> NDArray[np.int32]:
    """Hide a share of each row's leaves (n, T), drawn from a range for each row, as in training."""
    shares = rng.uniform(*share, size=(len(leaf_ids), 1))
    return np.where(rng.random(leaf_ids.shape) < shares, MASKED, leaf_ids).astype(np.int32)


def protected_bank(
    leaf_ids: NDArray[np.int64],
    hidden: NDArray[np.bool_],
    real: NDArray[np.int64],
    floor: int,
    rng: np.random.Generator,
    *,
    all_real: bool = True,
) -> PromptBank:
    """A bank of model-written prompts: at least half of each is masked, and none matches only a few real rows.

    A prompt that matches no row at all (`real` are the leaves of all rows) describes nobody. For all others, leaves are
    revealed in random order as long as at least `floor` rows are in all revealed leaves.
    """
    n_trees = leaf_ids.shape[1]
    crowd = _Crowd.of(real, [int(leaf_ids[:, tree].max(initial=0)) for tree in range(n_trees)])
    bank = blank(len(leaf_ids), n_trees)
    for prompt, leaves, mask in zip(bank, leaf_ids, hidden, strict=True):
        shown = rng.permutation(np.flatnonzero(~mask))[: n_trees - n_trees // 2]
        chosen = crowd.hiding(leaves, shown, floor, all_real)
        prompt[chosen] = leaves[chosen]
    return PromptBank(bank[rng.permutation(len(bank))])


class Deck:
    """Assigns prompts of a bank to row numbers, in an order that depends only on a seed.

    Each prompt is used once before any repeats, in whatever order rows are requested.
    """

    def __init__(self, bank: PromptBank, seed: np.random.SeedSequence) -> None:
        self.bank, self.seed = bank, seed
        self._order = lru_cache(maxsize=4)(self._shuffled)

    def take(self, numbers: NDArray[np.int64]) -> NDArray[np.int32]:
        """Prompts of rows (n, T)."""
        rounds, places = np.divmod(numbers, len(self.bank.leaf_ids))
        chosen = np.empty(len(numbers), dtype=np.int64)
        for number in np.unique(rounds):
            chosen[rounds == number] = self._order(int(number))[places[rounds == number]]
        return self.bank.leaf_ids[chosen]

    def _shuffled(self, number: int) -> NDArray[np.int64]:
        return np.random.default_rng(child(self.seed, number)).permutation(len(self.bank.leaf_ids))


@dataclass(frozen=True)
class _Crowd:
    """The real rows with which prompts are compared."""

    leaves: NDArray[np.integer[Any]]
    """Leaves by tree (T, N), in the smallest dtype, because they are looked up millions of times."""
    reached: list[list[NDArray[np.int64]]]
    """Rows of each leaf of each tree."""

    @classmethod
    def of(cls, real: NDArray[np.int64], last: list[int]) -> _Crowd:
        """Build from leaves of rows (N, T), and the largest leaf index per tree."""
        narrow = np.ascontiguousarray(real.T, dtype=np.min_scalar_type(real.max(initial=0)))
        return cls(narrow, [_rows_by_leaf(own, end) for own, end in zip(narrow, last, strict=True)])

    def hiding(
        self, leaves: NDArray[np.int64], shown: NDArray[np.int64], floor: int, all_real: bool
    ) -> NDArray[np.int64]:
        """The shown trees to keep, so that at least `floor` rows are in all their leaves; all if no row is in all
        leaves.
        """
        chosen: list[int] = []
        rows = None
        may_be_nobody = all_real
        for place, tree in enumerate(shown):
            rest = self.reached[tree][leaves[tree]] if rows is None else self._within(rows, leaves, tree)
            if len(rest) >= floor:
                rows = rest
                chosen.append(int(tree))
            elif may_be_nobody:  # the first that is too few: up to here all were chosen, and `rest` lies in all of them
                for other in shown[place + 1 :]:
                    rest = self._within(rest, leaves, other)
                if not len(rest):
                    return shown
                may_be_nobody = False
        return np.array(chosen, dtype=np.int64)

    def _within(self, rows: NDArray[np.int64], leaves: NDArray[np.int64], tree: int) -> NDArray[np.int64]:
        """Which of the rows are in a tree's leaf."""
        kept: NDArray[np.int64] = rows[self.leaves[tree][rows] == leaves[tree]]
        return kept


def _rows_by_leaf(leaves: NDArray[np.integer[Any]], last: int) -> list[NDArray[np.int64]]:
    """Rows of each leaf of a tree, up to the last one asked for."""
    order = np.argsort(leaves, kind="stable")
    return np.split(order, np.cumsum(np.bincount(leaves, minlength=last + 1))[:-1])
