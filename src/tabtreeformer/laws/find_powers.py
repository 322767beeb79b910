"""Finds products of powers: `area = side * side`, `bmi = weight / height / height`, `pay = 1.5 * hours * rate`.

Products become sums of logarithms: columns are added one by one, fitted by least absolute deviations, and their
exponents rounded to integers. Complements of percentages (100 - x, 1 + x) are further columns. The constant is the
shortest number that rounding allows. The result is checked to the last decimal, as for all products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .find_linear import Columns, least_deviations, next_part, standardized
from .find_product import checked_in_32_bits
from .product import Product, divisor_of, scaled
from .search import Candidate, Search

Floats = NDArray[np.float64]

ROWS = 1_000
"""Rows used to fit exponents."""
MAX_PARTS, MAX_EXPONENT = 4, 3
MIN_VALUES = 10
MIN_ROWS = 50
MAX_BELOW = 0.1
"""Maximum share of negative numbers in a column; zeros are ignored, because zero times anything is 0."""
MARGIN = 0.06
"""Maximum distance of a fitted exponent from an integer."""
CLOSE = 0.02
"""Maximum median distance of the logarithms for a product."""
MAX_SHIFTED, MAX_PERCENTAGES = 60, 60
"""Maximum number of columns like 100 - x, and of values of x."""
MAX_AGAIN, ROUNDS = 60, 6
"""With up to this many columns, each target is tried this many times, leaving out the best column of the previous try.
"""
MAX_DIGITS = 5
"""Maximum digits of a constant, or of its inverse."""


@dataclass(frozen=True)
class Factors:
    """Possible factors of products: the columns, followed by columns like 100 - x."""

    matrix: Floats
    """(N, F)."""
    sources: tuple[tuple[int, float, int], ...]
    """Per factor: the column, and for 100 - x the constant and the sign (0 for a plain column)."""
    allowed: NDArray[np.int64]
    targets: NDArray[np.int64]

    def columns(self, matrix: Floats, places: Sequence[int]) -> Floats:
        """Some factors of the rows of a matrix of numbers: (N, places)."""
        own = [
            matrix[:, k] if not sign else base + sign * matrix[:, k]
            for k, base, sign in map(self.sources.__getitem__, places)
        ]
        return np.stack(own, axis=1) if own else np.ones((len(matrix), 1))

    def made_of(self, column: int) -> set[int]:
        """Factors that are made of a column."""
        return {k for k, (source, _, _) in enumerate(self.sources) if source == column}


def find(search: Search) -> Sequence[Candidate]:
    """Find products of powers, and columns times an unusual constant."""
    factors = _factors(search)
    if not len(factors.targets) or len(factors.allowed) < 2:
        return []
    some = search.rows[0][:: max(1, len(search.rows[0]) // ROWS)]
    with np.errstate(invalid="ignore"):
        own = factors.matrix[some]
        logs = np.log(np.where(own > 0, own, np.nan))
    view = standardized(logs)
    found = []
    for target in factors.targets:
        pending, again = [factors.made_of(int(target))], len(factors.allowed) <= MAX_AGAIN
        for _ in range(ROUNDS if again else 1):
            if not pending:
                break
            banned = pending.pop(0)
            best, tried = _best(int(target), banned, factors, view, logs, search)
            found += [] if best is None else [best]
            # The first column may hide the others, or be a near copy of the right one.
            pending += [banned | {part} for part in tried[: 1 if best is not None else 2]]
    return sorted(found, key=lambda c: -c.bits)


def _best(
    target: int, banned: set[int], factors: Factors, view: Columns, logs: Floats, search: Search
) -> tuple[Candidate | None, list[int]]:
    """The first product that holds, and the columns tried: plain ones, then 100 - x, which behaves much like x."""
    first: list[int] = []
    for allowed in (factors.allowed[factors.allowed < len(search.numbers.names)], factors.allowed):
        tried: list[int] = []
        for parts, exponents in _fits(target, banned, allowed, view, logs, tried):
            candidate = _checked(target, parts, exponents, factors, search)
            if candidate is not None:
                return candidate, tried
        first = first or tried
        if len(allowed) == len(factors.allowed):
            break
    return None, first


def _factors(search: Search) -> Factors:
    """Columns that are hardly ever negative, and complements of percentages."""
    numbers = search.numbers
    matrix = numbers.matrix
    sources = [(k, 0.0, 0) for k in range(len(numbers.names))]
    there = np.maximum((~np.isnan(matrix)).sum(0), 1)
    with np.errstate(invalid="ignore"):
        usable = (
            ((matrix < 0).sum(0) <= MAX_BELOW * there) & ((matrix > 0).sum(0) >= MIN_ROWS) & (numbers.distinct >= 2)
        )
    columns = [matrix]
    for k in np.flatnonzero(usable & (numbers.distinct <= MAX_PERCENTAGES))[: MAX_SHIFTED // 2]:
        low, high = np.nanmin(matrix[:, k]), np.nanmax(matrix[:, k])
        base = 1.0 if high <= 1 and numbers.decimals[k] else 100.0
        if low >= 0 and high <= base and numbers.distinct[k] > 2 - (base == 1.0):
            for sign in (-1, 1):
                sources.append((int(k), base, sign))
                columns.append(base + sign * matrix[:, [k]])
    allowed = np.append(np.flatnonzero(usable), np.arange(len(numbers.names), len(sources)))
    return Factors(
        np.hstack(columns), tuple(sources), allowed, np.flatnonzero(usable & (numbers.distinct >= MIN_VALUES))
    )


def _fits(
    target: int, banned: set[int], allowed: NDArray[np.int64], view: Columns, logs: Floats, parts: list[int]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Factors with integer exponents whose product is proportional to the target; `parts` records those tried."""
    goal = logs[:, target]
    rest, rows = np.clip(view.scaled[:, target], -4, 4), view.present[:, target].copy()
    while len(parts) < MAX_PARTS:
        part = next_part(rest, rows, view, {*banned, *parts}, allowed)
        if part is None or (rows & view.present[:, part]).sum() < MIN_ROWS:
            return
        parts.append(part)
        rows = rows & view.present[:, part]
        exponents, constant = least_deviations(logs[rows][:, parts], goal[rows], 1e-3)
        left = goal[rows] - logs[rows][:, parts] @ exponents - constant
        whole = np.rint(exponents).astype(np.int64)
        near = (np.abs(whole - exponents) <= MARGIN).all() and (np.abs(whole) <= MAX_EXPONENT).all()
        if near and np.median(np.abs(left)) <= CLOSE and whole.any():
            pairs = sorted((p, int(e)) for p, e in zip(parts, whole, strict=True) if e)
            yield tuple(p for p, _ in pairs), tuple(e for _, e in pairs)
        spread = max(4 * float(np.median(np.abs(left))), float(np.quantile(np.abs(left), 0.98)), 1e-12)
        rest = np.zeros(len(goal))
        rest[rows] = np.clip(left, -spread, spread) / spread


