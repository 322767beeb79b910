"""Finds columns with a shorter description as the difference from another column: `dropoff ~ pickup`, `garage ~ house`.

A difference pays off if two columns are close to each other (times of one event). Mere correlation is left to the
writer: the saving must be large. If differences grow with the columns, a quotient may pay off instead. Numbers that are
equal in many rows, but not close in the others, get a flag and stay unchanged: a difference would lose their rounding
and what else depends on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.schema import DATETIME, TIMEDELTA
from .base import Law, Name
from .bits import BITS_PER_TERM
from .find_clock import clock_columns
from .linear import Linear
from .same import Same
from .search import Candidate, Search
from .share import Share

Floats = NDArray[np.float64]

PROBES = 400
MIN_VALUES = 10
MIN_EQUAL, PEAK = 0.05, 3.0
"""Minimum share of rows in which two columns are equal, ignoring rows with the most common value of either; and minimum
ratio of these rows to those with any other single difference.
"""
MIN_SAVED_COPY, MIN_SAVED_TIME, MIN_SAVED = 1.0, 1.0, 2.5
"""Minimum bits saved by a difference: in the unequal rows if many are equal, for times, and for other numbers."""
MIN_SAVED_SAME = 0.2
"""Minimum bits saved by a flag for equal numbers."""
MAX_OUTSIDE = 0.02
"""For other numbers: maximum share of rows outside the range of the target after differences are shuffled."""
MAX_GROWTH = 0.2
"""… and maximum rank correlation between the size of differences and the columns."""
MIN_COVERED = 0.98
"""In the preferred direction, at least this share of rows has the base and a positive difference."""
MIN_SPAN = 3.0
"""For the base of a quotient: minimum ratio of its largest numbers to its smallest."""
NARROWER = 0.7
"""Only differences whose middle half is this much narrower than the target's are considered."""


@dataclass(frozen=True)
class _Group:
    """Columns of one kind, whose values can be subtracted."""

    names: tuple[Name, ...]
    matrix: Floats
    steps: Floats
    times: bool


def find(search: Search) -> Sequence[Candidate]:
    """Find the differences that pay off for each column, best first."""
    found: list[Candidate] = []
    for group in _groups(search):
        for target in range(len(group.names)):
            found.extend(_of(target, group, search))
    return sorted(_beside_equals(found), key=lambda c: -c.bits)


def _groups(search: Search) -> list[_Group]:
    numbers = search.numbers
    clocks = clock_columns(search)
    many = [i for i, n in enumerate(numbers.names) if numbers.distinct[i] >= MIN_VALUES and n not in clocks]
    steps = np.array([numbers.step(i) for i in many])
    groups = [_Group(tuple(numbers.names[i] for i in many), numbers.matrix[:, many], steps, times=False)]
    sorts: dict[tuple[str, ...], list[Name]] = {}
    for column in search.frame.schema.columns:
        if column.kind in (DATETIME, TIMEDELTA):
            sorts.setdefault((column.kind, column.unit, str(column.zone)), []).append(column.name)
    for names in sorts.values():
        matrix = np.stack([search.frame.floats(name) for name in names], axis=1)
        own = np.array([_grid(column) for column in matrix.T])
        groups.append(_Group(tuple(names), matrix, own, times=True))
    return [group for group in groups if len(group.names) > 1]


def _grid(column: Floats) -> float:
    """The step of a column of integers."""
    there = column[~np.isnan(column)]
    if not len(there) or np.abs(there).max() > 2.0**61:  # differences of such extreme times could overflow
        return 1.0
    steps = np.abs(there - there[0]).astype(np.int64)
    return float(max(int(np.gcd.reduce(steps)), 1))


