"""Numbers, durations and times from noisy histograms: ranges, steps, intervals of about equal mass.

Cells never depend on the rows: octaves of both signs if no range is given, then parts of the octaves inside the range.
Post-processing of noisy counts costs no budget.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...tokens.codecs.atoms import AtomCodec
from .histograms import Histograms, Secret
from .noise import Floats

Ints = NDArray[np.int64]

OCTAVES = range(-40, 64)
"""Range of powers of two; smaller numbers count as zero, larger ones as the largest."""
WHOLE_OCTAVES = range(53)
"""The same for integers; larger ones are not exact as floats."""
PARTS = 16
"""Cells per octave."""
EVEN = 64
"""Number of additional cells that divide the whole range evenly."""
FEW = 256
"""Up to this many possible values get one cell each."""
MAX_IDS = 64
ASTRAY = 1e-4
"""Probability that the range of a column extends to an octave without rows, which would leave it mostly empty."""
THIN = 2.0
"""Maximum rows beyond an end of the range, in standard deviations of the noise."""
DECIMALS = 6
"""Maximum number of decimals; a column with more has no grid."""


@dataclass(frozen=True)
class Learned:
    """A codec, and the noisy count of each of its ids."""

    codec: AtomCodec
    mass: Floats
    missing: float = 0.0
    """Noisy count of missing values."""


def find_range(values: Secret[np.float64], whole: bool, make: Histograms) -> tuple[float, float]:
    """The range of octaves with more rows than noise; one histogram."""
    octaves = WHOLE_OCTAVES if whole else OCTAVES
    centre = len(octaves)

    def cell(numbers: Floats) -> Ints:
        with np.errstate(divide="ignore"):
            place = np.clip(np.floor(np.log2(np.abs(numbers))), octaves[0] - 1, octaves[-1]) - octaves[0] + 1
        place = np.where(numbers == 0, 0, place).astype(np.int64)  # cell 0 is zero, followed by the octaves in order
        return centre + np.where(numbers < 0, -place, place)

    counts, _ = make.count(values.map(cell), 2 * centre + 1)
    seen = np.flatnonzero(counts > make.clear(len(counts), ASTRAY))
    seen = seen if len(seen) else np.array([np.argmax(counts)])
    ends = np.concatenate([-(2.0 ** np.array(octaves)[::-1] * 2), [0.0], 2.0 ** np.array(octaves)])  # lower, with sign
    low = ends[seen[0]] if seen[0] >= centre else ends[seen[0]] + whole
    last = int(seen[-1]) - centre
    high = 0.0 if last == 0 else 2.0 ** octaves[last - 1] * 2 - whole if last > 0 else -(2.0 ** octaves[-last - 1])
    return float(low), float(high)


def find_decimals(values: Secret[np.float64], make: Histograms) -> int | None:
    """Fewest decimals that represent nearly every value; one histogram of the decimals per value."""

    def needs(numbers: Floats) -> Ints:
        found = np.full(len(numbers), DECIMALS + 1)
        for decimals in range(DECIMALS, -1, -1):
            found[np.round(numbers, decimals) == numbers] = decimals
        return found

    counts, _ = make.count(values.map(needs), DECIMALS + 2)
    place = first_clear(counts, make)
    return None if place > DECIMALS else place


def first_clear(counts: Floats, make: Histograms) -> int:
    """The first index after which there are no more rows than noise, or than one row in a hundred."""
    more = counts[::-1].cumsum()[::-1]
    enough = max(make.clear(len(counts)) * np.sqrt(len(counts)), 0.01 * counts.sum())
    return next((k for k in range(len(counts) - 1) if more[k + 1] <= enough), len(counts) - 1)


def learn_number(
    values: Secret[np.float64],
    missing: float | None,
    ends: tuple[float, float],
    decimals: int | None,
    whole: bool,
    most: int,
    make: Histograms,
) -> Learned:
    """Cut a known range into ids of about equal mass; one histogram.

    `missing` is the noisy number of rows without a value; None: it is counted here.
    """
    lows, highs = cells(*ends, decimals)
    borders = highs[:-1] / 2 + lows[1:] / 2
    places = values.map(lambda numbers: np.searchsorted(borders, numbers, side="left").astype(np.int64))
    noisy, gone = make.count(places, len(lows))
    missing = gone if missing is None else missing
    # The number of rows is public, so the noise in the total is subtracted evenly.
    total = make.present(missing)
    noisy += (total - noisy.sum()) / len(noisy)
    first, stop = reach(noisy, make.sigma)
    lows, highs, counts = lows[first:stop], highs[first:stop], smoothed(noisy[first:stop])
    starts, mass = merge(counts, fitting_ids(total, most, make.sigma), lows == highs)
    stops = np.append(starts[1:], len(lows)) - 1
    kind = int if whole else float
    low, high = kind(lows[0]), kind(highs[-1])
    codec = AtomCodec(lows[starts], highs[stops], low=low, high=high, decimals=0 if whole else decimals)
    return Learned(codec, mass, missing)


def reach(counts: Floats, sigma: float) -> tuple[int, int]:
    """First and past-the-last cell such that there are no more rows beyond them than noise."""

    def outer(tail: Floats) -> int:
        sums = np.cumsum(tail)
        return int(np.argmax(sums > THIN * sigma * np.sqrt(np.arange(1, len(tail) + 1))))

    first, last = outer(counts), len(counts) - 1 - outer(counts[::-1])
    return (first, last + 1) if first <= last else (int(np.argmax(counts)), int(np.argmax(counts)) + 1)


def fitting_ids(n_rows: float, most: int, sigma: float) -> int:
    """The number of ids such that each has clearly more rows than noise."""
    return int(np.clip(n_rows / (8 * sigma), 4, min(most, MAX_IDS)))


def cells(low: float, high: float, decimals: int | None) -> tuple[Floats, Floats]:
    """First and last value of each cell of a range, on its grid of decimals if it has one."""
    step = None if decimals is None else 10.0**-decimals
    if step is not None and (high - low) / step < FEW:
        points = np.round(low + step * np.arange(round((high - low) / step) + 1), decimals or 0)
        return points, points
    edges = [np.linspace(low, high, EVEN + 1)]
    for sign in (-1.0, 1.0):
        near = max(sign * low, sign * high, 0.0)
        # Down to the grid, however wide the range is: a code such as 9999999999 must not blur ages.
        least = near * 2.0**-24 if step is None else step / 2
        octaves = [k for k in OCTAVES if least < 2.0**k < near]
        edges += [sign * 2.0**k * np.linspace(1, 2, PARTS + 1) for k in octaves]
    cuts = np.unique(np.concatenate([*edges, [0.0]]))
    cuts = cuts[(cuts >= low) & (cuts <= high)]
    if step is None:
        if low <= 0 <= high:  # exact zeros get their own cell, because they are frequent in counts and amounts
            place = int(np.searchsorted(cuts, 0.0))
            cuts = np.insert(cuts, place, 0.0)
        return cuts[:-1], cuts[1:]
    points = np.unique(np.ceil(np.round(cuts / step, 6)))
    points[-1] += 1  # the end of the range belongs to the last cell
    firsts, lasts = points[:-1], points[1:] - 1
    return np.round(firsts * step, decimals or 0), np.round(lasts * step, decimals or 0)


def smoothed(counts: Floats) -> Floats:
    """Non-negative counts, from isotonic regression of the running total."""
    from sklearn.isotonic import isotonic_regression

    total = isotonic_regression(np.clip(counts.cumsum(), 0, max(counts.sum(), 1.0)))
    return np.diff(np.asarray(total, dtype=np.float64), prepend=0.0)


def merge(counts: Floats, most: int, single: NDArray[np.bool_]) -> tuple[NDArray[np.int64], Floats]:
    """First cell and count of each id: values with enough rows get their own id, others share one."""
    share = counts.sum() / most
    starts, mass, alone = [0], [float(counts[0])], [bool(single[0] and counts[0] >= share)]
    for place in range(1, len(counts)):
        lone = bool(single[place] and counts[place] >= share)
        if lone or alone[-1] or mass[-1] + counts[place] / 2 > share:
            starts.append(place)
            mass.append(float(counts[place]))
            alone.append(lone)
        else:
            mass[-1] += float(counts[place])
    return np.array(starts, dtype=np.int64), np.array(mass)
