"""The distinct values of a categorical column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import SchemaError
from ..rare import kept_labels
from .column import Scalar
from .values import as_scalar

MAX_CATEGORIES = 1_000_000
MAX_LEARNED = 20_000
"""Maximum values of a column: each is a class of a softmax."""


@dataclass(frozen=True)
class Labels:
    """The distinct values of a categorical column, in the order of their codes 0, 1, 2, …"""

    values: tuple[Scalar, ...]

    @classmethod
    def learn(cls, series: pd.Series, order: tuple[Scalar, ...] | None = None) -> Labels:
        """Collect the values of a column, sorted or in the given order, without missing ones."""
        if isinstance(series.dtype, pd.CategoricalDtype):
            order = tuple(as_scalar(v) for v in series.cat.categories)
        values = {as_scalar(v) for v in series.dropna().unique().tolist()}
        if order is not None:
            return cls(tuple(v for v in order if v in values))
        if len(values) > MAX_CATEGORIES:
            raise SchemaError(
                f"column {series.name!r} has {len(values):,} distinct values, more than {MAX_CATEGORIES:,}; "
                f"drop it or group its values"
            )
        return cls(tuple(sorted(values, key=lambda v: (type(v).__name__, v))))

    @classmethod
    def supported(
        cls,
        series: pd.Series,
        order: tuple[Scalar, ...] | None,
        floor: int,
        public: tuple[Scalar, ...] | None = None,
    ) -> tuple[Labels, int | None, NDArray[np.int64]]:
        """Values that at least `floor` rows have, the code of all others (None if there are none), rows per kept value.

        `public` values are kept, however few rows have them.
        """
        every = cls.learn(series, order)
        if public is not None:
            listed = set(public)
            every = cls((*public, *(value for value in every.values if value not in listed)))
        if order is not None and public is None:  # a protected list no longer contains the rare ones
            listed = set(every.values)
            every = cls((*every.values, *(value for value in cls.learn(series).values if value not in listed)))
        counts = np.bincount(every.encode(series), minlength=len(every.values))
        enough = np.where(np.arange(len(counts)) < len(public or ()), np.maximum(counts, floor), counts)
        kept, other = kept_labels(enough, floor)
        return cls(tuple(every.values[k] for k in kept)), other, counts[kept]

    def check_learnable(self, name: Any) -> None:
        """Reject a list too long for any network to learn in reasonable time."""
        if len(self.values) > MAX_LEARNED:
            raise SchemaError(
                f"column {name!r} has {len(self.values):,} categories, more than {MAX_LEARNED:,}; group its values, or "
                f"make it text, so that rare ones are not kept, or an identifier"
            )

    @classmethod
    def from_json(cls, values: Any) -> Labels:
        """Labels from a list of plain data; anything else, or a repeated value, is a ValueError."""
        if not isinstance(values, list) or not all(isinstance(v, str | bool | int | float) for v in values):
            raise ValueError("labels must be a list of texts, numbers and truth values")
        if not pd.Index(values, dtype=object).is_unique:
            raise ValueError("a label is repeated")
        return cls(tuple(values))

    def encode(self, series: pd.Series) -> NDArray[np.int64]:
        """Return the code of each value; an unseen value is an error."""
        codes = self.find(series)
        if (codes < 0).any():
            value = series.iloc[int(np.argmax(codes < 0))]
            raise SchemaError(
                f"column {series.name!r} holds {value!r}, unseen when fitting; drop the row or refit with it included"
            )
        return codes

    def find(self, series: pd.Series) -> NDArray[np.int64]:
        """Return the code of each value, -1 if unseen."""
        index = pd.Index(self.values, dtype=object)
        codes: NDArray[np.int64] = index.get_indexer(pd.Index(series.astype(object))).astype(np.int64)
        return codes

    def decode(self, codes: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """Return the value of each code."""
        table = np.empty(len(self.values), dtype=object)
        table[:] = self.values
        values: NDArray[Any] = table[codes]
        return values
