"""Columns of a child that copy a column of its parent: the price of the product, the country of the customer.

Such a column is learned like any other. In new rows it is overwritten with the value of the chosen parent, and columns
that laws compute from it are updated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..data.links import Link, Name
from .followed import is_measured, is_time
from .rows import Ints

MIN_ROWS, MIN_VALUES, MIN_SHARE = 20, 3, 0.99
"""Minimum rows with a parent, minimum distinct values of these parents, and minimum share of rows equal to their
parent.
"""
MAX_CHANCE = 0.7
"""Maximum share of rows that equal a random other parent's value."""


@dataclass(frozen=True)
class Copied:
    """`child.column = parent.source`, by a link."""

    column: Name
    link: Link
    source: Name

    @property
    def text(self) -> str:
        """The readable form."""
        return f"{self.link.child}.{self.column} = {self.link.parent}.{self.source} of the same {self.link.parent}"

    def to_json(self) -> list[Any]:
        """Plain data."""
        return [self.column, self.link.to_json(), self.source]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Copied:
        """Inverse of `to_json`."""
        column, link, source = data
        return cls(column, Link.from_json(link), source)


def find_copied(
    child: pd.DataFrame,
    parent: pd.DataFrame,
    parents: Ints,
    link: Link,
    own: tuple[Sequence[Name], Sequence[Name]],
    rng: np.random.Generator,
) -> list[Copied]:
    """Find columns of a child that copy those of its parent; `own` are the comparable columns of both."""
    rows = np.flatnonzero(parents >= 0)
    if len(rows) < MIN_ROWS:
        return []
    # Labels can be equal by chance, so values of other parents must differ.
    others = rng.permutation(len(parent))[parents[rows]]
    found = []
    for name in own[0]:
        values = child[name].iloc[rows].reset_index(drop=True)
        for source in own[1]:
            if _family(child[name]) != _family(parent[source]) or parent[source].nunique() < MIN_VALUES:
                continue
            theirs, strange = (parent[source].take(n).reset_index(drop=True) for n in (parents[rows], others))
            if _equal(values, theirs) >= MIN_SHARE and _equal(values, strange) <= MAX_CHANCE:
                found.append(Copied(name, link, source))
                break
    return found


def _family(values: pd.Series) -> str:
    if is_time(values):
        return "time"
    return "number" if is_measured(values) else str(pd.api.types.is_bool_dtype(values.dtype))


def _equal(values: pd.Series, others: pd.Series) -> float:
    left, right = values.astype(object), others.astype(object)
    return float(np.mean((left == right).to_numpy(dtype=bool) | (left.isna() & right.isna()).to_numpy()))


def copied_values(copied: Copied, frame: pd.DataFrame, parents: Ints, source: pd.Series) -> pd.Series | None:
    """The column with the values of the parents; None if its dtype cannot hold them."""
    taken = source.take(np.maximum(parents, 0)).set_axis(frame.index)
    own = frame[copied.column]
    try:
        return taken.astype(own.dtype).where(pd.Series(parents >= 0, index=frame.index), own).astype(own.dtype)
    except (ValueError, TypeError):
        return None
