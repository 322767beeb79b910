"""A table as plain values: what relations are found in, and what they are kept in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..schema import Schema

Name = str | int


@dataclass(frozen=True)
class Plain:
    """Columns by name: values as `Column.read` gives them (anything where missing), and where they are missing."""

    values: dict[Name, NDArray[Any]]
    gaps: dict[Name, NDArray[np.bool_]]

    @classmethod
    def read(cls, df: pd.DataFrame, schema: Schema, names: Iterable[Name] | None = None) -> Plain:
        """Read columns of a table, by default all of them."""
        values, gaps = {}, {}
        for column in schema.columns if names is None else [schema.column(name) for name in names]:
            series = df[column.name]
            missing = series.isna().to_numpy()
            there = column.read(series[~missing]).to_numpy()
            whole = np.zeros(len(series), dtype=there.dtype if len(there) else np.float64)
            whole[~missing] = there
            values[column.name], gaps[column.name] = whole, missing
        return cls(values, gaps)

    def present(self, *names: Name) -> NDArray[np.bool_]:
        """Rows in which all of these columns have a value."""
        return np.asarray(~np.logical_or.reduce([self.gaps[name] for name in names]))

    def floats(self, name: Name) -> NDArray[np.float64]:
        """The values of a column as floats, NaN where missing."""
        return np.where(self.gaps[name], np.nan, self.values[name].astype(np.float64))

    def labels(self, name: Name) -> NDArray[Any]:
        """The values of a column as objects, None where missing."""
        labels = np.array(self.values[name].tolist(), dtype=object)
        labels[self.gaps[name]] = None
        return labels


@dataclass(frozen=True)
class Bounds:
    """What a column may hold, for those who change its values."""

    settle: Callable[..., Any]
    """Moves values to the nearest that the column may hold: `settle(values, up=True)`."""
    low: Any
    high: Any
    decimals: int | None
