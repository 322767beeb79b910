"""What rows give: which of their columns are there, as ids and as leaves.

Shapes: `N` rows, `D` value slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import ConfigError
from ..fitted import Fitted
from ..schema import IDENTIFIER
from ..tokens.column import ColumnCodec

Name = str | int


def encode_known(fitted: Fitted, known: Sequence[int], part: pd.DataFrame) -> NDArray[np.int64]:
    """Ids of the given columns of rows (N, D), 0 elsewhere."""
    ids = np.zeros((len(part), fitted.layout.n_values), dtype=np.int64)
    for place in known:
        ids[:, fitted.layout.slots_of(place)] = fitted.codec.columns[place].encode(part[fitted.schema.names[place]])
    return ids


def known_leaves(fitted: Fitted, known: Sequence[int], part: pd.DataFrame) -> NDArray[np.int64] | None:
    """Leaves of rows in which every feature of the trees is given; None elsewhere."""
    if fitted.tree_encoder is None:
        return None
    names = {fitted.schema.names[place] for place in known}
    if not {source.column.name for source in fitted.tree_encoder.sources} <= names:
        return None
    return fitted.leaf_model.leaves(fitted.tree_encoder.features(part))


def by_pattern(fitted: Fitted, partial: pd.DataFrame) -> Iterator[tuple[list[int], pd.DataFrame]]:
    """Rows that have the same columns, together: places of those columns, and the rows."""
    names = fitted.schema.names
    there = np.array([partial[n].notna().to_numpy() if n in partial else np.zeros(len(partial), bool) for n in names]).T
    patterns, group = np.unique(there, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        known = [p for p in np.flatnonzero(pattern).tolist() if can_be_given(fitted, p)]
        yield known, partial[group.reshape(-1) == number]


def can_be_given(fitted: Fitted, place: int) -> bool:
    return bool(fitted.layout.slots_of(place)) and fitted.codec.columns[place].column.kind != IDENTIFIER


def column_of(fitted: Fitted, name: Name) -> tuple[int, ColumnCodec]:
    fitted.schema.column(name)  # says which there are when this is none of them
    place = fitted.schema.names.index(name)
    return place, fitted.codec.columns[place]


def check_rows(fitted: Fitted, df: pd.DataFrame) -> None:
    """Refuse columns that the model does not have, and an index from which rows cannot be told apart."""
    for name in df.columns:
        fitted.schema.column(name)
    if not df.index.is_unique:
        raise ConfigError("the index holds a label more than once; reset it first: df.reset_index(drop=True)")
    if not len(df):
        raise ConfigError("there are no rows")


def need_any_order(fitted: Fitted) -> None:
    if fitted.config.model.order != "any":
        raise ConfigError(
            "the model was trained in table order only, as the paper's presets are; conditions, gaps and predictions "
            "need one fitted with model.order='any', as the preset auto is"
        )
