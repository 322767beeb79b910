"""Finds products, quotients, percentages and conversions of units.

Candidates come from a few rows (the median ratio to another column or pair must be a short number). They are then
checked to the last decimal in all search rows. A percentage follows exactly from its parts, but a part does not follow
exactly from a rounded percentage. Since only exact results are kept, the decimals of the columns decide which one is
computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..data.schema.values import stored_in_32_bits
from .bits import BITS_PER_TERM
from .computed import Computed
from .grid import tolerance
from .linear import Linear
from .product import DOWN, HALF_UP, NEAREST, UP, Product, Rounded, is_tie, rounded, scaled
from .search import Candidate, Numbers, Search

Floats = NDArray[np.float64]

PROBES = 60
MIN_VALUES, MIN_FACTOR_VALUES = 10, 2
MIN_SHARE = 0.9
MIN_ROWS = 50
CONSTANTS = (1.0, 100.0, 0.01, 1000.0, 0.001, 10_000.0, 1e-4, 60.0, 3600.0, 12.0, 365.0, 1e6, 0.5, np.pi)
"""Factors tried with products of two columns."""
MAX_COLUMNS = 80
"""Maximum number of columns for the search in pairs; more would take minutes."""


def find(search: Search) -> Sequence[Candidate]:
    """Find products of two columns, and columns times a constant."""
    found = [*_scaled(search), *_pairs(search)]
    return sorted(found, key=lambda c: -c.bits)


# ---- one column times a constant, plus another


def _scaled(search: Search) -> Iterator[Candidate]:
    numbers = search.numbers
    many = np.flatnonzero(numbers.distinct >= MIN_VALUES)
    if len(many) < 2:
        return
    matrix = numbers.matrix[from_all_over(search.rows[0])]
    for target in search.targets(many):
        for source in many:
            if source != target and _straight(matrix[:, target], matrix[:, source], numbers.step(int(target))):
                law = _conversion(int(target), int(source), search)
                if law is not None:
                    yield law


def _straight(target: Floats, source: Floats, step: float) -> bool:
    """Whether a few rows are on a straight line, up to rounding, other than the identity."""
    there = np.flatnonzero(~np.isnan(target) & ~np.isnan(source))[:PROBES]
    if len(there) < MIN_ROWS:
        return False
    x, y = source[there], target[there]
    low, high = np.argmin(x), np.argmax(x)
    if x[low] == x[high]:
        return False
    slope = (y[high] - y[low]) / (x[high] - x[low])
    if slope == 0:
        return False
    left = y - slope * x
    spread = np.abs(left - np.median(left))
    return bool(np.mean(spread <= 2.5 * step + 1e-6 * np.abs(y)) >= 0.9)


def _conversion(target: int, source: int, search: Search) -> Candidate | None:
    """The linear law with short slope and intercept, checked to the last decimal."""
    numbers = search.numbers
    x, y = numbers.matrix[:, source], numbers.matrix[:, target]
    there = ~np.isnan(x) & ~np.isnan(y)
    seen = there[search.rows[0]]
    xs, ys = x[search.rows[0]][seen], y[search.rows[0]][seen]
    slope = _slope(xs, ys)
    decimals = numbers.decimals[target]
    slack = (0.5005 * numbers.step(target) if decimals is not None else 0.0) + 1e-9 * np.abs(ys)
    shifts = [0.0, *_short(float(np.median(ys - slope * xs)), near=3 * numbers.step(target))]
    for constant in dict.fromkeys(shifts):
        for factor in dict.fromkeys(_short(slope)):
            if np.mean(np.abs(ys - factor * xs - constant) <= slack) >= MIN_SHARE:
                if abs(factor) == 1:
                    return None  # a plain sum is found by `find_linear`
                terms = ((factor, numbers.names[source]),)
                law = Linear(target=numbers.names[target], terms=terms, constant=constant)
                digits = len(f"{factor:g}".lstrip("0.")) + (len(f"{constant:g}") if constant else 0)
                straight = partial(_straight_line, source, factor, constant)
                found = checked_in_32_bits(law, target, straight, search)
                return None if found is None else replace(found, bits=found.bits - 0.2 * digits)
    return None


def _straight_line(source: int, factor: float, constant: float, matrix: Floats) -> Floats:
    return scaled(matrix[:, source], factor) + constant


def _slope(x: Floats, y: Floats) -> float:
    """Slope by least squares, refitted on the rows nearest to the line."""
    slope, intercept = np.polyfit(x, y, 1)
    for _ in range(3):
        left = np.abs(y - slope * x - intercept)
        near = left <= np.quantile(left, 0.9)
        if near.sum() < 3 or np.ptp(x[near]) == 0:
            break
        slope, intercept = np.polyfit(x[near], y[near], 1)
    return float(slope)


def _short(value: float, near: float = 0.0) -> Iterator[float]:
    """Short numbers near a fitted one, shortest first: 2, 2.5, 2.54; a sixtieth, five ninths; conversions of units."""
    margin = max(abs(value) * 2e-3, near)
    for digits in range(1, 8):
        short = float(f"{value:.{digits}g}")
        if abs(short - value) <= margin:
            yield short
    for denominator in (3, 6, 7, 9, 12, 24, 30, 52, 60, 365, 1440, 3600, 86_400):
        short = round(value * denominator) / denominator
        if short and abs(short - value) <= margin and round(value * denominator) <= 60:
            yield short
    for known in (0.45359237, 2.20462262, 0.3048, 1.609344, 0.62137119, 3.28084, 10.7639104, 0.09290304, 3.785411784):
        if abs(known - value) <= margin:
            yield known


# ---- two columns


def _pairs(search: Search) -> Iterator[Candidate]:
    numbers = search.numbers
    parts = np.flatnonzero(numbers.distinct >= MIN_FACTOR_VALUES)
    if len(parts) > MAX_COLUMNS:
        parts = parts[np.argsort(-numbers.distinct[parts], kind="stable")[:MAX_COLUMNS]]
    if len(parts) < 2:
        return
    for target in search.targets(np.flatnonzero(numbers.distinct >= MIN_VALUES)):
        probe = numbers.matrix[probe_rows(parts, PROBES, search, int(target))]
        for a, b, divides in _matching(int(target), probe, parts, numbers):
            candidate = _product(int(target), a, b, divides, search)
            if candidate is not None:
                yield candidate


def probe_rows(parts: NDArray[np.int64], n: int, search: Search, target: int | None = None) -> NDArray[np.int64]:
    """Up to `n` rows with the fewest gaps in these columns, from all parts of the table.

    Rows in which the target is 0 or missing come last, because they reveal little about the formula. In a table sorted
    by year, the first rows would all be from one year, in which columns that count from then on are 0.
    """
    seen = from_all_over(search.rows[0])
    matrix = search.numbers.matrix
    last = np.isnan(matrix[np.ix_(seen, parts)]).sum(1)
    if target is not None:
        own = matrix[seen, target]
        last = last + len(parts) * (np.isnan(own) | (own == 0))
    return seen[np.argsort(last, kind="stable")[:n]]


def from_all_over(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same rows, reordered so that the first ones come from all parts of the table."""
    return np.random.default_rng(len(rows)).permutation(rows)


