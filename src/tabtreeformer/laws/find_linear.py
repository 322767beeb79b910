"""Finds sums that hold in nearly every row, or leave a residual with few values.

For each target, columns are added one by one, each time the one that explains the residual best (orthogonal matching
pursuit, on rows without missing values). Factors are fitted by least absolute deviations, which is robust to rows that
break the law, and rounded to integers. The sum is then checked row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..data.schema.values import stored_in_32_bits
from .bits import BITS_PER_TERM
from .grid import tolerance as slack_of
from .linear import Linear
from .search import Candidate, Numbers, Search

Floats = NDArray[np.float64]

MAX_TERMS = 8
MAX_FACTOR = 24
PLACES = (60, 100, 365, 1_000, 1_440, 3_600, 10_000, 86_400, 1_000_000)
"""Larger factors to try: places of dates and clock times written as one number, and units of time."""
MIN_VALUES, MIN_PART_VALUES = 10, 2
"""Minimum number of different values of a total and of a part."""
MIN_ROWS = 50
"""Minimum number of rows that have all parts."""
FIT_ROWS = 1_500
"""Rows used to fit factors."""
PROBES = 40
"""Rows used to test sums of two columns."""
MIN_SHARE = 0.9
"""For an identity: minimum share of applicable rows that keep it."""
MIN_CORRELATION = 0.1
FEW_VALUES, FEW_SHARE = 40, 0.9
"""A residual has few values if this many values cover this share of the rows."""
SHORTER = 0.5
"""… and it must take at most this share of the target's bits."""
OFTEN_ZERO = 0.05
"""A part that is 0 in more than this share of rows is never computed: it would lose its zeros."""
MINUS_PENALTY = 0.25
"""Weight of the bits saved by a difference if another column is the total, which is the better one to compute."""


@dataclass(frozen=True)
class Fit:
    """Integer factors of some columns, and how well the sum matches the target."""

    parts: tuple[int, ...]
    factors: tuple[int, ...]
    constant: float
    share: float
    """Share of rows without missing parts that keep it."""


def find(search: Search) -> Sequence[Candidate]:
    """Find sums in all orientations that can be computed, the best of each first."""
    numbers = search.numbers
    useful = np.flatnonzero(numbers.distinct >= MIN_PART_VALUES)
    if len(useful) < 2:
        return []
    view = standardized(numbers.matrix[search.rows[0]])
    found: dict[tuple[object, ...], Candidate] = {}
    for target in useful:
        if numbers.distinct[target] < MIN_VALUES:
            continue
        for fit in _fits(int(target), useful, view, numbers, search.rows[0]):
            for candidate in oriented(int(target), fit, search):
                key = candidate.law.writes, frozenset(candidate.law.reads)
                if key not in found or found[key].bits < candidate.bits:
                    found[key] = candidate
    return sorted(found.values(), key=lambda c: -c.bits)


@dataclass(frozen=True)
class Columns:
    """Standardised columns, for correlations; 0 where missing."""

    scaled: Floats
    present: NDArray[np.bool_]


def standardized(matrix: Floats) -> Columns:
    present = ~np.isnan(matrix)
    counts = np.maximum(present.sum(0), 1)
    filled = np.where(present, matrix, 0.0)
    mean = filled.sum(0) / counts
    centred = np.where(present, matrix - mean, 0.0)
    scale = np.sqrt((centred**2).sum(0) / counts)
    return Columns(centred / np.where(scale > 0, scale, 1.0), present)


def _fits(
    target: int, useful: NDArray[np.int64], view: Columns, numbers: Numbers, seen: NDArray[np.int64]
) -> Iterator[Fit]:
    """The sum for a target, if any: first identities, then sums with a residual of few values."""
    matrix = numbers.matrix[seen]
    goal = matrix[:, target]
    parts: list[int] = []
    best: Fit | None = None
    rest = np.clip(view.scaled[:, target], -4, 4)
    rows = view.present[:, target].copy()
    while len(parts) < min(MAX_TERMS, len(useful) - 1):
        part = next_part(rest, rows, view, {target, *parts}, useful)
        if part is None:
            break
        complete = rows & view.present[:, part]
        if complete.sum() < MIN_ROWS:
            break
        parts.append(part)
        rows = complete
        factors, constant = least_deviations(matrix[rows][:, parts], goal[rows], numbers.step(target))
        left = goal[rows] - matrix[rows][:, parts] @ factors - constant
        rest = np.zeros(len(goal))
        scale = np.median(np.abs(left)) + 1e-12
        spread = max(scale * 4, float(np.quantile(np.abs(left), 0.98)), 1e-12)
        rest[rows] = np.clip(left, -spread, spread) / spread
        fit = _rounded(parts, factors, matrix, goal, rows, numbers, target)
        if fit is not None and (best is None or fit.share > best.share + 0.002):
            best = fit
        if best is not None and best.share == 1.0:
            break
        if np.abs(left).max() <= numbers.step(target) * 0.5:
            break
    if best is None or best.share < MIN_SHARE:
        best = _of_two(target, useful, matrix, numbers) or best
    if best is not None:
        yield best


