"""What rows give: which of their columns are there, as ids and as leaves."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...artifact.fitted import Fitted
from ...data.schema import CONSTANT, IDENTIFIER, MEASURED
from ...errors import ConditionError, ConfigError
from ...tokens.codecs.base import Allowed
from ...tokens.codecs.column import ColumnCodec
from ...tokens.conditions import as_condition
from ...tokens.writer import Given

Name = str | int


def given_part(fitted: Fitted, partial: pd.DataFrame, context: Collection[Name] = (), *, strict: bool = True) -> Given:
    """What rows give, as ids; their leaves, where every feature of the trees is given.

    In columns of the `context` a missing value is given as missing. A label that was never learned is not given there,
    nor anywhere else unless `strict`, where it is an error.
    """
    layout = fitted.layout
    ids = np.zeros((len(partial), layout.n_values), dtype=np.int32)
    given = np.zeros(ids.shape, dtype=bool)
    expressed, known_cells = express_part(fitted, partial)
    for place, name in enumerate(fitted.codec.expressed.names):
        known_here = known_cells[name]
        if name in context and name in partial:
            known_here = _known(fitted.codec.columns[place], expressed[name])
        elif not strict and name in expressed:
            known_here = known_here.to_numpy() & _known(fitted.codec.columns[place], expressed[name])
        there = np.flatnonzero(known_here)
        if len(there) and _can_be_given(fitted, place):
            cells = np.ix_(there, np.array(layout.slots_of(place)))
            ids[cells] = fitted.codec.columns[place].encode(expressed[name].iloc[there])
            given[cells] = True
    leaves = np.zeros((len(partial), layout.n_trees), dtype=np.int64)
    known = np.zeros(len(partial), dtype=bool)
    if fitted.tree_encoder is not None:
        features = [source.column.name for source in fitted.tree_encoder.sources]
        if all(name in partial for name in features):
            known = partial[features].notna().all(axis=1).to_numpy(dtype=bool, copy=True)
            if context or not strict:  # a context may hold values that were made up for another table
                known &= fitted.tree_encoder.knows(partial)
            if known.any():
                leaves[known] = fitted.leaf_model.leaves(fitted.tree_encoder.features(partial[known]))
    return Given({}, ids, given, leaves, known)


def whole_rows(fitted: Fitted, df: pd.DataFrame, expressed: pd.DataFrame) -> Given:
    """Whole rows, as the laws express them, as ids; their leaves, where networks have never seen a blank prompt."""
    ids = fitted.codec.encode_expressed(expressed).astype(np.int32)
    known = np.ones(ids.shape, dtype=bool)
    if fitted.tree_encoder is None or not fitted.layout.n_trees or fitted.config.model.any_order:
        return Given({}, ids, known)
    cells = df.copy()
    for source in fitted.tree_encoder.sources:  # trees have a branch for missing values
        name = source.column.name
        cells[name] = cells[name].where(pd.Series(source.knows(df), index=df.index))
    leaves = fitted.leaf_model.leaves(fitted.tree_encoder.features(cells))
    return Given({}, ids, known, leaves, np.ones(len(df), dtype=bool))


def _known(codec: ColumnCodec, values: pd.Series) -> NDArray[np.bool_]:
    """Cells of a context column that the codec can encode."""
    gaps = values.isna().to_numpy()
    known = np.where(gaps, codec.missing or codec.common is not None, True)
    known[~gaps] = codec.inner.can_encode(codec.column.read(values[~gaps]))
    return known


def express_part(fitted: Fitted, partial: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Partial rows as the laws express them, and which cells are known: all that they are made of is given."""
    laws, names = fitted.codec.laws, fitted.schema.names
    there = pd.DataFrame({name: partial[name].notna() if name in partial else False for name in names}, partial.index)
    if not laws.laws:
        return partial, there
    whole = pd.concat([partial[n] if n in partial else _nothing(n, partial.index) for n in names], axis=1)
    known: dict[Name, pd.Series] = dict(there.items())
    for law, before, after in zip(laws.laws, laws.schemas, laws.schemas[1:], strict=False):
        made_of = np.logical_and.reduce([known[n].to_numpy() for n in (*law.writes, *law.reads)])
        for name in after.names:
            if name not in before.names:
                known[name] = pd.Series(made_of, partial.index)
    expressed = laws.express(whole).set_axis(partial.index)
    return expressed, pd.DataFrame({name: known[name] for name in laws.expressed_schema.names}, partial.index)


def _nothing(name: Name, index: pd.Index) -> pd.Series:
    return pd.Series(np.nan, index=index, name=name)


def _can_be_given(fitted: Fitted, place: int) -> bool:
    return bool(fitted.layout.slots_of(place)) and fitted.codec.columns[place].column.kind != IDENTIFIER


def column_of(fitted: Fitted, name: Name) -> tuple[int, ColumnCodec]:
    """Place and codec of a column that is learned as it is; one that a law computes is an error."""
    fitted.schema.column(name)  # says which there are when this is none of them
    place = fitted.codec.place_of(name)
    if place is None:
        law = fitted.codec.laws.by_column()[name]
        raise ConditionError(f"column {name!r} has no values of its own: {law.text}; ask for {_listed(law.reads)}")
    return place, fitted.codec.columns[place]


def allowed_by(fitted: Fitted, name: Name, value: Any) -> tuple[int, Allowed]:
    """Place of a learned column, and what a condition leaves of it."""
    column = fitted.schema.column(name)
    place, codec = column_of(fitted, name)
    measured = column.kind in MEASURED or (column.kind == CONSTANT and column.sort != "label")
    return place, codec.allow(as_condition(value, measured=measured))


def _listed(names: tuple[Name, ...]) -> str:
    return " and ".join(repr(name) for name in names) or "another column"


def check_rows(fitted: Fitted, df: pd.DataFrame) -> None:
    """Refuse columns that the model does not have, and an index that does not identify rows."""
    for name in df.columns:
        fitted.schema.column(name)
    if not df.index.is_unique:
        raise ConfigError("the index holds a label more than once; reset it first: df.reset_index(drop=True)")
    if not len(df):
        raise ConfigError("there are no rows")


def need_any_order(fitted: Fitted) -> None:
    """Refuse a network that can be given only what comes first; a forest answers in any order by particles."""
    if fitted.forest is None and not fitted.config.model.any_order:
        raise ConfigError(
            "the model was trained in table order only, as the paper's presets are; conditions and gaps "
            "need one fitted with model.softmax='allowed', as the preset auto is"
        )
