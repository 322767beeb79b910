"""Dual quantisation of a numeric column: a k-means bin for the mode, a quantile for the value.

Both use scikit-learn's KBinsDiscretizer, stored as plain edges: an id is the position of a value among the inner edges.

Shapes: `N` values.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...config.settings import TokenConfig
from ...data.schema import Column
from ..layout import Slot, SlotKind
from .base import Floats, Ids
from .grid import whole_numbers
from .number import NumberCodec
from .row_numbers import RowNumbers

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class NumericCodec(NumberCodec):
    """Fitted state of one numeric column."""

    name: ClassVar[str] = "quantile"
    scheme: ClassVar[str | None] = "quantile"

    bin_edges: Floats
    quantile_edges: Floats

    @classmethod
    def learn(cls, series: pd.Series, column: Column, config: TokenConfig) -> Self:
        """Fit both quantisers."""
        values = series.to_numpy(dtype=np.float64)
        return cls(
            bin_edges=fit_edges(values, config.bins, "kmeans"),
            quantile_edges=fit_edges(values, config.quantiles, "quantile"),
            **cls.range_of(series, values),
        )

    @property
    def sizes(self) -> tuple[int, int]:
        """Ids of the bin slot and of the quantile slot."""
        return len(self.bin_edges) - 1, len(self.quantile_edges) - 1

    def slots(self, column: int) -> tuple[Slot, ...]:
        """The bin and the quantile."""
        n_bins, n_quantiles = self.sizes
        return Slot(SlotKind.BIN, column, n_bins), Slot(SlotKind.QUANTILE, column, n_quantiles)

    def encode(self, series: pd.Series) -> Ids:
        """Values (N,) → ids (N, 2); a value outside the fitted range gets the nearest id."""
        values = series.to_numpy(dtype=np.float64)
        return np.column_stack([_place(values, self.bin_edges), _place(values, self.quantile_edges)])

    def decode(self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None) -> NDArray[Any]:
        """Ids (N, 2) → the midpoints of the quantiles (N,), always inside the fitted range."""
        low, high = self._ends(ids)
        values = low / 2 + high / 2
        if isinstance(self.low, int):
            # NOTE[PAPER]: the paper keeps the midpoint; we round it in whole-number columns, whose dtype has no halves.
            return whole_numbers(values, self.low, int(self.high))
        return np.clip(values, self.low, self.high)

    def _ends(self, ids: NDArray[Any]) -> tuple[Floats, Floats]:
        """Both ends of each row's quantile."""
        quantiles = np.asarray(ids[:, 1], dtype=np.int64)
        return self.quantile_edges[quantiles], self.quantile_edges[quantiles + 1]

    def log_widths(self, ids: NDArray[Any]) -> Floats:
        """Log of the length of each row's quantile (N,); 0 if the column has a single value."""
        low, high = self._ends(ids)
        with np.errstate(divide="ignore"):
            return np.where(high > low, np.log(high - low), 0.0)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "bin_edges": self.bin_edges.tolist(),
            "quantile_edges": self.quantile_edges.tolist(),
            "low": self.low,
            "high": self.high,
            "decimals": self.decimals,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`; also reads files of earlier versions, which had more levels."""
        if data.get("split_sizes") or data.get("decode_by", "midpoint") != "midpoint":
            raise ValueError("numbers of several levels, or drawn inside quantiles, are no longer supported")
        arrays = {name: np.array(data[name], dtype=np.float64) for name in ("bin_edges", "quantile_edges")}
        if any(edges.ndim != 1 or len(edges) < 2 or (np.diff(edges) < 0).any() for edges in arrays.values()):
            raise ValueError("the edges of a number are not in order")
        return cls(**arrays, low=data["low"], high=data["high"], decimals=data["decimals"])


def fit_edges(values: Floats, n_bins: int, strategy: str) -> Floats:
    """Fit scikit-learn's discretiser and keep its edges; never more bins than there are distinct values."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.preprocessing import KBinsDiscretizer

    distinct = np.unique(values)
    if len(distinct) == 1:
        return np.array([distinct[0], distinct[0]])
    if strategy == "kmeans":
        n_bins = min(n_bins, len(distinct))
    # NOTE[PAPER]: the paper passes columns to the discretiser unchanged; we first rescale those of extreme scale to 1,
    # because it drops bins narrower than 1e-8 and squares distances. Between 1e-3 and 1e100 nothing is changed.
    spread = float(distinct[-1] / 2 - distinct[0] / 2)
    scale = 1.0 if 1e-3 <= spread <= 1e100 else max(spread, np.finfo(np.float64).tiny)
    with warnings.catch_warnings():
        # Equal quantiles are expected if a value repeats; the discretiser warns about the bins that it drops.
        warnings.filterwarnings("ignore", message="Bins whose width are too small", category=UserWarning)
        warnings.filterwarnings("ignore", message="Number of distinct clusters", category=ConvergenceWarning)
        binner = KBinsDiscretizer(
            n_bins, encode="ordinal", strategy=strategy, quantile_method="linear", subsample=None
        ).fit((values / scale)[:, None])
    # Next to a number of another order of magnitude, k-means may put a centre below the smallest of the small ones.
    edges: Floats = np.maximum.accumulate(np.asarray(binner.bin_edges_[0], dtype=np.float64) * scale)
    return edges if len(edges) >= 2 else distinct[[0, -1]]


def _place(values: Floats, edges: Floats) -> Ids:
    """The interval of each value, as in KBinsDiscretizer.transform: [low, high), with the last one closed."""
    return np.searchsorted(edges[1:-1], values, side="right").astype(np.int64)
