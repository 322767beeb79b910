"""The grain of a number: how people round it, expressed as shares of steps.

Prices are mostly whole thousands, some are given to the hundred, few to the dollar; fares come in half dollars, retail
prices end in .99, times are multiples of five minutes. Values inside an interval are drawn from a mixture: a step is
chosen by its share, then one of its multiples inside the interval. Only the shares are learned, over long runs of
intervals: no value is stored. Everything is counted in units of the column's last decimal, as 64-bit integers, so that
nothing is lost beyond 2^53.

Shapes: `N` values, `S` steps, `R` ranges of ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

MAX_STEPS = 10
MIN_GAIN = 12.0
"""Minimum gain from an additional step, in nats."""
MIN_SHARE, MIN_ENDING = 0.005, 0.02
"""… and minimum share of rows that it explains; likewise for an ending such as .99."""
SEARCHED, FITTED = 4_000, 20_000
"""Maximum rows for finding steps, and for fitting shares."""
ROWS_PER_RANGE, MAX_RANGES = 400, 8
"""Shares are fitted per range of ids: minimum rows of a range, and maximum ranges."""
PRIOR_ROWS = 20.0
"""Weight, in rows, of the whole column's shares when fitting those of a range."""
MANTISSAS = (10, 20, 25, 50)
CLOCK = (12, 15, 24, 30, 60, 120, 300, 600, 900, 1800, 3600)
"""Steps from clocks and dozens, for whole numbers."""
ENDINGS = (10, 100, 1000)
"""Steps whose remainder many values may share, e.g. 99 modulo 100; longer remainders would reveal values."""
MAX_COUNT = 2**62
LARGEST_FLOAT = 2**53
"""Beyond this, a float cannot represent every whole number."""