def _of_two(target: int, useful: NDArray[np.int64], matrix: Floats, numbers: Numbers) -> Fit | None:
    """The sum or difference of two columns. All pairs are tried, because the residual of near copies correlates with
    nothing.
    """
    others = useful[useful != target]
    known = matrix[np.flatnonzero(~np.isnan(matrix[:, target]))]
    probe = known[np.argsort(np.isnan(known).sum(1), kind="stable")[:PROBES]]
    if len(probe) < PROBES:
        return None
    own, step = probe[:, target], numbers.step(target)
    for sign in (1, -1):
        values = probe[:, others, None] + sign * probe[:, None, others]  # (P, M, M)
        fits = np.abs(values - own[:, None, None]) <= 0.5005 * step + 1e-9 * np.abs(own)[:, None, None]
        for i, j in np.argwhere(fits.mean(0) >= MIN_SHARE - 0.15):
            if i == j or (sign == 1 and i > j):
                continue
            a, b = matrix[:, others[i]], matrix[:, others[j]]
            left = matrix[:, target] - a - sign * b
            there = ~np.isnan(left)
            share = float(np.mean(np.abs(left[there]) <= 0.5005 * step + 1e-9 * np.abs(matrix[there, target])))
            if share >= MIN_SHARE:
                return Fit((int(others[i]), int(others[j])), (1, sign), 0.0, share)
    return None


