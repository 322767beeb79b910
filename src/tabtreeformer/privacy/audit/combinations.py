"""Findings about combinations that describe too few training rows: intervals, leaves of trees, and prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...artifact.fitted import Fitted
from ...tokens import SlotKind
from .findings import Finding
from .rare import RareValues

MAX_PROMPTS = 2000
"""Maximum prompts per network to compare with the training rows."""


def thin_intervals(fitted: Fitted, frame: pd.DataFrame, floor: int) -> Iterator[Finding]:
    """Numeric intervals with too few rows; categories are compared by name elsewhere."""
    ids = fitted.codec.encode(frame)
    for place, slot in enumerate(fitted.layout.value_slots):
        if slot.kind != SlotKind.CATEGORY:
            counts = np.bincount(ids[:, place], minlength=slot.size)
            thin = int(((counts > 0) & (counts < floor)).sum())
            if thin:
                column = fitted.codec.expressed.names[slot.column]
                yield Finding("support", "codec.json", f"columns[*] {slot.kind.name.lower()} ids", column, thin)


def thin_ranges(fitted: Fitted, columns: Mapping[str | int, RareValues]) -> Iterator[Finding]:
    """Numeric ranges derived from intervals with ends determined by too few rows."""
    for codec in fitted.codec.columns:
        if not codec.inner.has_protected_range():
            continue
        if columns[codec.column.name].told_by_few(float(codec.bounds.low), float(codec.bounds.high)):
            yield Finding("range", "codec.json", "columns[*] ends", codec.column.name)


def thin_leaves(leaf_ids: NDArray[np.int64], floor: int) -> Iterator[Finding]:
    """Leaves with too few rows."""
    thin = 0
    for tree in range(leaf_ids.shape[1]):
        counts = np.bincount(leaf_ids[:, tree])
        thin += int(((counts > 0) & (counts < floor)).sum())
    if thin:
        yield Finding("leaf", "tree.txt", "leaves", count=thin)


def thin_shares(fitted: Fitted, floor: int) -> Iterator[Finding]:
    """Leaf counts of the preset `trees` from too few rows."""
    counts = [] if fitted.forest is None else [c.counts for slot in fitted.forest.slots for c in slot.counts]
    thin = sum(int((leaf < floor).sum()) for leaf in counts)
    if thin:
        yield Finding("share", "forest.safetensors", "counts", count=thin)


def telling_prompts(
    fitted: Fitted, leaf_ids: NDArray[np.int64], floor: int, rng: np.random.Generator
) -> Iterator[Finding]:
    """Prompts whose visible leaves single out training rows, given the trees."""
    for j, bank in enumerate(fitted.prompts, start=1):
        prompts = np.unique(bank.leaf_ids, axis=0)
        if len(prompts) > MAX_PROMPTS:
            prompts = prompts[rng.choice(len(prompts), MAX_PROMPTS, replace=False)]
        telling = sum(0 < _rows_that_fit(prompt, leaf_ids, floor) < floor for prompt in prompts)
        if telling:
            yield Finding("prompt", "prompts.safetensors", f"network_{j}", count=telling)


def open_prompts(fitted: Fitted) -> Iterator[Finding]:
    """Prompts with less than half of their leaves masked."""
    for j, bank in enumerate(fitted.prompts, start=1):
        if bank.leaf_ids.shape[1]:
            masked = (bank.leaf_ids < 0).sum(axis=1)
            bare = int((masked < bank.leaf_ids.shape[1] // 2).sum())
            if bare:
                yield Finding("mask", "prompts.safetensors", f"network_{j}", count=bare)


def _rows_that_fit(prompt: NDArray[np.int32], leaf_ids: NDArray[np.int64], floor: int) -> int:
    """Count the rows that are in every visible leaf of the prompt."""
    rows = np.arange(len(leaf_ids))
    for tree in np.flatnonzero(prompt >= 0):
        rows = rows[leaf_ids[rows, tree] == prompt[tree]]
        if not len(rows):
            break
    return len(rows)
