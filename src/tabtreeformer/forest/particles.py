"""Rows under conditions and the missing part of given rows, by particles.

Particles pass through the slots in order: free slots are drawn, given ones are copied, and a particle is weighted by
the shares of the given ids after what it has drawn so far. Particles are resampled by their weights. If few distinct
ones are left, slots are drawn again one by one, each given all the others (Metropolis steps with the slot's own
shares as the proposal).

Shapes: `n` rows, `P` particles per row, `C` slots of context, `D` slots to write, `S` ids of a slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConditionError
from .shares import Floats
from .tree import LEAF, Ids
from .write import BLOCK, Forest, SlotForest, draw_slot, even_points, log_shares, mean_share

Allowed = Mapping[int, NDArray[np.bool_]]
"""For each slot, which of its ids may be written (S,)."""
CANDIDATES, MAX_ROUNDS = 4, 12
"""Particles per row under conditions in each round, and maximum rounds until enough of them differ."""
PARTICLES = 32
"""Particles per row with gaps before a given slot."""
SWEEPS = 3
"""How often every slot is redrawn if particles degenerate."""
MAX_CELLS = 2**17
"""Maximum number of particles in memory at a time."""
DRAWS = 8
"""Number of completed rows over which chances are averaged if other slots have gaps too."""


def write_within(
    forest: Forest, n: int, allowed: Allowed, rng: np.random.Generator, context: NDArray[Any] | None = None
) -> Ids:
    """The first n rows of a block in which every row holds only allowed ids (n, D)."""
    C, size = len(forest.context), BLOCK
    last = max(allowed, default=-1)
    found, weights, n_found = [], [], 0.0
    for _ in range(MAX_ROUNDS):
        rows, logs = _pass(forest, CANDIDATES * size, allowed, last, rng, context)
        found.append(rows)
        weights.append(logs)
        every = np.concatenate(weights)
        n_found = _effective(every[None])[0]
        if n_found >= 2 * size or not np.isfinite(every).any():
            break
    if not np.isfinite(every).any():
        raise ConditionError("no row that the trees can write meets all the conditions together; ask for fewer")
    chosen = _resample(every[None], size, rng)[0]
    rows = np.concatenate(found)[chosen][rng.permutation(size)]
    if n_found < 2 * size:
        rows = _refresh(forest, rows, np.ones((size, last + 1), dtype=bool), allowed, rng)
    order = np.arange(size)
    for j in range(last + 1, forest.n_values):
        order = draw_slot(forest.slots[j], rows, C + j, order, rng)
    return rows[:n, C:]


def _pass(
    forest: Forest,
    n: int,
    allowed: Allowed,
    last: int,
    rng: np.random.Generator,
    context: NDArray[Any] | None,
) -> tuple[Ids, Floats]:
    """Draw the slots up to the last limited one (n, C + D), and the logarithm of each row's weight (n,)."""
    C = len(forest.context)
    rows, logs = np.zeros((n, C + forest.n_values), dtype=np.int32), np.zeros(n)
    if C:
        assert context is not None
        rows[:, :C] = context[np.arange(n) % len(context)]
    order = np.arange(n)
    for j in range(last + 1):
        if j not in allowed:
            order = draw_slot(forest.slots[j], rows, C + j, order, rng)
            continue
        rows[:, C + j], left = _draw_allowed(forest.slots[j], rows[:, : C + j], allowed[j], rng)
        logs += left
        if j < last and np.isfinite(logs).any() and _effective(logs[None])[0] < n / 2:
            # Rounds are merged by weight: each row carries the mean weight of those that it was drawn from.
            rows, mean = rows[_resample(logs[None], n, rng)[0]], np.logaddexp.reduce(logs) - np.log(n)
            logs = np.full(n, mean)
    return rows, logs


