"""A table as plain values, in which relations are enforced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Name = str | int


@dataclass(frozen=True)
class Plain:
    """Columns by name: values as returned by `Column.read` (arbitrary where missing), and where they are missing."""

    values: dict[Name, NDArray[Any]]
    gaps: dict[Name, NDArray[np.bool_]]

    def present(self, *names: Name) -> NDArray[np.bool_]:
        """Rows in which all of these columns have a value."""
        return np.asarray(~np.logical_or.reduce([self.gaps[name] for name in names]))

    def labels(self, name: Name) -> NDArray[Any]:
        """The values of a column as objects, None where missing."""
        labels = np.array(self.values[name].tolist(), dtype=object)
        labels[self.gaps[name]] = None
        return labels


@dataclass(frozen=True)
class Bounds:
    """The values that a column may have, for code that changes them."""

    settle: Callable[..., Any]
    """Moves values to the nearest one that the column may have: `settle(values, up=True)`."""
    low: Any
    high: Any
    decimals: int | None