def _checked(
    target: int, parts: Sequence[int], exponents: Sequence[int], factors: Factors, search: Search
) -> Candidate | None:
    """The product with the best constant and rounding; None if it divides by 100 - x."""
    numbers = search.numbers
    up = [p for p, e in zip(parts, exponents, strict=True) for _ in range(e)]
    down = [p for p, e in zip(parts, exponents, strict=True) for _ in range(-e)]
    own = numbers.matrix[:, target]
    if not up or any(factors.sources[p][2] for p in down):
        return None

    def plain(matrix: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(factors.columns(matrix, up).prod(1) / factors.columns(matrix, down).prod(1))

    seen, step = search.rows[0], numbers.step(target)
    slacks = [0.501 * step, 1.001 * step] if numbers.decimals[target] is not None else []  # also rounded down or up
    shares = [1e-9] * len(slacks) + [1e-6] * (numbers.is_short(target) or not slacks)
    constant = _constant(own[seen], plain(numbers.matrix[seen]), [*zip([*slacks, 0.0], shares, strict=False)])
    if not constant or (len(up) + len(down) == 1 and float(divisor_of(constant)).is_integer()):
        return None  # a column times a short number is found by `find_product`
    names = [[numbers.names[p] for p in side if p < len(numbers.names)] for side in (up, down)]
    shifted = [(factors.sources[p][1], factors.sources[p][2], numbers.names[factors.sources[p][0]])
               for p in up if factors.sources[p][2]]  # fmt: skip
    law = Product(
        target=numbers.names[target],
        factor=constant,
        factors=tuple(names[0]),
        divisors=tuple(names[1]),
        shifted=tuple(shifted),
    )
    return checked_in_32_bits(law, target, lambda matrix: scaled(plain(matrix), constant), search)


def _constant(own: Floats, value: Floats, slacks: Sequence[tuple[float, float]]) -> float:
    """The shortest constant, or inverse of one, that matches nearly all results, for each slack in turn."""
    there = np.isfinite(own) & np.isfinite(value) & (own > 0) & (value > 0)
    if there.sum() < MIN_ROWS:
        return 0.0
    own, value = own[there], value[there]
    middle = float(np.median(own / value))
    for step, share in slacks:
        slack = step + share * own
        for digits in range(1, MAX_DIGITS + 1):
            for inverse in (False, True)[: 1 + (middle < 1)]:
                short = float(f"{1 / middle if inverse else middle:.{digits}g}")
                if short and np.mean(np.abs((value / short if inverse else value * short) - own) <= slack) >= 0.9:
                    return 1 / short if inverse else short
    return 0.0
