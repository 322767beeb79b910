"""A numeric column as atoms and intervals: repeated values keep their own id, the rest share ids of equal mass.

Plain quantiles smear a frequent value (the zeros of a count) over its neighbours. Here any value that fills an id by
itself is an atom and is decoded exactly; values between atoms are cut into intervals of about equal mass and decoded
as a random draw from the interval, on the column's own grid of decimals.

With a `rare_floor`, every id represents at least that many rows, and no end of an interval is the value of a row
(`data/rare.py`). How numbers within an interval are rounded is drawn from learned shares (`grain.py`).

Shapes: `N` values, `Q` ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...config.settings import TokenConfig
from ...data.rare import intervals
from ...data.schema import Column, Labels
from ...data.schema.kinds import FEW_CLASSES
from ...data.schema.numbers import count_decimals
from ..layout import Slot, SlotKind
from .base import Floats, Ids, Mask, Span
from .grain import Grain
from .grid import grid_point, whole_numbers
from .number import NumberCodec, Range
from .row_numbers import RowNumbers

if TYPE_CHECKING:
    from typing_extensions import Self

ODD = 20
"""One value in this many may have more decimals than the others, if a floor protects it."""


@dataclass(frozen=True)
class AtomCodec(NumberCodec):
    """Fitted state of one numeric column."""

    name: ClassVar[str] = "atoms"
    scheme: ClassVar[str | None] = "atoms"

    lows: Floats
    highs: Floats
    """Smallest and largest value of each id, ascending; equal for an atom."""
    protected: bool = False
    """Whether the ends of intervals lie off the grid; `low` and `high` then follow from them."""
    grain: Grain | None = None
    """How numbers inside intervals are rounded; None if all multiples of the last decimal are equally likely."""

    @classmethod
    def learn(cls, series: pd.Series, column: Column, config: TokenConfig) -> Self:
        """Find atoms, intervals and the grain."""
        codec = cls._protected(series, config) if config.rare_floor > 1 else cls._plain(series, config)
        return replace(codec, grain=codec._grain(series, config.rare_floor))

    @classmethod
    def _plain(cls, series: pd.Series, config: TokenConfig) -> Self:
        """Find atoms and intervals without a floor."""
        values = series.to_numpy(dtype=np.float64)
        distinct, counts = np.unique(values, return_counts=True)
        starts = _id_starts(counts, config.quantiles)
        ends = np.append(starts[1:], len(distinct)) - 1
        return cls(lows=distinct[starts], highs=distinct[ends], **cls.range_of(series, values))

    @classmethod
    def _protected(cls, series: pd.Series, config: TokenConfig) -> Self:
        """Find atoms and intervals such that each id represents enough rows."""
        values = series.to_numpy(dtype=np.float64)
        whole = pd.api.types.is_integer_dtype(series.dtype)
        decimals = 0 if whole else grid_decimals(values, config.rare_floor)
        rounded = values if decimals is None else np.round(values, decimals)
        distinct, counts = np.unique(rounded, return_counts=True)
        lows, highs = intervals(distinct, counts, floor=config.rare_floor, most=config.quantiles, decimals=decimals)
        return cls._between(lows, highs, decimals, whole=whole)

    @classmethod
    def _between(cls, lows: Floats, highs: Floats, decimals: int | None, *, whole: bool) -> Self:
        """A codec whose smallest and largest value are the outermost grid points inside its intervals."""
        low: float | int = float(lows[0])
        high: float | int = float(highs[-1])
        if decimals is not None:
            low, high = (float(end[0]) for end in _grid_points(lows[:1], highs[-1:], decimals))
        if whole:
            low, high = int(low), int(high)
        return cls(lows, highs, low=low, high=high, decimals=decimals, protected=True)

    def _grain(self, series: pd.Series, floor: int) -> Grain | None:
        """Learn how the values inside intervals are rounded."""
        if self.decimals is None or not _has_counts(self.lows, self.highs, self.decimals):
            return None
        ids = self.encode(series)[:, -1]
        inside = self.highs[ids] > self.lows[ids]
        numbers = series.to_numpy()[inside]
        if numbers.dtype.kind == "u" and numbers.max(initial=0) > np.iinfo(np.int64).max:
            return None
        whole = numbers.dtype.kind in "iu"
        counts = numbers.astype(np.int64) if whole else np.rint(numbers * 10.0**self.decimals).astype(np.int64)
        first, last = (ends.astype(np.int64) for ends in _grid_counts(self.lows, self.highs, self.decimals))
        return Grain.learn(counts, ids[inside], first, last, whole=self.decimals == 0, floor=floor)

    def rounded(self, ids: Ids, low: Floats, high: Floats, rng: np.random.Generator) -> NDArray[Any]:
        """Numbers between two ends each, rounded like those of their ids; only for a codec with a grain."""
        assert self.grain is not None
        assert self.decimals is not None
        first, last = (ends.astype(np.int64) for ends in _grid_counts(low, high, self.decimals))
        counts = self.grain.draw(ids, first, last, rng)
        if isinstance(self.low, int):
            return np.clip(counts, self.low, int(self.high))
        return grid_point(counts.astype(np.float64), self.decimals)

    @property
    def widths(self) -> Floats:
        """The length of the interval that each id represents; 1 for an atom."""
        step = 0.0 if self.decimals is None or self.protected else 10.0**-self.decimals
        return np.where(self.lows == self.highs, 1.0, self.highs - self.lows + step)

    @property
    def atoms(self) -> frozenset[int]:
        """Ids of single values."""
        return frozenset(np.flatnonzero(self.lows == self.highs).tolist())

    def slots(self, column: int) -> tuple[Slot, ...]:
        """The id."""
        centres = tuple((self.lows / 2 + self.highs / 2).tolist())
        return (Slot(SlotKind.QUANTILE, column, len(self.lows), self.atoms, centres),)

    def encode(self, series: pd.Series) -> Ids:
        """Values (N,) → ids (N, 1); a value between two ids gets the nearer one."""
        borders = self.highs[:-1] / 2 + self.lows[1:] / 2
        borders = np.minimum(
            borders, np.nextafter(self.lows[1:], -np.inf)
        )  # there is nothing between neighbouring numbers
        ids: Ids = np.searchsorted(borders, series.to_numpy(dtype=np.float64), side="left").astype(np.int64)
        return ids[:, None]

    def decode(self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None) -> NDArray[Any]:
        """Ids (N, 1) → values (N,)."""
        values: Floats
        last = ids[:, -1]
        low, high = self.lows[last], self.highs[last]
        if self.grain is not None:
            return self._decode_rounded(np.asarray(last, dtype=np.int64), rng)
        values = low + rng.random(len(ids)) * (high - low)
        if self.decimals is not None and (high - low).max(initial=0) * 10.0**self.decimals < 2**40:
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # from atoms near the largest float, which stay as they are
                first, last = _grid_counts(low, high, self.decimals)
                drawn = grid_point(first + np.floor(rng.random(len(ids)) * (last - first + 1)), self.decimals)
            values = np.where(high > low, np.clip(drawn, low, high), low)
        if isinstance(self.low, int):
            return whole_numbers(values, self.low, int(self.high))
        return values

    def _decode_rounded(self, ids: Ids, rng: np.random.Generator) -> NDArray[Any]:
        """Atoms unchanged, all other values rounded."""
        low, high = self.lows[ids], self.highs[ids]
        whole = isinstance(self.low, int)
        values = whole_numbers(low, int(self.low), int(self.high)) if whole else low.copy()
        rows = np.flatnonzero(high > low)
        values[rows] = self.rounded(ids[rows], low[rows], high[rows], rng)
        return values

    def reach(self, spans: Sequence[Span]) -> list[Mask | None]:
        """Ids that overlap with a span."""
        return [np.array([any(self._piece(k, span) is not None for span in spans) for k in range(len(self.lows))])]

    def draw_within(
        self, spans: Sequence[Span], ids: NDArray[Any], values: NDArray[Any], rng: np.random.Generator
    ) -> NDArray[Any]:
        """Draw uniformly from the overlap of each row's id with the spans."""
        drawn = values.copy()
        for k in np.unique(ids[:, -1]):
            own = np.flatnonzero(ids[:, -1] == k)
            pieces = [piece for piece in (self._piece(k, span) for span in spans) if piece is not None]
            drawn[own] = self._draw(int(k), pieces, len(own), rng)
        return drawn

    def _piece(self, k: int, span: Span) -> Span | None:
        """The overlap of an id and a span, on the column's grid; None if there is none."""
        low, high = max(float(self.lows[k]), span[0]), min(float(self.highs[k]), span[1])
        if low <= high and self.decimals is not None:
            low = float(self.settle(np.array([low]), up=True)[0])
            high = float(self.settle(np.array([high]), up=False)[0])
        return (low, high) if low <= high else None

    def _draw(self, k: int, pieces: list[Span], n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw n values uniformly from pieces of an id, rounded like the column."""
        step = 0.0 if self.decimals is None else 10.0**-self.decimals
        lengths = np.array([high - low + step for low, high in pieces]) + (1e-300 if step == 0 else 0.0)
        chosen = np.array(pieces)[rng.choice(len(pieces), size=n, p=lengths / lengths.sum())]  # (n, 2)
        if self.grain is not None:
            return self.rounded(np.full(n, k), chosen[:, 0], chosen[:, 1], rng)
        drawn = chosen[:, 0] + rng.random(n) * (chosen[:, 1] - chosen[:, 0] + step)
        drawn = np.clip(self.settle(drawn, up=False).astype(np.float64), chosen[:, 0], chosen[:, 1])
        return np.asarray(self.settle(drawn, up=False) if self.decimals is not None else drawn)

    def log_widths(self, ids: NDArray[Any]) -> Floats:
        """Log of the length of each row's interval (N,); 0 for an atom."""
        return np.asarray(np.log(self.widths[np.minimum(ids[:, -1], len(self.lows) - 1)]))

    def classes(self) -> Labels | None:
        """The values of a whole-number column if they are few and each has its own id; otherwise None."""
        if not isinstance(self.low, int) or len(self.lows) > FEW_CLASSES or (self.lows != self.highs).any():
            return None
        return Labels(tuple(int(value) for value in self.lows))

    def midpoints(self) -> Floats:
        """The middle of each interval."""
        return np.asarray(self.lows / 2 + self.highs / 2)

    def has_protected_range(self) -> bool:
        """Whether enough rows support both ends."""
        return self.protected

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = {
            "lows": self.lows.tolist(),
            "highs": self.highs.tolist(),
            "decimals": self.decimals,
        }
        if self.grain is not None:
            plain |= {"grain": self.grain.to_json()}
        if self.protected:
            return plain | {"whole": isinstance(self.low, int)}
        return plain | {"low": self.low, "high": self.high}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        if data.get("bin_starts"):
            raise ValueError(
                "its numbers have bins before their ids, which are no longer supported: fit the table again"
            )
        arrays = {name: np.array(data[name], dtype=np.float64) for name in ("lows", "highs")}
        lows, highs, decimals = arrays["lows"], arrays["highs"], data["decimals"]
        if lows.ndim != 1 or lows.shape != highs.shape or not len(lows) or (lows > highs).any():
            raise ValueError("the intervals of a number do not fit together")
        if (lows[1:] < highs[:-1]).any() or (decimals is not None and type(decimals) is not int):
            raise ValueError("the intervals of a number are not in order, or its decimals are not a whole number")
        grain = None if data.get("grain") is None else Grain.from_json(data["grain"])
        if grain is not None and (data["decimals"] is None or not _has_counts(**arrays, decimals=data["decimals"])):
            raise ValueError("a number without a grid of decimals has a grain")
        if "whole" in data:
            codec = cls._between(arrays["lows"], arrays["highs"], data["decimals"], whole=data["whole"])
            return replace(codec, grain=grain)
        numbers: Range = {"low": data["low"], "high": data["high"], "decimals": data["decimals"]}
        return cls(arrays["lows"], arrays["highs"], **numbers, grain=grain)


def grid_decimals(values: Floats, floor: int) -> int | None:
    """Decimals of a protected column's grid; fewer rows than the floor cannot make it finer."""
    return count_decimals(values, spare=min(floor - 1, len(values) // ODD))


def _has_counts(lows: Floats, highs: Floats, decimals: int) -> bool:
    """Whether grid steps can be counted in 64-bit integers."""
    return float(np.maximum(np.abs(lows), np.abs(highs)).max(initial=0)) * 10.0**decimals < 2.0**62


def _grid_counts(low: Floats, high: Floats, decimals: int) -> tuple[Floats, Floats]:
    """Step numbers of the first and last grid point in each interval; its ends are on the grid or half a step off."""
    scale = 10.0**decimals
    first, last = np.ceil(np.round(low * scale, 3)), np.floor(np.round(high * scale, 3))
    return first, np.maximum(first, last)


def _grid_points(low: Floats, high: Floats, decimals: int) -> tuple[Floats, Floats]:
    first, last = _grid_counts(low, high, decimals)
    return grid_point(first, decimals), grid_point(last, decimals)


def _id_starts(counts: Ids, most: int) -> Ids:
    """Where each id starts among the distinct values: one id per value if few, otherwise atoms and intervals."""
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
        # The value at which each share of the rows starts; a value is never in two pieces.
        cuts = np.searchsorted(below, below[-1] * np.arange(pieces) / pieces, side="right")
        starts += (place + np.unique(cuts)).tolist()
        place = stop
    return np.array(starts, dtype=np.int64)
