"""Columns as integer codes, one per distinct value; missing counts as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .base import Frame, Name

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Coded:
    """One column: the code of each row, and the value of each code (None for a missing value)."""

    codes: Codes
    values: tuple[Any, ...]

    @classmethod
    def read(cls, frame: Frame, name: Name) -> Coded:
        """Assign codes to the values of a column, in their order if they have one."""
        cells = frame.cells(name)
        codes = np.full(frame.n_rows, -1, dtype=np.int64)
        there = cells.values[~cells.gaps]
        if there.dtype == object:
            found, distinct = pd.factorize(there)
            values = distinct.tolist()
        else:
            distinct, found = np.unique(there, return_inverse=True)
            values = distinct.tolist()
        codes[~cells.gaps] = found
        if cells.gaps.any():
            codes[cells.gaps] = len(values)
            values.append(None)
        return cls(codes, tuple(values))

    @property
    def size(self) -> int:
        """Number of distinct values."""
        return len(self.values)

    def encode(self, frame: Frame, name: Name) -> Codes:
        """Codes of the same values in another frame; -1 for a value that is not among them."""
        place = {value: code for code, value in enumerate(self.values)}
        codes, distinct = factorized(frame, name)
        return np.array([place.get(value, -1) for value in distinct] or [-1], dtype=np.int64)[codes]


def factorized(frame: Frame, name: Name) -> tuple[Codes, list[Any]]:
    """Codes of a column and the plain value of each, None where it is missing."""
    own = Coded.read(frame, name)
    return own.codes, list(own.values)


def joint(parts: Sequence[Codes]) -> Codes:
    """One code per combination of several columns' codes, numbered consecutively from 0."""
    codes = parts[0]
    for part in parts[1:]:
        codes = compact(codes * (int(part.max(initial=0)) + 1) + part)
    return compact(codes) if len(parts) == 1 else codes


def combinations(frame: Frame, names: Sequence[Name]) -> tuple[Codes, list[tuple[Any, ...]]]:
    """The combination of each row, and the values of each combination."""
    parts = [Coded.read(frame, name) for name in names]
    codes = joint([part.codes for part in parts])
    first = np.unique(codes, return_index=True)[1]
    columns = [[part.values[code] for code in part.codes[first]] for part in parts]
    return codes, list(zip(*columns, strict=True))


def compact(codes: Codes) -> Codes:
    """The same codes, renumbered consecutively from 0."""
    top = int(codes.max(initial=0)) + 1
    if top <= 4 * len(codes) + 1024:
        used = np.zeros(top, dtype=bool)
        used[codes] = True
        return np.asarray((np.cumsum(used) - 1)[codes])
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def entropy(codes: Codes) -> float:
    """Bits per row, with the Miller–Madow correction for small counts."""
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    shares = counts / counts.sum()
    return float(-(shares * np.log2(shares)).sum() + (len(counts) - 1) / (2 * counts.sum() * np.log(2)))


def information(a: Codes, b: Codes) -> float:
    """Mutual information of two columns of codes in bits, corrected for chance."""
    return entropy(a) + entropy(b) - entropy(joint([a, b]))
