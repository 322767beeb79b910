"""The given part of rows, as ids and as leaves."""

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
    """The given part of rows as ids, and their leaves if all features of the trees are given.

    In `context` columns a missing value counts as given. Unknown labels count as not given; with `strict` they are an
    error.
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
            if context or not strict:  # a context may contain values generated for another table
                known &= fitted.tree_encoder.knows(partial)
            if known.any():
                leaves[known] = fitted.leaf_model.leaves(fitted.tree_encoder.features(partial[known]))
    return Given({}, ids, given, leaves, known)


def whole_rows(fitted: Fitted, df: pd.DataFrame, expressed: pd.DataFrame) -> Given:
    """Expressed whole rows as ids, and their leaves if the networks do not know blank prompts."""
    ids = fitted.codec.encode_expressed(expressed).astype(np.int32)
    known = np.ones(ids.shape, dtype=bool)
    if fitted.tree_encoder is None or not fitted.layout.n_trees or fitted.config.model.any_order:
        return Given({}, ids, known)
    cells = df.copy()
    for source in fitted.tree_encoder.sources:  # trees can handle missing values
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
    """Expressed partial rows, and a mask of the cells whose sources are all given."""
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
    """Index and codec of a directly learned column; a computed column is an error."""
    fitted.schema.column(name)  # raises an error that lists the columns
    place = fitted.codec.place_of(name)
    if place is None:
        law = fitted.codec.laws.by_column()[name]
        raise ConditionError(f"column {name!r} is computed ({law.text}); use {_listed(law.reads)} instead")
    return place, fitted.codec.columns[place]


def allowed_by(fitted: Fitted, name: Name, value: Any) -> tuple[int, Allowed]:
    """Index of a learned column, and the ids that a condition allows."""
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
        raise ConfigError("the index has duplicate labels; reset it first: df.reset_index(drop=True)")
    if not len(df):
        raise ConfigError("there are no rows")


def need_any_order(fitted: Fitted) -> None:
    """Refuse a network trained in table order only; forests can condition on any columns."""
    if fitted.forest is None and not fitted.config.model.any_order:
        raise ConfigError(
            "the model was trained in table order only, as the paper's presets are; conditions and imputation need a "
            "model fitted with model.softmax='allowed', as the preset auto is"
        )
