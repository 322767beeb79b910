"""Predicts a column from the others.

Shapes: `N` rows, `K` ids of a target.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...artifact.fitted import Fitted
from ...data.schema import LABELLED, MEASURED
from ...errors import ConditionError
from ...tokens.codecs.base import Ids
from ...tokens.writer import Given
from ..writer import writer_of
from .answer import impute
from .given import Name, check_rows, column_of, given_part
from .table_order import chances_of, tried_ids

DRAWS = 16
"""Number of draws averaged for the prediction of a computed column."""


def predict_proba(
    fitted: Fitted, df: pd.DataFrame, target: Name, seed: np.random.SeedSequence, *, strict: bool = False
) -> pd.DataFrame:
    """Probability of each class of a column, given the known other values."""
    fitted.schema.column(target)
    if fitted.codec.place_of(target) is None:
        return _computed_shares(fitted, df, target, seed)
    place, codec = column_of(fitted, target)
    classes = codec.inner.classes()
    if classes is None:
        raise ConditionError(f"column {target!r} is {codec.column.kind} and has no classes; use predict")
    chances = _chances(fitted, df, place, seed, strict)[:, : len(classes.values)]
    return pd.DataFrame(chances, columns=list(classes.values), index=df.index)


def predict(
    fitted: Fitted, df: pd.DataFrame, target: Name, seed: np.random.SeedSequence, *, strict: bool = False
) -> pd.Series:
    """The most likely class of a column, or the mean of a number, given the known other values.

    Integers with few values are classes: 2.85 would be no prediction for the classes 1, 2 and 3.
    """
    fitted.schema.column(target)
    if fitted.codec.place_of(target) is None:
        return _computed(fitted, df, target, seed)
    place, codec = column_of(fitted, target)
    classes, middles = codec.inner.classes(), codec.inner.midpoints()
    if classes is not None:
        chances = _chances(fitted, df, place, seed, strict)[:, : len(classes.values)]
        found = classes.decode(chances.argmax(1))
        values = codec.column.write(found.astype(np.int64) if codec.column.sort == "number" else found)
    elif _in_table_order(fitted) and codec.column.kind in MEASURED:
        tried = tried_ids(codec.inner)
        numbers = np.asarray(codec.inner.decode(tried, np.random.default_rng(0)), dtype=np.float64)
        means = _tried_chances(fitted, df, place, tried, seed, strict) @ numbers
        values = pd.Series(means) if codec.column.sort == "number" else codec.column.write(np.rint(means))
    elif middles is not None:
        means = _chances(fitted, df, place, seed, strict)[:, : len(middles)] @ middles
        values = pd.Series(means) if codec.column.sort == "number" else codec.column.write(np.rint(means))
    else:
        raise ConditionError(f"column {target!r} is {codec.column.kind} and cannot be predicted; draw it with impute")
    return pd.Series(values.array, index=df.index, name=target, dtype=values.dtype)


def _computed(fitted: Fitted, df: pd.DataFrame, target: Name, seed: np.random.SeedSequence) -> pd.Series:
    """Predict a computed column by its law: the mean or mode over several draws of its unknown parts."""
    draws, column = _computed_draws(fitted, df, target, seed), fitted.schema.column(target)
    if draws.shape[1] == 1 or column.kind not in MEASURED:
        values = draws[0] if draws.shape[1] == 1 else draws.mode(axis=1)[0]
    elif column.sort == "number" and column.form is None:
        numbers = draws.astype(np.float64)
        values = numbers.mean(axis=1).where(numbers.nunique(axis=1) > 1, numbers[0])
    else:
        values = draws[0]
    return values.rename(target)


def _computed_shares(fitted: Fitted, df: pd.DataFrame, target: Name, seed: np.random.SeedSequence) -> pd.DataFrame:
    """Class probabilities of a computed column: frequencies over draws of its unknown parts."""
    column = fitted.schema.column(target)
    if column.kind not in LABELLED:
        raise ConditionError(f"column {target!r} is {column.kind} and has no classes; use predict")
    draws = _computed_draws(fitted, df, target, seed)
    classes = sorted(pd.unique(draws.to_numpy().ravel()).tolist(), key=str)
    return pd.DataFrame({label: (draws == label).mean(axis=1) for label in classes}, index=df.index)


def _computed_draws(fitted: Fitted, df: pd.DataFrame, target: Name, seed: np.random.SeedSequence) -> pd.DataFrame:
    """Draws of a computed column (N, draws); a single one if all its parts are given."""
    table = df.drop(columns=[target], errors="ignore")
    law = fitted.codec.laws.by_column()[target]
    whole = all(name in table and table[name].notna().all() for name in law.reads) and not getattr(law, "rest", None)
    rows = writer_of(fitted, fitted.config.sampling, seed, lambda n: None)
    draws = pd.concat([d[target] for d in impute(fitted, rows, table, 1 if whole else DRAWS)], axis=1)
    draws.columns = pd.RangeIndex(draws.shape[1])
    return draws


def _chances(
    fitted: Fitted, df: pd.DataFrame, place: int, seed: np.random.SeedSequence, strict: bool
) -> NDArray[np.float64]:
    """Probabilities of a column's ids (N, K) without missing, averaged over networks and prompts."""
    slots, name = fitted.layout.slots_of(place), fitted.codec.expressed.names[place]
    if len(slots) != 1:
        raise ConditionError(f"column {name!r} has several ids per value; use impute")
    codec = fitted.codec.columns[place]
    if _in_table_order(fitted):
        tried = np.arange(fitted.layout.value_slots[slots[0]].size)[:, None]
        result = _tried_chances(fitted, df, place, tried, seed, strict)
    else:
        part = _others(fitted, df, name, strict)
        result = writer_of(fitted).chances(part, slots[0], np.random.default_rng(seed))
    if codec.missing:
        result[:, codec.missing_id] = 0.0
    result[:, list(codec.inner.unnamed_ids())] = 0.0  # unnamed rare values
    chances: NDArray[np.float64] = result / result.sum(1, keepdims=True)
    return chances


def _others(fitted: Fitted, df: pd.DataFrame, name: Name, strict: bool) -> Given:
    """The given part of the other columns."""
    table = df.drop(columns=[name], errors="ignore")
    check_rows(fitted, table)
    return given_part(fitted, table, strict=strict)


def _in_table_order(fitted: Fitted) -> bool:
    """Whether the networks were trained in table order only, as in the paper's presets."""
    return fitted.forest is None and not fitted.config.model.any_order


def _tried_chances(
    fitted: Fitted, df: pd.DataFrame, place: int, tried: Ids, seed: np.random.SeedSequence, strict: bool
) -> NDArray[np.float64]:
    """Probabilities of candidate values (N, K), from the likelihood of the row with each."""
    name = fitted.codec.expressed.names[place]
    part = _others(fitted, df, name, strict)
    return chances_of(fitted, part, name, tried, np.random.default_rng(seed))
