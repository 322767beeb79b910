"""A numeric column as atoms and intervals: values that repeat keep their own id, the rest share ids of equal mass.

Plain quantiles smear a value that many rows have (the zeros of a count) over its neighbours. Here any value that fills
an id by itself is an atom and comes back exactly; values between atoms are cut into intervals of about equal mass and
come back as a draw inside them, on the column's own grid of decimals. A bin is a run of ids, so that an id lies in one
bin only, and a bin allows a run of ids only.

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
from .layout import Kind, Slot
from .numeric import Floats, Ids, fit_edges, grid_point, settled, whole_numbers

FEW_IDS = 16
"""Up to this many ids a column needs no bins."""


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

    @classmethod
    def learn(cls, series: pd.Series, config: TokenConfig) -> AtomCodec:
        """Find atoms, intervals and bins."""
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
            scale = 10.0**self.decimals
            first, steps = np.rint(low * scale), np.rint((high - low) * scale)
            drawn = grid_point(first + np.floor(rng.random(len(ids)) * (steps + 1)), self.decimals)
            values = np.where(steps > 0, np.clip(drawn, low, high), low)
        if isinstance(self.low, int):
            return whole_numbers(values, self.low, int(self.high))
        return values

    def settle(self, values: NDArray[Any], *, up: bool) -> Any:
        """Move numbers to the nearest that the column may hold, upwards or downwards."""
        return settled(values, self, up=up)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "lows": self.lows.tolist(),
            "highs": self.highs.tolist(),
            "bin_starts": list(self.bin_starts),
            "low": self.low,
            "high": self.high,
            "decimals": self.decimals,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> AtomCodec:
        """Inverse of `to_json`."""
        arrays = {name: np.array(data[name], dtype=np.float64) for name in ("lows", "highs")}
        return cls(**{**data, **arrays, "bin_starts": tuple(data["bin_starts"])})


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