def _of(target: int, group: _Group, search: Search) -> list[Candidate]:
    """Differences of one column from each other column that pay off."""
    probe = np.linspace(0, len(group.matrix) - 1, min(PROBES, len(group.matrix))).astype(np.int64)
    own = group.matrix[probe, target]
    differences = own[:, None] - group.matrix[probe]
    narrow = _spread(differences) <= NARROWER * _spread(own[:, None])[0]
    equal = np.nanmean(differences == 0, axis=0) >= MIN_EQUAL / 2
    found = []
    for other in np.flatnonzero(narrow | equal):
        if other == target or group.steps[other] < group.steps[target] * 0.99:
            continue  # a finer column would add its own digits to the difference
        found.extend(_checked(target, int(other), group, search))
    return found


def _beside_equals(found: list[Candidate]) -> list[Candidate]:
    """Without differences from a column that something else says more about.

    What is often equal to one column is not learned as a difference from another that saves less; and what is a
    difference from the first is none from the second.
    """
    equal = [(c.law.writes[0], c.law.reads[0], c.bits) for c in found if isinstance(c.law, Same)]
    saved = {(c.law.writes[0], c.law.reads[0]): c.bits for c in found if not isinstance(c.law, Same)}
    kept: list[Candidate] = []
    for candidate in found:
        target, base = candidate.law.writes[0], candidate.law.reads[0]
        better = [own == target and other != base and bits > candidate.bits for own, other, bits in equal]
        through = [own == base and saved.get((target, other), 0.0) >= candidate.bits for own, other, _ in equal]
        if candidate.exact or isinstance(candidate.law, Same) or not (any(better) or any(through)):
            kept.append(candidate)
    return kept


def _spread(columns: Floats) -> Floats:
    with np.errstate(all="ignore"):
        empty = np.isnan(columns).all(0)
        low, high = np.nanquantile(np.where(empty, 0.0, columns), [0.25, 0.75], axis=0)
    return np.where(empty, np.inf, high - low)


def _checked(target: int, other: int, group: _Group, search: Search) -> list[Candidate]:
    """The laws for two columns that save enough: a difference or a share, and that they are often equal.

    Where a difference would lose what people rounded, it is still known how often they are equal.
    """
    own, base = group.matrix[:, target], group.matrix[:, other]
    difference = own - base
    there = ~np.isnan(difference)
    if there.sum() < 50 or there.sum() < 0.5 * (~np.isnan(own)).sum():
        return []
    names = group.names[target], group.names[other]
    if float(np.mean(difference[there] == 0)) == 1.0 and group.times:
        bits = search.length(np.where(there, own - float(np.nanmin(own)), np.nan), group.steps[target])
        return [Candidate(Linear(target=names[0], terms=((1, names[1]),)), bits, True, 1.0)]
    equal = _often_equal(own, base, there)
    if equal > 0.999 and not group.times:
        return []  # a copy, found as a sum of one term
    covered = float(there.sum() / (~np.isnan(own)).sum())
    upward = float(np.mean(difference[there] >= 0))
    weight = (1.0 if covered >= MIN_COVERED else 0.7) * (1.05 if upward >= MIN_COVERED else 1.0)
    first: tuple[Law, float] | None = _difference(names, own, base, equal, group, search)
    found = [first or _ratio(names, own, base, covered, group, search)]
    if equal >= MIN_EQUAL:
        share = float(np.mean(difference[there] == 0))
        saved = (share * search.length(own, group.steps[target]) - _entropy(share)) * covered
        found.append((Same(target=names[0], base=names[1]), saved) if saved >= MIN_SAVED_SAME else None)
    return [Candidate(law[0], law[1] * weight, exact=False) for law in found if law is not None]


def _often_equal(own: Floats, base: Floats, there: NDArray[np.bool_]) -> float:
    """Share of rows in which two columns are equal, ignoring their modes; 0 if other differences are as common."""
    off_mode = there & (own != _mode(own[there])) & (base != _mode(base[there]))
    difference = (own - base)[off_mode]
    equal = int((difference == 0).sum())
    others = np.unique(np.round(difference[difference != 0], 9), return_counts=True)[1]
    if len(difference) < 30 or equal < PEAK * others.max(initial=1):
        return 0.0
    return equal / len(difference)


