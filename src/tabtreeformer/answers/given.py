"""What rows give: which of their columns are there, as ids and as leaves."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..errors import ConfigError
from ..fitted import Fitted
from ..generation import Partial
from ..schema import IDENTIFIER
from ..tokens.column import ColumnCodec

Name = str | int


def given_part(fitted: Fitted, partial: pd.DataFrame) -> Partial:
    """What rows give, as ids; their leaves, where every feature of the trees is given."""
    layout, names = fitted.layout, fitted.schema.names
    ids = np.zeros((len(partial), layout.n_values), dtype=np.int32)
    given = np.zeros(ids.shape, dtype=bool)
    for place in range(len(names)):
        if names[place] in partial and _can_be_given(fitted, place):
            there = np.flatnonzero(partial[names[place]].notna())
            cells = np.ix_(there, np.array(layout.slots_of(place)))
            ids[cells] = fitted.codec.columns[place].encode(partial[names[place]].iloc[there])
            given[cells] = True
    leaves = np.zeros((len(partial), layout.n_trees), dtype=np.int64)
    known = np.zeros(len(partial), dtype=bool)
    if fitted.tree_encoder is not None:
        features = [source.column.name for source in fitted.tree_encoder.sources]
        if all(name in partial for name in features):
            known = partial[features].notna().all(axis=1).to_numpy(dtype=bool)
            if known.any():
                leaves[known] = fitted.leaf_model.leaves(fitted.tree_encoder.features(partial[known]))
    return Partial(ids, given, leaves, known)


def _can_be_given(fitted: Fitted, place: int) -> bool:
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
