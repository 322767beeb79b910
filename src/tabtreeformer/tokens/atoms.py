"""A numeric column as atoms and intervals: values that repeat keep their own id, the rest share ids of equal mass.

Plain quantiles smear a value that many rows have (the zeros of a count) over its neighbours. Here any value that fills
an id by itself is an atom and comes back exactly; values between atoms are cut into intervals of about equal mass and
come back as a draw inside them, on the column's own grid of decimals. A bin is a run of ids, so that an id lies in one
bin only, and a bin allows a run of ids only.

With a `rare_floor` every id stands for at least so many rows, and no end of an interval is the value of a row
(`support.py`).

Shapes: `N` values, `Q` ids, `K` bins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..config import TokenConfig
from ..schema.numbers import count_decimals
from ..support import intervals
from .layout import Kind, Slot
from .numeric import Floats, Ids, fit_edges, grid_point, settled, whole_numbers

FEW_IDS = 16
"""Up to this many ids a column needs no bins."""
ODD = 20
"""One value in so many may have more decimals than the others, if a floor protects it."""


@dataclass(frozen=True)
class AtomCodec:
    """Fitted state of one numeric column."""

    lows: Floats
    highs: Floats
    """Smallest and largest value of each id, ascending; equal for an atom."""
    bin_starts: tuple[int, ...]
    """First id of each bin; empty where there are no bins."""
    low: float | int
    high: float | int
    """Smallest and largest value seen; whole numbers stay whole, however large."""
    decimals: int | None
    protected: bool = False
    """Whether the ends of intervals lie beside the grid; `low` and `high` then follow from them."""

    @classmethod
    def learn(cls, series: pd.Series, config: TokenConfig) -> AtomCodec:
        """Find atoms, intervals and bins."""
        if config.rare_floor > 1:
            return cls._protected(series, config)
        values = series.to_numpy(dtype=np.float64)
        distinct, counts = np.unique(values, return_counts=True)
        starts = _id_starts(counts, config.quantiles)
        ends = np.append(starts[1:], len(distinct)) - 1
        whole = int if pd.api.types.is_integer_dtype(series.dtype) else float
        return cls(
            lows=distinct[starts],
            highs=distinct[ends],
            bin_starts=_bin_starts(values, (distinct[starts] + distinct[ends]) / 2, config),
            low=whole(series.min()),
            high=whole(series.max()),
            decimals=0 if whole is int else count_decimals(values),
        )

    @classmethod
    def _protected(cls, series: pd.Series, config: TokenConfig) -> AtomCodec:
        """Find them so that each id stands for enough rows."""
        values = series.to_numpy(dtype=np.float64)
        whole = pd.api.types.is_integer_dtype(series.dtype)
        decimals = 0 if whole else grid_decimals(values, config.rare_floor)
        rounded = values if decimals is None else np.round(values, decimals)
        distinct, counts = np.unique(rounded, return_counts=True)
        lows, highs = intervals(distinct, counts, floor=config.rare_floor, most=config.quantiles, decimals=decimals)
        starts = _bin_starts(np.clip(values, lows[0], highs[-1]), (lows + highs) / 2, config)
        return cls._between(lows, highs, starts, decimals, whole=whole)

    @classmethod
    def _between(
        cls, lows: Floats, highs: Floats, starts: tuple[int, ...], decimals: int | None, *, whole: bool
    ) -> AtomCodec:
        """A codec whose smallest and largest value are the outermost grid points inside its intervals."""
        low: float | int = float(lows[0])
        high: float | int = float(highs[-1])
        if decimals is not None:
            low, high = (float(end[0]) for end in _grid_points(lows[:1], highs[-1:], decimals))
        if whole:
            low, high = int(low), int(high)
        return cls(lows, highs, starts, low, high, decimals, protected=True)

    @property
    def widths(self) -> Floats:
        """The stretch of numbers that each id stands for; 1 for an atom."""
        step = 0.0 if self.decimals is None or self.protected else 10.0**-self.decimals
        return np.where(self.lows == self.highs, 1.0, self.highs - self.lows + step)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Ids of the bin slot, if there is one, and of the id slot."""
        return (len(self.bin_starts), len(self.lows)) if self.bin_starts else (len(self.lows),)

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """First id and the id after the last of each bin."""
        return (
            tuple(zip(self.bin_starts, (*self.bin_starts[1:], len(self.lows)), strict=True)) if self.bin_starts else ()
        )

    @property
    def atoms(self) -> frozenset[int]:
        """Ids of a single value."""
        return frozenset(np.flatnonzero(self.lows == self.highs).tolist())

    def slots(self, column: int) -> tuple[Slot, ...]:
        """The bin, if there are bins, and the id."""
        ids = Slot(Kind.QUANTILE, column, len(self.lows), self.ranges, self.atoms)
        return (Slot(Kind.BIN, column, len(self.bin_starts)), ids) if self.bin_starts else (ids,)

    def encode(self, series: pd.Series) -> Ids:
        """Values (N,) → ids (N, 1 or 2); a value between two ids takes the nearer one."""
        borders = self.highs[:-1] / 2 + self.lows[1:] / 2
        ids: Ids = np.searchsorted(borders, series.to_numpy(dtype=np.float64), side="left").astype(np.int64)
        if not self.bin_starts:
            return ids[:, None]
        return np.column_stack([np.searchsorted(np.array(self.bin_starts), ids, side="right") - 1, ids])

    def decode(self, ids: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Ids (N, 1 or 2) → values (N,)."""
        values: Floats
        last = ids[:, -1]
        low, high = self.lows[last], self.highs[last]
        values = low + rng.random(len(ids)) * (high - low)
        if self.decimals is not None and (high - low).max(initial=0) * 10.0**self.decimals < 2**40:
            first, last = _grid_counts(low, high, self.decimals)
            drawn = grid_point(first + np.floor(rng.random(len(ids)) * (last - first + 1)), self.decimals)
            values = np.where(high > low, np.clip(drawn, low, high), low)
        if isinstance(self.low, int):
            return whole_numbers(values, self.low, int(self.high))
        return values

    def settle(self, values: NDArray[Any], *, up: bool) -> Any:
        """Move numbers to the nearest that the column may hold, upwards or downwards."""
        return settled(values, self, up=up)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = {
            "lows": self.lows.tolist(),
            "highs": self.highs.tolist(),
            "bin_starts": list(self.bin_starts),
            "decimals": self.decimals,
        }
        if self.protected:
            return plain | {"whole": isinstance(self.low, int)}
        return plain | {"low": self.low, "high": self.high}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> AtomCodec:
        """Inverse of `to_json`."""
        arrays = {name: np.array(data[name], dtype=np.float64) for name in ("lows", "highs")}
        if "whole" in data:
            starts = tuple(data["bin_starts"])
            return cls._between(arrays["lows"], arrays["highs"], starts, data["decimals"], whole=data["whole"])
        return cls(**{**data, **arrays, "bin_starts": tuple(data["bin_starts"])})


def grid_decimals(values: Floats, floor: int) -> int | None:
    """Decimals of a protected column's grid, which fewer rows than the floor do not make finer."""
    return count_decimals(values, spare=min(floor - 1, len(values) // ODD))


def _grid_counts(low: Floats, high: Floats, decimals: int) -> tuple[Floats, Floats]:
    """Steps of the first and last grid point inside each interval; its ends lie on the grid or half a step beside."""
    scale = 10.0**decimals
    first, last = np.ceil(np.round(low * scale, 3)), np.floor(np.round(high * scale, 3))
    return first, np.maximum(first, last)


def _grid_points(low: Floats, high: Floats, decimals: int) -> tuple[Floats, Floats]:
    first, last = _grid_counts(low, high, decimals)
    return grid_point(first, decimals), grid_point(last, decimals)


def _id_starts(counts: Ids, most: int) -> Ids:
    """Where each id starts among the distinct values: every value alone if they are few, else atoms and intervals."""
    if len(counts) <= most:
        return np.arange(len(counts))
    mass = counts.sum() / most
    atom = counts >= mass
    starts: list[int] = []
    place = 0
    while place < len(counts):
        if atom[place]:
            starts.append(place)
            place += 1
            continue
        stop = place + int(np.argmax(np.append(atom[place:], True)))
        below = np.cumsum(counts[place:stop])
        pieces = max(1, round(below[-1] / mass))
        # The value at which each share of the stretch's rows begins; a value never lies in two pieces.
        cuts = np.searchsorted(below, below[-1] * np.arange(pieces) / pieces, side="right")
        starts += (place + np.unique(cuts)).tolist()
        place = stop
    return np.array(starts, dtype=np.int64)


def _bin_starts(values: Floats, centres: Floats, config: TokenConfig) -> tuple[int, ...]:
    """Runs of ids by k-means bin of their centres; none where ids are few."""
    if len(centres) <= FEW_IDS or config.bins == 1:
        return ()
    edges = fit_edges(values, config.bins, "kmeans", config.percentile_method)
    bins = np.searchsorted(edges[1:-1], centres, side="right")
    starts = np.flatnonzero(np.append(True, np.diff(bins) > 0))
    return tuple(int(start) for start in starts)
