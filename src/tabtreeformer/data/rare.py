"""What is backed by enough rows: labels, ranges and intervals that describe no single row.

Everything here is learned from counts: distinct values in ascending order, and the number of rows with each. Rounded
or noisy counts of the same table work too.

A label is kept if `floor` rows have it. A number keeps its own id if `floor` rows have it; all others are described by
the mean and spread of at least `floor` rows. On a grid of decimals, such intervals end half a step off the grid, where
the column can have no value, so an end is never the value of a row.

Shapes: `D` distinct values, `Q` intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[Any]
TYPES = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
LIMITS = (
    -1.0,
    0.0,
    1.0,
    100.0,
    *(float(np.iinfo(whole).min) for whole in TYPES),
    *(float(np.nextafter(float(np.iinfo(whole).max) + 1, 0)) // 1 for whole in TYPES),
    *(side * float(np.finfo(real).max) for side in (-1, 1) for real in (np.float16, np.float32, np.float64)),
)
"""Natural limits of shares, percentages, amounts and number types: no range extends across them."""
WIDEST, NARROWEST = 3.5, 1.5
"""Factor between the ranks of the groups that a tail is estimated from: the maximum, and one too small to use."""
MOST_GROWTH = 0.7
"""Gaps are assumed to shrink outwards by at least this factor, since three small groups estimate heavy tails
poorly."""
OUTERMOST = 0.56
"""Rank at which the outermost row is expected: exp(-γ) with Euler's constant γ."""
LARGEST_GRID = 2.0**50
"""Floats of more steps than this have no half steps between them."""


def kept_labels(counts: Counts, floor: int) -> tuple[NDArray[np.int64], int | None]:
    """Indices of the labels that enough rows have, and the code shared by all others; None if there are no others.

    The others form a group, coded after the kept ones. If even all of them together are too few, they are merged
    into the most common label, so that they have no code of their own.
    """
    kept = np.flatnonzero(counts >= floor)
    if not len(kept) or len(kept) == len(counts):
        return kept, None
    left = counts.sum() - counts[kept].sum()
    return kept, len(kept) if left >= floor else int(np.argmax(counts[kept]))


def supported_range(distinct: Floats, counts: Counts, floor: int) -> tuple[float, float]:
    """Ends with at least `floor` rows on or beyond each: each end is the mean of `floor` rows near it.

    For the `floor` - 1 outermost rows on either side, only their number matters.
    """
    total = float(counts.sum())
    if total < 3 * floor - 2:  # too few rows for two ends: one point, the mean of at least `floor` of them
        half = max(total - 2 * (floor - 1), min(floor, total)) / 2
        middle = _mean_of_ranks(distinct, counts, total / 2 - half, total / 2 + half)
        return middle, middle
    low = _mean_of_ranks(distinct, counts, floor - 1, 2 * floor - 1)
    high = _mean_of_ranks(distinct, counts, total - 2 * floor + 1, total - floor + 1)
    return min(low, high), max(low, high)


def likely_range(distinct: Floats, counts: Counts, floor: int) -> tuple[float, float]:
    """The probable range of the numbers, estimated without the `floor` - 1 outermost rows on either side.

    Supported ranges are narrower than the table's, which affects everything that depends on the range of a column.
    Three groups of rows near each end, at ranks that grow by a constant factor, show how fast the gaps shrink outwards
    (Pickands' tail estimator), and so where to expect the outermost row. An end never crosses one of the `LIMITS`.
    """
    low, high = supported_range(distinct, counts, floor)
    total = float(counts.sum())
    middle = 1.5 * floor  # rank of the outermost group
    factor = min(WIDEST, float(np.sqrt(total / (3 * middle))))
    if factor < NARROWEST:
        return low, high
    ranks = [middle * factor**k for k in range(3)]
    ends = []
    for side, end in ((-1, low), (1, high)):
        means = [end]
        for rank in ranks[1:]:
            start, stop = rank - floor / 2, rank + floor / 2
            means.append(
                _mean_of_ranks(distinct, counts, *((start, stop) if side < 0 else (total - stop, total - start)))
            )
        near, far = abs(means[0] - means[1]), abs(means[1] - means[2])
        growth = min(near / far, MOST_GROWTH) if far > 0 else 0.0
        steps = np.log(middle / OUTERMOST) / np.log(factor)
        reach = growth * (1 - growth**steps) / (1 - growth)
        ends.append(_not_across(end, end + side * near * float(reach)))
    return ends[0], ends[1]


def _not_across(start: float, end: float) -> float:
    """The end, or the first limit between the start and it."""
    crossed = [limit for limit in LIMITS if min(start, end) < limit < max(start, end) or limit == start]
    return min(crossed, key=lambda limit: abs(limit - start), default=end)