def _matching(
    target: int, probe: Floats, parts: NDArray[np.int64], numbers: Numbers
) -> Iterator[tuple[int, int, bool]]:
    """Pairs whose product or quotient is proportional to the target in the probe rows."""
    own = probe[:, target]
    if np.isnan(own).mean() > 0.9:
        return
    columns = probe[:, parts]  # (P, M)
    with np.errstate(all="ignore"):
        products = columns[:, :, None] * columns[:, None, :]  # (P, M, M)
        quotients = columns[:, :, None] / columns[:, None, :]
        for values, divides in ((products, False), (quotients, True)):
            ratio = own[:, None, None] / values
            ratio = np.where(np.isfinite(ratio) & (np.abs(ratio) > 1e-12), ratio, np.nan)
            known = (~np.isnan(ratio)).sum(0)
            middle = np.nanmedian(np.where(known > 0, ratio, 1.0), axis=0)
            snapped = nearest_constant(middle)
            slack = 0.75 * numbers.step(target) + 1e-6 * np.abs(own)[:, None, None]
            fits = np.abs(values * snapped - own[:, None, None]) <= slack
            there = np.isfinite(values) & ~np.isnan(own)[:, None, None]
            share = (fits & there).sum(0) / np.maximum(there.sum(0), 1)
            hits = np.argwhere((share >= 0.75) & (known >= 10) & (snapped > 0))
            for i, j in hits:
                a, b = int(parts[i]), int(parts[j])
                if target not in (a, b) and a != b and (divides or a < b):
                    yield a, b, divides


