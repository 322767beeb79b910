"""Prompts that agree with what is given of a row, where its own leaves are not known.

A network is a mixture over the prompts of its bank. Given a part of a row, a prompt counts by how likely it makes that
part. For each row a few prompts of the bank are drawn and weighted this way, beside a blank one, which wins where none
of them agrees with what is given. That is importance resampling: exact with many prompts, approximate with few. Rows
that give the same share their candidates.

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
"""Candidates: this many per row. Rows that give the same are a group, which has more where a call has few groups."""
CHUNK = 2**15
"""Candidates that are weighted before the next are drawn."""


def agreeing_prompts(network: Network, bank: PromptBank, ids: Ids, given: Mask, rng: np.random.Generator) -> Ids:
    """A prompt for each row (N, T), drawn by how likely it makes what is given of the row."""
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
    """Chances of the ids of a slot after what is given (N, S), over prompts by how likely they make what is given."""
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
    """For groups of this many rows, some at a time: prompts (M, T), the first of a group blank, and their groups."""
    sizes = np.maximum(PER_ROW * counts, min(max(PER_CALL // len(counts), MIN_PER_GROUP), MAX_PER_GROUP))
    if not bank.leaf_ids.shape[1]:
        sizes = np.ones_like(sizes)
    start = 0
    while start < len(sizes):
        stop = start + max(1, int(np.searchsorted(np.cumsum(sizes[start:]), CHUNK, side="right")))
        owners = np.repeat(np.arange(stop - start), sizes[start:stop])
        prompts = np.full((len(owners), bank.leaf_ids.shape[1]), MASKED, dtype=np.int32)
        later = np.diff(owners, prepend=-1) == 0  # all but the first of a group
        if later.any():
            prompts[later] = bank.leaf_ids[rng.integers(len(bank.leaf_ids), size=int(later.sum()))]
        yield slice(start, stop), prompts, owners
        start = stop