@dataclass(frozen=True)
class Grain:
    """Steps in units of the last decimal, and how often each is used in each range of ids."""

    steps: tuple[int, ...]
    offsets: tuple[int, ...]
    """Remainder of values divided by their step: 99 for prices that end in .99."""
    starts: tuple[int, ...]
    """First id of each range."""
    shares: tuple[tuple[float, ...], ...]
    """One line per range, one share per step."""

    @classmethod
    def learn(
        cls, counts: Counts, ids: Counts, first: Counts, last: Counts, *, whole: bool, floor: int
    ) -> Grain | None:
        """Find the steps of values (N,) in the intervals of their ids; None if the last decimal is the only step.

        `first` and `last` are the ends of each id's interval, in counts; values of atoms must be excluded beforehand.
        """
        largest = np.abs(counts).max(initial=0)
        if len(counts) < max(10 * floor, 50) or largest > MAX_COUNT:
            return None
        few = _some(len(counts), SEARCHED)
        steps = _search(counts[few], first[ids[few]], last[ids[few]], whole=whole)
        if len(steps) < 2:  # every number is equally likely, but beyond 2^53 floats cannot represent odd ones
            return cls((1,), (0,), (0,), ((1.0,),)) if largest > LARGEST_FLOAT else None
        some = _some(len(counts), FITTED)
        counts, ids = counts[some], ids[some]
        density, fits = _densities(counts, first[ids], last[ids], steps)
        overall = _shares(density, fits, np.full(len(steps), 1 / len(steps)), 0.0)
        starts = _starts(ids)
        ranges = np.searchsorted(starts, ids, side="right") - 1
        shares = []
        for k in range(len(starts)):
            own = ranges == k
            shares.append(_shares(density[own], fits[own], overall, PRIOR_ROWS))
        kept = [k for k in range(len(steps)) if max(line[k] for line in shares) > 1e-6]
        lines = tuple(tuple(round(float(line[k]), 6) for k in kept) for line in shares)
        return cls(tuple(steps[k][0] for k in kept), tuple(steps[k][1] for k in kept), tuple(starts.tolist()), lines)

    def draw(self, ids: Counts, first: Counts, last: Counts, rng: np.random.Generator) -> Counts:
        """Draw one count from first to last (N,) for each id; any count if no step has a multiple there."""
        shares = np.array(self.shares)[np.searchsorted(np.array(self.starts), ids, side="right") - 1]  # (N, S)
        starts, sizes = _multiples(first, last, self._steps)
        weights = np.where(sizes > 0, shares + 1e-12, 0.0)
        ends = np.cumsum(weights, axis=1)
        chosen = (rng.random(len(ids))[:, None] * ends[:, -1:] >= ends).sum(1)
        chosen = np.minimum(chosen, len(self.steps) - 1)
        rows = np.arange(len(ids))
        inside = np.minimum(
            np.floor(rng.random(len(ids)) * sizes[rows, chosen]).astype(np.int64), sizes[rows, chosen] - 1
        )
        steps, offsets = np.array(self.steps, dtype=np.int64)[chosen], np.array(self.offsets, dtype=np.int64)[chosen]
        drawn = (starts[rows, chosen] + inside) * steps + offsets
        anywhere = first + np.floor(rng.random(len(ids)) * (last - first + 1).astype(np.float64)).astype(np.int64)
        return np.asarray(np.where(weights.any(axis=1), drawn, np.minimum(anywhere, last)))

    @property
    def _steps(self) -> list[tuple[int, int]]:
        return list(zip(self.steps, self.offsets, strict=True))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        shares = [list(line) for line in self.shares]
        return {"steps": list(self.steps), "offsets": list(self.offsets), "starts": list(self.starts), "shares": shares}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Grain:
        """Inverse of `to_json`; unusable shares and steps are rejected."""
        steps, offsets, starts = (tuple(int(i) for i in data[name]) for name in ("steps", "offsets", "starts"))
        shares = tuple(tuple(float(share) for share in line) for line in data["shares"])
        sound = len(steps) == len(offsets) and len(starts) == len(shares) > 0 and starts[0] == 0
        sound = sound and all(0 < step <= MAX_COUNT for step in steps)
        if not sound or any(len(line) != len(steps) or not all(0 <= s <= 1 for s in line) for line in shares):
            raise ValueError("the grain of a number has invalid steps or shares")
        return cls(steps, offsets, starts, shares)