def next_part(
    rest: Floats, rows: NDArray[np.bool_], view: Columns, taken: set[int], useful: NDArray[np.int64]
) -> int | None:
    """The column that correlates most with the residual."""
    own = np.where(rows, rest, 0.0)
    cross = own @ view.scaled
    power = (own**2) @ view.present
    size = np.where(rows, 1.0, 0.0) @ (view.scaled**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.abs(cross) / np.sqrt(power * size)
    usable = np.zeros(len(correlation), dtype=bool)
    usable[useful] = True
    usable[list(taken)] = False
    correlation = np.where(usable & np.isfinite(correlation), correlation, 0.0)
    best = int(np.argmax(correlation))
    return best if correlation[best] >= MIN_CORRELATION else None


def least_deviations(parts: Floats, goal: Floats, step: float) -> tuple[Floats, float]:
    """Factors and constant by least absolute deviations (iteratively reweighted least squares)."""
    if len(goal) > FIT_ROWS:
        some = np.linspace(0, len(goal) - 1, FIT_ROWS).astype(np.int64)
        parts, goal = parts[some], goal[some]
    design = np.column_stack([parts, np.ones(len(goal))])
    scale = np.maximum(np.abs(design).max(0), 1e-12)
    design = design / scale
    weights = np.ones(len(goal))
    answer = np.zeros(design.shape[1])
    for _ in range(15):
        weighted = design * weights[:, None]
        gram = weighted.T @ design
        gram.flat[:: len(gram) + 1] += 1e-12 * np.trace(gram) + 1e-300
        fresh = np.linalg.solve(gram, weighted.T @ goal)
        moved = np.abs(fresh - answer).max()
        answer = fresh
        if moved <= 1e-10 * (np.abs(answer).max() + 1e-300):
            break
        weights = 1.0 / np.maximum(np.abs(goal - design @ answer), 0.01 * step)
    return answer[:-1] / scale[:-1], float(answer[-1] / scale[-1])


def _rounded(
    parts: Sequence[int],
    factors: Floats,
    matrix: Floats,
    goal: Floats,
    rows: NDArray[np.bool_],
    numbers: Numbers,
    target: int,
) -> Fit | None:
    """Integer factors near the fitted ones, and how many rows keep the sum; None if none are near."""
    whole = np.rint(factors)
    odd = (np.abs(whole) > MAX_FACTOR) & ~np.isin(np.abs(whole), PLACES)
    if odd.any() or not whole.any():
        return None
    own = [part for part, factor in zip(parts, whole, strict=True) if factor]
    kept = [int(f) for f in whole if f]
    left = goal[rows] - matrix[rows][:, own] @ np.array(kept, dtype=np.float64)
    step = numbers.step(target)
    levels, counts = np.unique(np.rint(left / step), return_counts=True)
    constant = float(levels[counts.argmax()] * step)
    tolerance = step * 0.5005 + 1e-9 * np.abs(goal[rows])
    share = float(np.mean(np.abs(left - constant) <= tolerance))
    few = np.sort(counts)[::-1][:FEW_VALUES].sum() / len(left)
    if share < MIN_SHARE and (few < FEW_SHARE or not np.allclose(whole, factors, atol=0.25)):
        return None
    decimals = numbers.decimals[target]
    constant = 0.0 if share < MIN_SHARE else round(constant, 9 if decimals is None else decimals)
    return Fit(tuple(own), tuple(kept), constant, share)


def oriented(target: int, fit: Fit, search: Search) -> Iterator[Candidate]:
    """The law for the target, and for other columns of the same sum that can be computed from it."""
    numbers = search.numbers
    columns = (target, *fit.parts)
    factors = (-1, *fit.factors)
    places = range(len(columns)) if fit.share >= MIN_SHARE else [0]
    a_total = 1 in (factors.count(1), factors.count(-1))  # one column is the plain sum of the others
    for place in places:
        if abs(factors[place]) != 1:
            continue
        sign = -factors[place]
        terms = tuple((sign * factors[k], numbers.names[columns[k]]) for k in range(len(columns)) if k != place)
        ordered = tuple(sorted(terms, key=lambda term: (term[0] < 0, numbers.names.index(term[1]))))
        own = columns[place]
        law = Linear(target=numbers.names[own], terms=ordered, constant=sign * fit.constant)
        candidate = _checked(law, own, search, main=place == 0, has_total=a_total)
        if candidate is not None:
            yield candidate


def _checked(law: Linear, own: int, search: Search, *, main: bool, has_total: bool) -> Candidate | None:
    """What the law saves on held-out rows; None if it does not hold there, or a term has no effect."""
    numbers, held = search.numbers, search.rows[1]
    if numbers.distinct[own] < MIN_VALUES:
        return None
    places = [numbers.names.index(name) for name in law.reads]
    factors = np.array([factor for factor, _ in law.terms], dtype=np.float64)
    goal = numbers.matrix[:, own]
    left = goal - (numbers.matrix[:, places] @ factors + law.constant)
    step = numbers.step(own)
    there = ~np.isnan(left)
    tolerance = step * 0.5005 + 1e-9 * np.abs(goal)
    obeys = np.abs(left) <= tolerance
    if not obeys[there].all() and numbers.is_short(own):
        value = stored_in_32_bits(numbers.stored(own)[:, places] @ factors + law.constant)
        single = np.abs(goal - value) <= slack_of(in_32_bits=True) * np.abs(goal)
        if single.sum() > obeys.sum():
            law, obeys = replace(law, in_32_bits=True), single
    left = np.where(obeys, 0.0, left)
    share = float(obeys[held].sum() / max(there[held].sum(), 1))
    if _idle(law, places, numbers, goal, obeys, search.floor) and share >= MIN_SHARE:
        return None
    bits = search.bits[numbers.names[own]]
    rest = search.length(np.where(there, left, np.nan), step)
    cost = BITS_PER_TERM * (len(places) + 1) / len(held)
    difference = any(factor < 0 for factor in factors)
    often_zero = float(np.mean(goal[there] == 0)) > OFTEN_ZERO
    if (share < MIN_SHARE and rest > SHORTER * bits) or (often_zero and difference and not main):
        return None
    saved = (bits - rest) * float(there.mean()) - cost
    if saved < 0.5:
        return None
    exact = bool(obeys[there].all())
    weight = (MINUS_PENALTY if difference and has_total else 1.0) * (1.0 if main else 0.999)
    # prefer the later one of two copies
    weight *= 1 + 1e-6 * own if len(places) > 1 else 1 + 1e-2 * own / len(numbers.names)
    return Candidate(replace(law, exact=exact), saved * weight, exact, share)


def _idle(law: Linear, places: list[int], numbers: Numbers, goal: Floats, obeys: NDArray[np.bool_], floor: int) -> bool:
    """Whether some part has hardly any effect: the law would hold as often without it."""
    for (_, _name), place in zip(law.terms, places, strict=True):
        part = numbers.matrix[:, place]
        moves = obeys & (part != np.median(part[obeys])) if obeys.any() else obeys
        if moves.sum() < max(floor, 8):
            return True
    common = np.unique(goal[obeys], return_counts=True)
    return bool(len(common[0]) and obeys.sum() - common[1].max() < max(floor, 20))
