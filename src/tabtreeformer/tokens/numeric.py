"""Dual quantisation of a numeric column: a k-means bin for the mode, a quantile for the value.

Both are scikit-learn's KBinsDiscretizer, kept as plain edges: an id is the place of a value among the inner edges.
Further levels split the values inside the previous quantile, so that q levels of Q quantiles hold Q^q values.

Shapes: `N` values, `Q` ids of a level.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..config import TokenConfig
from ..schema.numbers import count_decimals
from .layout import Kind, Slot

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class NumericCodec:
    """Fitted state of one numeric column."""

    bin_edges: Floats
    quantile_edges: Floats
    splits: tuple[Mapping[tuple[int, ...], Floats], ...]
    """One mapping a further level: ids so far → edges inside that quantile. Quantiles with a single value have none."""
    split_sizes: tuple[int, ...]
    """Ids of each further level."""
    low: float | int
    high: float | int
    """Smallest and largest value seen; whole numbers stay whole, however large."""
    decimals: int | None
    """Decimals that write every value exactly (0 for whole numbers), None where there is no such number."""
    decode_by: str = "midpoint"

    @classmethod
    def learn(cls, series: pd.Series, config: TokenConfig) -> NumericCodec:
        """Fit both quantisers and any further levels."""
        values = series.to_numpy(dtype=np.float64)
        whole = int if pd.api.types.is_integer_dtype(series.dtype) else float
        quantile_edges = fit_edges(values, config.quantiles, "quantile", config.percentile_method)
        splits, sizes = _learn_splits(values, quantile_edges, config)
        return cls(
            bin_edges=fit_edges(values, config.bins, "kmeans", config.percentile_method),
            quantile_edges=quantile_edges,
            splits=splits,
            split_sizes=sizes,
            low=whole(series.min()),
            high=whole(series.max()),
            decimals=0 if whole is int else count_decimals(values),
            decode_by=config.decode,
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Ids of the bin slot and of each quantile slot."""
        return (len(self.bin_edges) - 1, len(self.quantile_edges) - 1, *self.split_sizes)

    def slots(self, column: int) -> tuple[Slot, ...]:
        """The bin and its quantiles, coarse to fine."""
        kinds = [Kind.BIN] + [Kind.QUANTILE] * (len(self.sizes) - 1)
        return tuple(Slot(kind, column, size) for kind, size in zip(kinds, self.sizes, strict=True))

    def encode(self, series: pd.Series) -> Ids:
        """Values (N,) → ids (N, 1 + levels); a value outside the fitted range takes the nearest id."""
        values = series.to_numpy(dtype=np.float64)
        ids = [_place(values, self.bin_edges), _place(values, self.quantile_edges)]
        for level, size in enumerate(self.split_sizes):
            path, low, high = self._intervals(np.column_stack(ids[1:]))
            inner = np.empty(len(values), dtype=np.int64)
            for key, rows in _groups(path):
                edges = self._edges(level, key, low[rows[0]], high[rows[0]], size)
                inner[rows] = _place(values[rows], edges)
            ids.append(inner)
        return np.column_stack(ids)

    def decode(self, ids: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Ids (N, 1 + levels) → values (N,), from the quantiles only; inside the fitted range always."""
        _, low, high = self._intervals(np.asarray(ids[:, 1:], dtype=np.int64))
        closed = (ids[:, 1:] == np.array(self.sizes[1:]) - 1).all(axis=1)  # the very last interval has its end too
        values = self._draw(low, high, closed, rng) if self.decode_by == "draw" else low / 2 + high / 2
        if isinstance(self.low, int):
            # NOTE[PAPER]: the paper keeps the midpoint; we round it in whole-number columns, whose dtype has no halves.
            return whole_numbers(values, self.low, int(self.high))
        return np.clip(values, self.low, self.high)

    def _draw(self, low: Floats, high: Floats, closed: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
        """Draw a grid point of [low, high), or [low, high] where `closed`; a plain number where there is no grid."""
        share = rng.random(len(low))
        step = None if self.decimals is None else 10.0**-self.decimals
        if step is None or (self.high - self.low) / step > 2**40:
            return low + share * (high - low)
        # First and last grid point that `encode` would put into the interval; divisions are off by at most one.
        first, last = np.rint(low / step) - 1, np.rint(high / step) + 1
        for _ in range(2):
            first += self._grid(first) < low
            last -= np.where(closed, self._grid(last) > high, self._grid(last) >= high)
        inside = first + np.floor(share * (last - first + 1))
        nearest = np.rint((low / 2 + high / 2) / step)
        return self._grid(np.where(last >= first, inside, nearest))

    def _grid(self, count: Floats) -> Floats:
        assert self.decimals is not None
        return grid_point(count, self.decimals)

    def _intervals(self, quantile_ids: Ids) -> tuple[Ids, Floats, Floats]:
        """Return the ids as a path and both ends of the interval each path leads to."""
        first = quantile_ids[:, 0]
        low, high = self.quantile_edges[first], self.quantile_edges[first + 1]
        for level in range(quantile_ids.shape[1] - 1):
            size = self.split_sizes[level]
            for key, rows in _groups(quantile_ids[:, : level + 1]):
                edges = self._edges(level, key, low[rows[0]], high[rows[0]], size)
                inner = quantile_ids[rows, level + 1]
                low[rows], high[rows] = edges[inner], edges[inner + 1]
        return quantile_ids, low, high

    def _edges(self, level: int, key: tuple[int, ...], low: float, high: float, size: int) -> Floats:
        """Edges inside one quantile: the learned ones, or even steps where it held a single value."""
        known = self.splits[level].get(key)
        return np.linspace(low, high, size + 1) if known is None else known

    def settle(self, values: NDArray[Any], *, up: bool) -> Any:
        """Move numbers to the nearest that the column may hold, upwards or downwards."""
        return settled(values, self, up=up)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "bin_edges": self.bin_edges.tolist(),
            "quantile_edges": self.quantile_edges.tolist(),
            "splits": [[[list(key), edges.tolist()] for key, edges in level.items()] for level in self.splits],
            "split_sizes": list(self.split_sizes),
            "low": self.low,
            "high": self.high,
            "decimals": self.decimals,
            "decode_by": self.decode_by,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> NumericCodec:
        """Inverse of `to_json`."""
        arrays = {name: np.array(data[name], dtype=np.float64) for name in ("bin_edges", "quantile_edges")}
        splits = tuple({tuple(key): np.array(edges) for key, edges in level} for level in data["splits"])
        return cls(**{**data, **arrays, "splits": splits, "split_sizes": tuple(data["split_sizes"])})


def fit_edges(values: Floats, n_bins: int, strategy: str, percentile_method: str) -> Floats:
    """Fit scikit-learn's discretiser and keep its edges; never more bins than distinct values ask for."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.preprocessing import KBinsDiscretizer

    distinct = np.unique(values)
    if len(distinct) == 1:
        return np.array([distinct[0], distinct[0]])
    if strategy == "kmeans":
        n_bins = min(n_bins, len(distinct))
    # The discretiser drops bins narrower than 1e-8 and squares distances: columns of an odd scale are brought to 1.
    spread = float(distinct[-1] / 2 - distinct[0] / 2)
    scale = 1.0 if 1e-3 <= spread <= 1e100 else max(spread, np.finfo(np.float64).tiny)
    with warnings.catch_warnings():
        # Equal quantiles are expected where a value repeats; the discretiser warns about the bins that it drops.
        warnings.filterwarnings("ignore", message="Bins whose width are too small", category=UserWarning)
        warnings.filterwarnings("ignore", message="Number of distinct clusters", category=ConvergenceWarning)
        binner = KBinsDiscretizer(
            n_bins, encode="ordinal", strategy=strategy, quantile_method=percentile_method, subsample=None
        ).fit((values / scale)[:, None])
    edges: Floats = np.asarray(binner.bin_edges_[0], dtype=np.float64) * scale
    return edges if len(edges) >= 2 else distinct[[0, -1]]


def _learn_splits(
    values: Floats, edges: Floats, config: TokenConfig
) -> tuple[tuple[dict[tuple[int, ...], Floats], ...], tuple[int, ...]]:
    """Split each quantile by the quantiles of the values inside it, level after level."""
    splits: list[dict[tuple[int, ...], Floats]] = []
    sizes: list[int] = []
    path = _place(values, edges)[:, None]
    low, high = edges[path[:, 0]], edges[path[:, 0] + 1]
    for _ in range(config.levels - 1):
        groups = [(key, rows) for key, rows in _groups(path)]
        size = min(config.quantiles, max(len(np.unique(values[rows])) for _, rows in groups))
        size = max(size, 2)
        known: dict[tuple[int, ...], Floats] = {}
        inner = np.zeros(len(values), dtype=np.int64)
        for key, rows in groups:
            ends = low[rows[0]], high[rows[0]]
            if len(np.unique(values[rows])) > 1:
                shares = np.linspace(0, 1, size + 1)
                cut = np.quantile(values[rows], shares, method=config.percentile_method)  # type: ignore[call-overload]
                known[key] = np.concatenate([[ends[0]], cut[1:-1], [ends[1]]])
            group_edges = known.get(key, np.linspace(*ends, size + 1))
            inner[rows] = _place(values[rows], group_edges)
            low[rows], high[rows] = group_edges[inner[rows]], group_edges[inner[rows] + 1]
        splits.append(known)
        sizes.append(size)
        path = np.column_stack([path, inner])
    return tuple(splits), tuple(sizes)


def _place(values: Floats, edges: Floats) -> Ids:
    """Which interval each value falls into, as KBinsDiscretizer.transform has it: [low, high), the last one closed."""
    return np.searchsorted(edges[1:-1], values, side="right").astype(np.int64)


def _groups(path: Ids) -> list[tuple[tuple[int, ...], Ids]]:
    """Rows that share a path, by path."""
    keys, inverse = np.unique(path, axis=0, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    cuts = np.searchsorted(inverse[order], np.arange(1, len(keys)))
    return [(tuple(int(i) for i in key), rows) for key, rows in zip(keys, np.split(order, cuts), strict=True)]


def settled(values: NDArray[Any], codec: Any, *, up: bool) -> Any:
    """Move numbers to the nearest that a numeric column may hold, upwards or downwards."""
    numbers = values.astype(np.float64)
    if codec.decimals is not None:
        near = np.round(numbers, codec.decimals)
        step = 10.0**-codec.decimals
        moved = np.round(near + (step if up else -step), codec.decimals)
        numbers = np.where(near < numbers if up else near > numbers, moved, near)
    if isinstance(codec.low, int):
        return whole_numbers(numbers, codec.low, int(codec.high))
    return np.clip(numbers, codec.low, codec.high)


def grid_point(count: Floats, decimals: int) -> Floats:
    """The number that so many steps of the last decimal make."""
    points: Floats = np.round(count / 10.0**decimals, decimals)
    return points


def whole_numbers(values: Floats, low: int, high: int) -> NDArray[Any]:
    """Cast to integers inside [low, high]; a plain cast overflows at the ends of the 64-bit types."""
    dtype = np.uint64 if high > np.iinfo(np.int64).max else np.int64
    inner = np.rint(np.clip(values, float(low), float(high)))
    whole = np.full(len(values), low, dtype=dtype)
    fits = (inner > low) & (inner < high)
    whole[fits] = inner[fits].astype(dtype)
    whole[inner >= float(high)] = high
    return np.clip(whole, dtype(low), dtype(high))
