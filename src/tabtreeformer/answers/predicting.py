"""A column from the others.

Shapes: `N` rows, `K` ids of a target.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import ConditionError
from ..fitted import Fitted
from ..generation import judge, masked, mixed_chances
from ..model import SlotModel
from ..tokens.atoms import AtomCodec
from ..tokens.labels import LabelCodec
from ..tokens.times import TickCodec
from .given import Name, check_rows, column_of, given_part, need_any_order

PROMPTS = 4
"""Masked prompts over which a prediction from known leaves is averaged."""


def predict_proba(fitted: Fitted, df: pd.DataFrame, target: Name, seed: np.random.SeedSequence) -> pd.DataFrame:
    """Chances of each class of a column, given whatever the rows have of the others."""
    place, codec = column_of(fitted, target)
    if not isinstance(codec.inner, LabelCodec):
        raise ConditionError(f"column {target!r} is {codec.column.kind} and has no classes; use predict")
    chances = _chances(fitted, df, place, seed)[:, : len(codec.inner.labels.values)]
    return pd.DataFrame(chances, columns=list(codec.inner.labels.values), index=df.index)


def predict(fitted: Fitted, df: pd.DataFrame, target: Name, seed: np.random.SeedSequence) -> pd.Series:
    """The likeliest class of a column, or the mean of a number, given whatever the rows have of the others."""
    place, codec = column_of(fitted, target)
    inner = codec.inner
    if isinstance(inner, LabelCodec):
        chances = _chances(fitted, df, place, seed)[:, : len(inner.labels.values)]
        values = codec.column.write(inner.labels.decode(chances.argmax(1)))
    elif isinstance(inner, AtomCodec) or (isinstance(inner, TickCodec) and isinstance(inner.ticks, AtomCodec)):
        atoms, step = (inner, 1) if isinstance(inner, AtomCodec) else (inner.ticks, inner.step)
        assert isinstance(atoms, AtomCodec)
        middles = (atoms.lows / 2 + atoms.highs / 2) * step
        means = _chances(fitted, df, place, seed)[:, : len(middles)] @ middles
        values = pd.Series(means) if codec.column.sort == "number" else codec.column.write(np.rint(means))
    else:
        raise ConditionError(f"column {target!r} is {codec.column.kind} and cannot be predicted; draw it with impute")
    return pd.Series(values.array, index=df.index, name=target, dtype=values.dtype)


def _chances(fitted: Fitted, df: pd.DataFrame, place: int, seed: np.random.SeedSequence) -> NDArray[np.float64]:
    """Chances of the ids of a column (N, K), those of a missing value left out, averaged over networks and prompts."""
    need_any_order(fitted)
    slots = fitted.layout.slots_of(place)
    if len(slots) != 1:
        raise ConditionError(f"column {fitted.schema.names[place]!r} is more than one choice; draw it with impute")
    codec, rng = fitted.codec.columns[place], np.random.default_rng(seed)
    table = df.drop(columns=[fitted.schema.names[place]], errors="ignore")
    check_rows(fitted, table)
    part = given_part(fitted, table)
    result = np.zeros((len(df), fitted.layout.value_slots[slots[0]].size))
    known, unknown = np.flatnonzero(part.known), np.flatnonzero(~part.known)
    for network, bank in zip(fitted.models, fitted.prompts, strict=True):
        assert isinstance(network, SlotModel)
        for _ in range(PROMPTS if len(known) else 0):
            prompts = masked(part.leaves[known], fitted.config.train.leaf_mask, rng)
            result[known] += judge(network, prompts, part.ids[known], part.given[known], slots[0])[1] / PROMPTS
        if len(unknown):
            ids, given = part.ids[unknown], part.given[unknown]
            result[unknown] += mixed_chances(network, bank, ids, given, slots[0], rng)
    if codec.missing:
        result[:, codec.marks[0]] = 0.0
    if isinstance(codec.inner, LabelCodec):
        result[:, list(codec.inner.unnamed)] = 0.0  # rare values, none of which has a name
    chances: NDArray[np.float64] = result / result.sum(1, keepdims=True)
    return chances