def slice_means(values: Floats, floor: int, most: int) -> Floats:
    """Means of up to `most` slices of the sorted values, with at least `floor` rows each and the outermost clipped."""
    distinct, counts = np.unique(values, return_counts=True)
    ordered = np.clip(np.sort(values), *supported_range(distinct, counts, floor))
    slices = np.array_split(ordered, max(1, min(most, len(ordered) // floor)))
    means: Floats = np.array([part.mean() for part in slices])
    return means


def _mean_of_ranks(distinct: Floats, counts: Counts, start: float, stop: float) -> float:
    """Mean of the rows between two ranks, in ascending order."""
    ends = np.cumsum(counts)
    inside = np.clip(np.minimum(ends, stop) - np.maximum(ends - counts, start), 0, None)
    base = distinct[int(np.argmax(inside > 0))]  # sums of large, nearly equal numbers would lose digits
    return float(base + ((distinct - base) * inside).sum() / inside.sum())


def intervals(
    distinct: Floats, counts: Counts, *, floor: int, most: int, decimals: int | None = None
) -> tuple[Floats, Floats]:
    """Ends of about `most` ids (Q,), each with at least `floor` rows; equal ends are a single value.

    A value belongs to the nearest id.
    """
    grid = _Grid.of(distinct, decimals)
    ends = supported_range(distinct, counts, floor)
    inner = np.clip(distinct, *ends)
    groups = _first_cut(counts, floor, most)
    while groups:
        lows, highs = _ends(groups, distinct, inner, counts, ends, grid)
        borders = highs[:-1] / 2 + lows[1:] / 2
        rows = np.bincount(np.searchsorted(borders, distinct, side="left"), weights=counts, minlength=len(groups))
        # An interval left without room or with too few rows is merged with a neighbour.
        crowded = (lows > highs) | np.append(False, lows[1:] <= lows[:-1]) | ((lows == highs) & (grid is not None))
        thin = np.array([not group.atom for group in groups]) & ((rows < floor) | crowded)
        if not thin.any():
            _reach_out(groups, lows, highs, likely_range(distinct, counts, floor), grid)
            return lows, highs
        worst = int(np.argmin(np.where(thin, rows, np.inf)))
        groups = _joined(groups, worst)
    middle = (ends[0] + ends[1]) / 2
    return (np.array([middle]), np.array([middle])) if grid is None else grid.around(middle)


@dataclass(frozen=True)
class _Group:
    """Distinct values from `start` up to, but not including, `stop`; an atom is a single value with its own id."""

    start: int
    stop: int
    atom: bool
    rows: float


@dataclass(frozen=True)
class _Grid:
    """Multiples of a step, and the points halfway between them."""

    decimals: int

    @classmethod
    def of(cls, distinct: Floats, decimals: int | None) -> _Grid | None:
        """The grid with this many decimals, or if that has too many steps, a coarser one that fits all values too."""
        largest = float(np.abs(distinct).max(initial=0))
        while decimals is not None and largest * 10.0**decimals > LARGEST_GRID:
            decimals = decimals - 1 if np.array_equal(np.round(distinct, decimals - 1), distinct) else None
        return None if decimals is None else cls(decimals)

    @property
    def step(self) -> float:
        return float(10.0**-self.decimals)

    def beside(self, value: float) -> float:
        """The point halfway between the two grid points around a value."""
        count = np.floor(np.round(value * 10.0**self.decimals, 6))
        return float(np.round((count + 0.5) / 10.0**self.decimals, self.decimals + 1))

    def around(self, value: float) -> tuple[Floats, Floats]:
        """The points half a step below and above the grid point nearest to a value."""
        point = np.rint(value * 10.0**self.decimals)
        low, high = (np.round((point + side) / 10.0**self.decimals, self.decimals + 1) for side in (-0.5, 0.5))
        return np.array([low]), np.array([high])


def _first_cut(counts: Counts, floor: int, most: int) -> list[_Group]:
    """Values that fill an id by themselves, and the values in between, cut into pieces of about equal mass."""
    mass = max(float(counts.sum()) / most, 1.0)
    atoms = counts >= (floor if len(counts) <= most else max(floor, mass))
    atoms[[0, -1]] = counts[[0, -1]] >= floor  # ends are often special codes or limits: 0, 99, 100 %
    groups: list[_Group] = []
    place = 0
    while place < len(counts):
        if atoms[place]:
            groups.append(_Group(place, place + 1, True, float(counts[place])))
            place += 1
            continue
        stop = place + int(np.argmax(np.append(atoms[place:], True)))
        groups += _pieces(counts, place, stop, max(float(floor), mass))
        place = stop
    groups = [group for group in groups if group.rows >= floor]
    if groups:
        groups = [*_tail(counts, groups[0], floor, -1), *groups[1:]]
        groups = [*groups[:-1], *_tail(counts, groups[-1], floor, 1)]
    return groups


def _tail(counts: Counts, group: _Group, floor: int, side: int) -> list[_Group]:
    """Keep halving the outermost piece outwards (`side`: 1 at the end, -1 at the start) while halves have enough rows.

    Tails thin out: one row in a hundred, spread evenly over the whole range, would be much too far out.
    """
    inner: list[_Group] = []
    while not group.atom:
        below = np.cumsum(counts[group.start : group.stop])
        nearer = int(
            np.searchsorted(below, group.rows / 2, side="left")
        )  # the value at which half of the rows is reached
        cut = group.start + nearer + (side > 0)
        rows = float(counts[group.start : cut].sum())
        if not floor <= rows <= group.rows - floor:
            break
        parts = _Group(group.start, cut, False, rows), _Group(cut, group.stop, False, group.rows - rows)
        near, group = parts if side > 0 else parts[::-1]
        inner.append(near)
    return [*inner, group][::side]


def _pieces(counts: Counts, start: int, stop: int, mass: float) -> list[_Group]:
    """Cut a run of values into pieces of about equal mass; a value is never in two pieces."""
    below = np.cumsum(counts[start:stop])
    n = max(1, int(below[-1] / mass))
    cuts = np.unique(np.searchsorted(below, below[-1] * np.arange(n) / n, side="right"))
    starts = start + cuts
    rows = np.diff(np.append(np.append(0, below)[cuts], below[-1]))
    return [_Group(int(a), int(b), False, float(r)) for a, b, r in zip(starts, [*starts[1:], stop], rows, strict=True)]


def _joined(groups: list[_Group], k: int) -> list[_Group]:
    """Merge a piece with the smaller of its adjacent pieces; a piece without any is dropped."""
    own = groups[k]
    touching = [
        i
        for i in (k - 1, k + 1)
        if 0 <= i < len(groups) and not groups[i].atom and (groups[i].stop == own.start or groups[i].start == own.stop)
    ]
    if not touching:
        return groups[:k] + groups[k + 1 :]
    other = min(touching, key=lambda i: groups[i].rows)
    first, last = sorted((k, other))
    both = _Group(groups[first].start, groups[last].stop, False, own.rows + groups[other].rows)
    return [*groups[:first], both, *groups[last + 1 :]]


def _ends(
    groups: list[_Group], distinct: Floats, inner: Floats, counts: Counts, ends: tuple[float, float], grid: _Grid | None
) -> tuple[Floats, Floats]:
    """Ends of each group: those of a uniform distribution with the mean and standard deviation of its rows."""
    lows, highs = np.empty(len(groups)), np.empty(len(groups))
    means = np.empty(len(groups))
    for k, group in enumerate(groups):
        own = slice(group.start, group.stop)
        if group.atom:
            lows[k] = highs[k] = means[k] = distinct[group.start]
            continue
        values, weights = inner[own], counts[own]
        base = values[0]
        mean = ((values - base) * weights).sum() / weights.sum()
        spread = np.sqrt(3 * ((values - base - mean) ** 2 * weights).sum() / weights.sum())
        means[k] = base + mean
        low, high = max(means[k] - spread, ends[0]), min(means[k] + spread, ends[1])
        if grid is None:
            lows[k], highs[k] = low, high
        else:
            lows[k] = min(grid.beside(low), grid.around(means[k])[0][0])
            highs[k] = max(grid.beside(high), grid.around(means[k])[1][0])
    _part(groups, lows, highs, means, grid)
    return lows, highs


def _reach_out(
    groups: list[_Group], lows: Floats, highs: Floats, reach: tuple[float, float], grid: _Grid | None
) -> None:
    """Extend the outermost intervals to the probable ends of the range, in place."""
    if not groups[0].atom and reach[0] < lows[0]:
        lows[0] = reach[0] if grid is None else grid.beside(reach[0])
    if not groups[-1].atom and reach[1] > highs[-1]:
        highs[-1] = reach[1] if grid is None else grid.beside(reach[1])


def _part(groups: list[_Group], lows: Floats, highs: Floats, means: Floats, grid: _Grid | None) -> None:
    """Move the ends of overlapping neighbours apart, in place."""
    for k in range(len(groups) - 1):
        if groups[k].atom and groups[k + 1].atom:
            continue
        if groups[k].atom:
            nearest = highs[k] + (grid.step / 2 if grid else (means[k + 1] - highs[k]) / 100)
            lows[k + 1] = max(lows[k + 1], nearest)
        elif groups[k + 1].atom:
            nearest = lows[k + 1] - (grid.step / 2 if grid else (lows[k + 1] - means[k]) / 100)
            highs[k] = min(highs[k], nearest)
        elif highs[k] > lows[k + 1]:
            middle = highs[k] / 2 + lows[k + 1] / 2
            highs[k] = lows[k + 1] = middle if grid is None else grid.beside(middle)
