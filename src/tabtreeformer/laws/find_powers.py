"""Finds products of powers: `area = side * side`, `bmi = weight / height / height`, `volume = length * width * height`.

Logarithms of positive numbers add up: columns are added one by one, fitted by least absolute deviations, and their
exponents rounded to whole numbers. The result is checked to the last decimal, as all products are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .find_linear import Columns, least_deviations, next_part, standardized
from .find_product import judged_stored, nearest_constant
from .product import Product, scaled
from .search import Candidate, Search

Floats = NDArray[np.float64]

ROWS = 1_000
"""Rows that exponents are fitted on."""
MAX_PARTS, MAX_EXPONENT = 4, 3
MIN_VALUES = 10
MIN_POSITIVE = 0.5
"""Minimum share of rows in which a column is above 0; exponents are fitted on those."""
MARGIN = 0.06
"""Maximum distance of a fitted exponent from a whole number."""
CLOSE = 0.02
"""Maximum median distance of the logarithms for a product."""


def find(search: Search) -> Sequence[Candidate]:
    """Products with a square or with more than two columns."""
    numbers = search.numbers
    some = search.rows[0][:: max(1, len(search.rows[0]) // ROWS)]
    matrix = numbers.matrix[some]
    with np.errstate(invalid="ignore"):
        positive = (matrix > 0).sum(0) >= MIN_POSITIVE * np.maximum((~np.isnan(matrix)).sum(0), 1)
        logs = np.log(np.where(matrix > 0, matrix, np.nan))
    useful = np.flatnonzero((numbers.distinct >= MIN_VALUES) & positive)
    if not len(useful):
        return []
    view = standardized(logs)
    found = []
    for target in useful:
        for parts, exponents in _fits(int(target), useful, view, logs):
            candidate = _checked(int(target), parts, exponents, search)
            if candidate is not None:
                found.append(candidate)
                break
    return sorted(found, key=lambda c: -c.bits)


def _fits(
    target: int, useful: NDArray[np.int64], view: Columns, logs: Floats
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Columns with whole exponents whose product is a constant away from the target."""
    goal, parts = logs[:, target], list[int]()
    rest, rows = np.clip(view.scaled[:, target], -4, 4), view.present[:, target].copy()
    while len(parts) < min(MAX_PARTS, len(useful) - 1):
        part = next_part(rest, rows, view, {target, *parts}, useful)
        if part is None or (rows & view.present[:, part]).sum() < 50:
            return
        parts.append(part)
        rows = rows & view.present[:, part]
        exponents, constant = least_deviations(logs[rows][:, parts], goal[rows], 1e-3)
        left = goal[rows] - logs[rows][:, parts] @ exponents - constant
        whole = np.rint(exponents).astype(np.int64)
        near = (np.abs(whole - exponents) <= MARGIN).all() and (np.abs(whole) <= MAX_EXPONENT).all()
        if near and np.median(np.abs(left)) <= CLOSE and np.abs(whole).sum() > 1 and whole.any():
            pairs = sorted((p, int(e)) for p, e in zip(parts, whole, strict=True) if e)
            yield tuple(p for p, _ in pairs), tuple(e for _, e in pairs)
        spread = max(4 * float(np.median(np.abs(left))), float(np.quantile(np.abs(left), 0.98)), 1e-12)
        rest = np.zeros(len(goal))
        rest[rows] = np.clip(left, -spread, spread) / spread


def _checked(target: int, parts: Sequence[int], exponents: Sequence[int], search: Search) -> Candidate | None:
    """The product with the constant and the rounding that most rows keep; None if it is a product of two columns."""
    numbers = search.numbers
    up = [p for p, e in zip(parts, exponents, strict=True) for _ in range(e)]
    down = [p for p, e in zip(parts, exponents, strict=True) for _ in range(-e)]
    if not up or (len(up) + len(down) == 2 and len({*up, *down}) == 2):
        return None
    own = numbers.matrix[:, target]

    def plain(matrix: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(matrix[:, up].prod(1) / matrix[:, down].prod(1))

    with np.errstate(all="ignore"):
        ratio = own / plain(numbers.matrix)
        constant = float(nearest_constant(np.array([np.median(ratio[np.isfinite(ratio) & (own != 0)])]))[0])
    if not constant:
        return None
    factors, divisors = (tuple(numbers.names[p] for p in own) for own in (up, down))
    law = Product(target=numbers.names[target], factor=constant, factors=factors, divisors=divisors)
    return judged_stored(law, target, lambda matrix: scaled(plain(matrix), constant), search)