def _some(n_rows: int, most: int) -> Counts:
    """Evenly spaced rows."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.int64))


def _starts(ids: Counts) -> Counts:
    """First ids of ranges with about the same, and a sufficient, number of rows."""
    enough = len(ids) / int(np.clip(len(ids) // ROWS_PER_RANGE, 1, MAX_RANGES))
    starts, rows = [0], 0
    for place, own in enumerate(np.bincount(ids).tolist()):
        if rows >= 0.9 * enough:
            starts.append(place)
            rows = 0
        rows += own
    if rows < 0.5 * enough and len(starts) > 1:
        starts.pop()
    return np.array(starts, dtype=np.int64)


# ---- the mixture


def _multiples(first: Counts, last: Counts, steps: list[tuple[int, int]]) -> tuple[Counts, Counts]:
    """For each interval and step: the first multiple inside, in steps, and the number of multiples; (N, S) each."""
    lows = np.stack([-((offset - first) // step) for step, offset in steps], axis=1)
    highs = np.stack([(last - offset) // step for step, offset in steps], axis=1)
    return lows, np.maximum(highs - lows + 1, 0)


def _densities(
    counts: Counts, first: Counts, last: Counts, steps: list[tuple[int, int]]
) -> tuple[Floats, NDArray[np.bool_]]:
    """Probability of each value under each step, and which steps have a multiple in its interval; (N, S) each."""
    first, last = np.minimum(first, counts), np.maximum(last, counts)  # rows slightly outside count as inside
    sizes = _multiples(first, last, steps)[1]
    hits = np.stack([(counts - offset) % step == 0 for step, offset in steps], axis=1)
    return np.where(hits, 1.0 / np.maximum(sizes, 1), 0.0), sizes > 0


def _shares(density: Floats, fits: NDArray[np.bool_], start: Floats, prior: float) -> Floats:
    """Maximum-likelihood shares of the steps; steps without a multiple have no share."""
    shares = np.maximum(start, 1e-9)
    for _ in range(60):
        weights = np.where(fits, shares, 0.0)
        weights = weights / np.maximum(weights.sum(1, keepdims=True), 1e-300)
        likely = weights * density
        likely = likely / np.maximum(likely.sum(1, keepdims=True), 1e-300)
        # A share grows if more values belong to its step than would be drawn from it.
        grown = shares * (likely.sum(0) + prior * start) / np.maximum(weights.sum(0) + prior * shares, 1e-300)
        grown /= grown.sum()
        if np.abs(grown - shares).max() < 1e-6:
            break
        shares = grown
    return np.asarray(shares)


# ---- finding the steps


def _search(counts: Counts, first: Counts, last: Counts, *, whole: bool) -> list[tuple[int, int]]:
    """Steps that make the values more likely: the last decimal, then the others, best first."""
    steps = [(1, 0)]
    options = _candidates(counts, first, last, whole=whole)
    if not options:
        return steps
    columns, fits = _densities(counts, first, last, [(1, 0), *options])
    shares = np.ones(1)
    while options and len(steps) < MAX_STEPS:
        used = [0, *(1 + options.index(step) for step in steps[1:])]
        weights = np.where(fits[:, used], shares, 0.0)
        now = (columns[:, used] * weights).sum(1) / np.maximum(weights.sum(1), 1e-300)
        best, gained = -1, MIN_GAIN
        for place in range(len(options)):
            # Only intervals that contain a multiple say anything about a step; narrow ones mostly contain none.
            own = fits[:, 1 + place]
            if 1 + place in used or not own.any():
                continue
            gain, share = _gain(now[own], columns[own, 1 + place])
            if gain > gained and share * own.mean() >= MIN_SHARE:
                best, gained = place, gain
        if best < 0:
            break
        steps.append(options[best])
        used.append(1 + best)
        shares = _shares(columns[:, used], fits[:, used], np.full(len(used), 1 / len(used)), 0.0)
    return steps


def _gain(now: Floats, density: Floats) -> tuple[float, float]:
    """Gain in log-likelihood from an additional step, in nats, and its share."""
    share = 0.3
    for _ in range(12):
        likely = share * density
        share = float(np.mean(likely / np.maximum(likely + (1 - share) * now, 1e-300)))
    return float(np.log(np.maximum(1 - share + share * density / np.maximum(now, 1e-300), 1e-300)).sum()), share


def _candidates(counts: Counts, first: Counts, last: Counts, *, whole: bool) -> list[tuple[int, int]]:
    """Steps with more multiples among the values than expected by chance, and endings that many values share."""
    reach = float(np.quantile(last - first + 1, 0.9)) * 10
    steps = [m * 10**k // 10 for k in range(19) for m in MANTISSAS if m * 10**k % 10 == 0]
    steps = sorted({*steps, *(CLOCK if whole else ())} - {1})
    found: list[tuple[int, int]] = []
    for step in steps:
        if step > max(reach, 2):
            break
        if np.mean(counts % step == 0) > max(MIN_SHARE, 1.2 / step):
            found.append((step, 0))
        if step in ENDINGS:
            found += _endings(counts, step)
    return found


def _endings(counts: Counts, step: int) -> list[tuple[int, int]]:
    """Endings other than zeros that many values share, such as .99."""
    ends, rows = np.unique(counts % step, return_counts=True)
    order = np.argsort(-rows, kind="stable")[:4]
    usual = [(step, int(ends[k])) for k in order if ends[k] and rows[k] > max(MIN_ENDING, 2 / step) * len(counts)]
    return [(own, end) for own, end in usual if not any(end % (own // k) == 0 and own % k == 0 for k in (2, 4, 5, 10))]