def nearest_constant(ratio: Floats) -> Floats:
    """The nearest of the usual factors; 0 if none is near."""
    constants = np.array(CONSTANTS)
    with np.errstate(all="ignore"):
        place = np.abs(np.log(np.where(ratio > 0, ratio, np.nan))[..., None] - np.log(constants))
    place = np.where(np.isnan(place), np.inf, place)
    nearest = place.argmin(-1)
    return np.where(place.min(-1) < 0.05, constants[nearest], 0.0)


def _product(target: int, a: int, b: int, divides: bool, search: Search) -> Candidate | None:
    """The product with the best constant and rounding."""
    numbers = search.numbers
    own = numbers.matrix[:, target]

    def plain(matrix: Floats) -> Floats:
        x, y = matrix[:, a], matrix[:, b]
        with np.errstate(all="ignore"):
            return np.asarray(x / y if divides else x * y)

    with np.errstate(all="ignore"):
        ratios = own / plain(numbers.matrix)
    constant = float(nearest_constant(np.array([np.median(ratios[np.isfinite(ratios) & (own != 0)])]))[0])
    if not constant:
        return None
    names = numbers.names
    law = Product(
        target=names[target],
        factor=constant,
        factors=(names[a],) if divides else (names[a], names[b]),
        divisors=(names[b],) if divides else (),
    )
    return checked_in_32_bits(law, target, lambda matrix: scaled(plain(matrix), constant), search)


def checked_in_32_bits(
    law: Computed, target: int, compute: Callable[[Floats], Floats], search: Search
) -> Candidate | None:
    """What a law saves on held-out rows, computed from the decimal numbers or from their 32-bit floats."""
    numbers = search.numbers

    def values(matrix: Floats) -> Floats:
        value = compute(matrix)
        return np.where(np.isfinite(value), value, np.nan)

    found = [checked_with_rounding(law, target, values(numbers.matrix), search)]
    if numbers.is_short(target):
        single = stored_in_32_bits(values(numbers.stored(target)))
        found.append(checked(replace(law, in_32_bits=True), target, single, search))
    return max(filter(None, found), key=lambda c: (c.exact, c.share), default=None)


def checked_with_rounding(law: Computed, target: int, value: Floats, search: Search) -> Candidate | None:
    """What a law saves on held-out rows, with the rounding that most rows obey."""
    own, decimals = search.numbers.matrix[:, target], search.numbers.decimals[target]
    known = ~np.isnan(own) & ~np.isnan(value)
    if not isinstance(law, Rounded) or decimals is None or not known.any():
        return checked(law, target, value, search)
    goal, found = own[known], value[known]
    shares = {way: float(np.mean(rounded(found, decimals, way) == goal)) for way in (NEAREST, HALF_UP, DOWN, UP)}
    best = max(shares, key=lambda way: shares[way])
    results = rounded(value, decimals, best)
    if best in (NEAREST, HALF_UP):
        results = np.where(is_tie(own, value, decimals), own, results)
    return checked(replace(law, rounding=best), target, results, search)


def checked(law: Computed, target: int, value: Floats, search: Search) -> Candidate | None:
    """What a law saves on held-out rows."""
    numbers, held = search.numbers, search.rows[1]
    own = numbers.matrix[:, target]
    there = ~np.isnan(own) & ~np.isnan(value)
    decimals = numbers.decimals[target]
    on_grid = value if decimals is None else np.round(value, decimals)
    obeys = there & (np.abs(own - on_grid) <= tolerance(in_32_bits=law.in_32_bits) * np.abs(own))
    share = float(obeys[held].sum() / max(there[held].sum(), 1))
    if there.sum() < MIN_ROWS or share < MIN_SHARE or not _moves(law, obeys, own, search):
        return None
    exact = bool((obeys == there).all())
    left = np.where(obeys, 0.0, own - on_grid)
    bits = search.bits[numbers.names[target]]
    rest = search.length(np.where(there, left, np.nan), numbers.step(target))
    saved = (bits - rest) * float(there.mean()) - BITS_PER_TERM * 3 / len(held)
    if saved < 0.5:
        return None
    return Candidate(replace(law, exact=exact), saved, exact, share)


def _moves(law: Computed, obeys: NDArray[np.bool_], own: Floats, search: Search) -> bool:
    """Whether the target and every part vary among the rows that keep the law."""
    numbers = search.numbers
    for values in (own, *(numbers.matrix[:, numbers.names.index(name)] for name in law.reads)):
        counts = np.unique(values[obeys], return_counts=True)[1]
        if not len(counts) or counts.sum() - counts.max() < max(20, search.floor):
            return False
    return True