def _draw_allowed(
    slot: SlotForest, before: Ids, allowed: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[NDArray[np.int32], Floats]:
    """Ids among the allowed ones (n,), and the logarithm of their total share (n,)."""
    n, offset = len(before), rng.random()
    ids, every = np.zeros(n, dtype=np.int32), np.arange(n)
    read = slot.read(before)
    leaves = [tree.leaves(read) for tree in slot.trees]
    limited = [shares.within(allowed) for shares in slot.shares]
    left = np.stack([shares.left(own) for shares, own in zip(limited, leaves, strict=True)], axis=1)  # (n, trees)
    with np.errstate(divide="ignore"):
        chosen = _resample(np.log(left), 1, rng)[:, 0] if len(limited) > 1 else np.zeros(n, dtype=np.int64)
        weights = np.log(left.mean(1))
    for k, shares in enumerate(limited):
        own = every[chosen == k]
        sort = np.argsort(leaves[k][own], kind="stable")
        ids[own[sort]] = shares.draw(leaves[k][own[sort]], even_points(len(own), offset))
    return ids, weights


def complete(
    forest: Forest,
    ids: NDArray[Any],
    known: NDArray[np.bool_],
    rng: np.random.Generator,
    allowed: Allowed | None = None,
) -> Ids:
    """Fill in what is unknown of rows (n, C + D), context included; `known` covers the D slots (n, D).

    Only allowed ids are filled in.
    """
    rows, C = np.array(ids, dtype=np.int32), len(forest.context)
    gaps = ~known
    # Weights differ only if a given slot comes after a gap.
    after = np.logical_or.accumulate(gaps, axis=1) & known
    hard = np.flatnonzero(after.any(1))
    easy = np.flatnonzero(~after.any(1) & gaps.any(1))
    limits = allowed or {}
    for part in _parts(easy, MAX_CELLS):
        rows[part] = _filled(forest, rows[part], known[part], 1, limits, rng)
    for part in _parts(hard, MAX_CELLS // PARTICLES):
        filled = _filled(forest, rows[part], known[part], PARTICLES, limits, rng)
        rows[part] = _refresh(forest, filled, gaps[part], limits, rng)
    assert rows.shape[1] == C + forest.n_values
    return rows


def _filled(
    forest: Forest, ids: Ids, known: NDArray[np.bool_], n_particles: int, allowed: Allowed, rng: np.random.Generator
) -> Ids:
    """One completed row for each (n, C + D), chosen from its particles."""
    C, n = len(forest.context), len(ids)
    rows = np.repeat(ids, n_particles, axis=0)  # (n * P, C + D)
    logs = np.zeros((n, n_particles))
    for j, slot in enumerate(forest.slots):
        given = np.repeat(known[:, j], n_particles)
        free = np.flatnonzero(~given)
        if len(free):
            mask = allowed.get(j, np.ones(slot.size, dtype=bool))
            rows[free, C + j], left = _draw_allowed(slot, rows[free, : C + j], mask, rng)
            logs.ravel()[free] += left
        taken = np.flatnonzero(given)
        if n_particles > 1 and len(taken):
            with np.errstate(divide="ignore"):
                logs.ravel()[taken] += np.log(mean_share(slot, rows[taken, : C + j], rows[taken, C + j]))
        poor = np.flatnonzero((_effective(logs) < n_particles / 2) & np.isfinite(logs).any(1))
        if n_particles > 1 and len(poor):
            picked = _resample(logs[poor], n_particles, rng) + poor[:, None] * n_particles
            rows[(poor[:, None] * n_particles + np.arange(n_particles)).ravel()] = rows[picked.ravel()]
            logs[poor] = 0.0
    chosen = _resample(logs, 1, rng)[:, 0] + np.arange(n) * n_particles
    return np.asarray(rows[chosen])


def _refresh(forest: Forest, rows: Ids, free: NDArray[np.bool_], allowed: Allowed, rng: np.random.Generator) -> Ids:
    """Redraw the free slots (n, J) of rows one by one, given everything in the first J slots."""
    C, J = len(forest.context), free.shape[1]
    rows = rows.copy()
    logs = log_shares(forest, rows, range(J))
    readers = _readers(forest, J)
    for _ in range(SWEEPS):
        for j in range(J):
            own = np.flatnonzero(free[:, j])
            if not len(own):
                continue
            slot, tried = forest.slots[j], rows[own]
            mask = allowed.get(j, np.ones(slot.size, dtype=bool))
            tried[:, C + j], _ = _draw_allowed(slot, tried[:, : C + j], mask, rng)
            changed = tried[:, C + j] != rows[own, C + j]
            own, tried = own[changed], tried[changed]
            after = readers[j]
            new = log_shares(forest, tried, [j, *after])
            with np.errstate(invalid="ignore"):
                gain = new[:, 1:].sum(1) - logs[own][:, after].sum(1)
            # Any other row is better than one that the trees could not write.
            taken = np.log(rng.random(len(own))) < np.where(np.isnan(gain), 0.0, gain)
            rows[own[taken]] = tried[taken]
            logs[own[taken, None], [j, *after]] = new[taken]
    return rows


def _readers(forest: Forest, n_slots: int) -> list[list[int]]:
    """For each of the first slots, which later slots have a tree that tests it."""
    C = len(forest.context)
    asked = [{int(s) for tree in slot.trees for s in np.unique(tree.slots) if s != LEAF} for slot in forest.slots]
    for place, slot in enumerate(forest.slots, start=C):
        if slot.score is not None and place in asked[place - C]:  # the score, which depends on all slots before it
            asked[place - C] |= set(range(place))
    return [[k for k in range(j + 1, n_slots) if C + j in asked[k]] for j in range(n_slots)]


def chances(
    forest: Forest,
    ids: NDArray[Any],
    known: NDArray[np.bool_],
    slot: int,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Floats:
    """Chances of the ids of one slot given what is known of the others (n, S)."""
    C, size = len(forest.context), forest.slots[slot].size
    others = known.copy()
    others[:, slot] = True
    whole = others.all(1)
    result = np.zeros((len(ids), size))
    asked = known.copy()
    asked[:, slot] = False
    after = _readers(forest, forest.n_values)[slot]
    step = max(1, MAX_CELLS // size) if after else MAX_CELLS
    for rows, n_draws in ((np.flatnonzero(whole), 1), (np.flatnonzero(~whole), draws)):
        for part in _parts(rows, step):
            for _ in range(n_draws):
                filled = np.array(ids[part], dtype=np.int32) if n_draws == 1 else None
                if filled is None:
                    filled = complete(forest, ids[part], asked[part], rng)
                result[part] += _conditional(forest, filled, slot, after, C) / n_draws
    return result


def _conditional(forest: Forest, rows: Ids, slot: int, after: list[int], C: int) -> Floats:
    """Chances of the ids of a slot given all others (n, S)."""
    own, n = forest.slots[slot], len(rows)
    first, read = np.zeros((n, own.size)), own.read(rows[:, : C + slot])
    for tree, shares in zip(own.trees, own.shares, strict=True):
        first += shares.table[tree.leaves(read)] / len(own.trees)
    if not after:
        return first
    each = np.repeat(rows, own.size, axis=0)  # (n * S, C + D)
    each[:, C + slot] = np.tile(np.arange(own.size), n)
    with np.errstate(divide="ignore"):
        logs = np.log(first) + log_shares(forest, each, after).sum(1).reshape(n, own.size)
    best = logs.max(1, keepdims=True)
    joint = np.where(np.isfinite(best), np.exp(logs - np.where(np.isfinite(best), best, 0.0)), first)
    return np.asarray(joint / joint.sum(1, keepdims=True))


def _parts(rows: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _weights(logs: Floats) -> Floats:
    """Logarithms (n, P) → weights that sum to one; equal weights if all are zero."""
    best = logs.max(1, keepdims=True)
    weights = np.where(np.isfinite(best), np.exp(logs - np.where(np.isfinite(best), best, 0.0)), 1.0)
    return np.asarray(weights / weights.sum(1, keepdims=True))


def _effective(logs: Floats) -> Floats:
    """Effective number of particles of each row's weights (n, P) → (n,)."""
    return np.asarray(1.0 / np.square(_weights(logs)).sum(1))


def _resample(logs: Floats, n_kept: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Particles of each row (n, n_kept) by their weights (n, P): systematic, with one random offset per row."""
    n, P = logs.shape
    ends = np.cumsum(_weights(logs), axis=1)
    ends /= ends[:, -1:]
    points = (np.arange(n_kept) + rng.random((n, 1))) / n_kept
    flat = (ends + np.arange(n)[:, None]).ravel()
    found = np.searchsorted(flat, (points + np.arange(n)[:, None]).ravel(), side="right").reshape(n, n_kept)
    return np.asarray((found - np.arange(n)[:, None] * P).clip(0, P - 1))