def _difference(
    names: tuple[Name, Name], own: Floats, base: Floats, equal: float, group: _Group, search: Search
) -> tuple[Linear, float] | None:
    """The difference and its saved bits, if differences of other rows would fit as well."""
    difference, step = own - base, group.steps[group.names.index(names[0])]
    there = ~np.isnan(difference)
    saved = _saved(own, difference, there, step, search)
    if group.times:
        least = MIN_SAVED_TIME
    elif equal >= MIN_EQUAL:  # equality alone pays off, so the unequal rows decide
        least, there = MIN_SAVED_COPY, there & (difference != 0)
        saved = min(saved, _saved(own, difference, there, step, search))
    else:
        least = MIN_SAVED
    if saved < least or not (group.times or _free(own[there], base[there], search)):
        return None
    if not group.times and _has_grain(own[there], step) and not _has_grain(difference[there], step):
        return None
    return Linear(target=names[0], exact=False, terms=((1, names[1]),)), saved


def _ratio(
    names: tuple[Name, Name], own: Floats, base: Floats, covered: float, group: _Group, search: Search
) -> tuple[Share, float] | None:
    """The quotient and its saved bits, for numbers that are not rounded."""
    step = group.steps[group.names.index(names[0])]
    there = ~np.isnan(own - base)
    if group.times or covered < MIN_COVERED or not _spans(base[there]) or np.any(own[there] < 0):
        return None
    if _has_grain(own[there], step) or int((base == 0).sum()):
        return None
    # The step of the quotient that corresponds to the target's step at the median of the base.
    middle = float(np.median(base[there]))
    saved = _saved(own / middle, own / base, there, step / middle, search)
    return (Share(target=names[0], base=names[1]), saved) if saved >= MIN_SAVED else None


def _saved(own: Floats, rest: Floats, there: NDArray[np.bool_], step: float, search: Search) -> float:
    """Held-out bits per row saved by a residual instead of the numbers themselves."""
    if there.sum() < 50:
        return 0.0
    origin = float(np.nanmin(own))
    bits = search.length(np.where(there, own - origin, np.nan), step) - search.length(
        np.where(there, rest, np.nan), step
    )
    return bits * float(there.mean()) - 2 * BITS_PER_TERM / len(search.rows[1])


def _has_grain(values: Floats, step: float) -> bool:
    """Whether numbers were rounded: far more than by chance are multiples of ten or five steps."""
    counts = np.rint(values[values != 0] / step)
    return bool(len(counts) and (np.mean(counts % 10 == 0) > 0.2 or np.mean(counts % 5 == 0) > 0.35))


def _entropy(share: float) -> float:
    return float(-share * np.log2(share) - (1 - share) * np.log2(1 - share)) if 0 < share < 1 else 0.0


def _free(own: Floats, base: Floats, search: Search) -> bool:
    """Whether differences of other rows would fit as well; if they grow with the columns, most do not."""
    rest = own - base
    moved = base + search.rng.permutation(rest)
    outside = float(np.mean((moved < own.min()) | (moved > own.max())))
    grows = _rank_correlation(np.abs(rest - np.median(rest)), base)
    return outside < MAX_OUTSIDE and abs(grows) < MAX_GROWTH


def _spans(base: Floats) -> bool:
    """Whether a column spans orders of magnitude, like amounts and areas and unlike years."""
    low, high = np.quantile(base, [0.05, 0.95])
    return bool(base.min() > 0 and high > MIN_SPAN * low)


def _rank_correlation(left: Floats, right: Floats) -> float:
    ranks = [np.argsort(np.argsort(values)).astype(np.float64) for values in (left, right)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _mode(values: Floats) -> float:
    distinct, counts = np.unique(values, return_counts=True)
    return float(distinct[counts.argmax()])
