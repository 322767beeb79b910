"""Prompts for partial rows whose own leaves are unknown.

A network is a mixture over the prompts of its bank. Given a part of a row, each prompt is weighted by the likelihood of
that part. For each row a few prompts of the bank and a blank one are weighted; the blank one wins if none of the others
agrees with the given values. This is importance resampling: exact with many prompts, approximate with few. Rows with
the same given values share their candidates.

Shapes: `N` rows, `M` candidates, `T` trees, `D` value slots, `S` ids of a slot.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..artifact.prompt_bank import MASKED, PromptBank
from ..model import Network
from ..tokens.writer import Ids, Mask
from .given_likelihood import given_log_probs

PER_ROW, MIN_PER_GROUP, MAX_PER_GROUP, PER_CALL = 8, 32, 512, 2**13
"""Candidates per row. Rows with equal given values form a group, which gets more candidates if there are few groups."""
CHUNK = 2**15
"""Candidates per batch."""


def agreeing_prompts(network: Network, bank: PromptBank, ids: Ids, given: Mask, rng: np.random.Generator) -> Ids:
    """A prompt for each row (N, T), drawn by the likelihood of the row's given values."""
    chosen = np.full((len(ids), bank.leaf_ids.shape[1]), MASKED, dtype=np.int32)
    if not chosen.size:
        return chosen
    kinds, group = np.unique(np.where(given, ids, -1), axis=0, return_inverse=True)
    group, counts = group.reshape(-1), np.bincount(group.reshape(-1))
    by_group = np.argsort(group, kind="stable")
    ends = np.cumsum(counts)
    for part, prompts, owners in _candidates(bank, counts, rng):
        there = kinds[part] >= 0
        logs, _ = given_log_probs(network, prompts, np.maximum(kinds[part], 0)[owners], there[owners])
        stops = np.searchsorted(owners, np.arange(len(there)), side="right")
        for k, stop in enumerate(stops):
            own = slice(stops[k - 1] if k else 0, stop)
            rows = by_group[ends[part.start + k] - counts[part.start + k] : ends[part.start + k]]
            chances = np.exp(logs[own] - logs[own].max())
            points = (np.arange(len(rows)) + rng.random()) / len(rows)
            picked = np.searchsorted(np.cumsum(chances / chances.sum()), points).clip(max=len(chances) - 1)
            chosen[rows] = prompts[own][rng.permutation(picked)]
    return chosen


def mixed_chances(
    network: Network,
    bank: PromptBank,
    ids: Ids,
    given: Mask,
    slot: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Probabilities of a slot's ids given the given values (N, S), averaged over prompts weighted by likelihood."""
    result = np.zeros((len(ids), network.layout.value_slots[slot].size))
    for part, prompts, owners in _candidates(bank, np.ones(len(ids), dtype=np.int64), rng):
        logs, chances = given_log_probs(network, prompts, ids[part][owners], given[part][owners], slot)
        most = np.full(len(ids[part]), -np.inf)
        np.maximum.at(most, owners, logs)
        np.add.at(result[part], owners, chances * np.exp(logs - most[owners])[:, None])
    result /= result.sum(1, keepdims=True)
    return result


def _candidates(
    bank: PromptBank, counts: NDArray[np.int64], rng: np.random.Generator
) -> Iterator[tuple[slice, Ids, NDArray[np.int64]]]:
    """Batches of candidates for groups of these sizes: prompts (M, T), the first of each group blank, and
    their groups.
    """
    sizes = np.maximum(PER_ROW * counts, min(max(PER_CALL // len(counts), MIN_PER_GROUP), MAX_PER_GROUP))
    if not bank.leaf_ids.shape[1]:
        sizes = np.ones_like(sizes)
    start = 0
    while start < len(sizes):
        stop = start + max(1, int(np.searchsorted(np.cumsum(sizes[start:]), CHUNK, side="right")))
        owners = np.repeat(np.arange(stop - start), sizes[start:stop])
        prompts = np.full((len(owners), bank.leaf_ids.shape[1]), MASKED, dtype=np.int32)
        later = np.diff(owners, prepend=-1) == 0  # all except the first of each group
        if later.any():
            prompts[later] = bank.leaf_ids[rng.integers(len(bank.leaf_ids), size=int(later.sum()))]
        yield slice(start, stop), prompts, owners
        start = stop
