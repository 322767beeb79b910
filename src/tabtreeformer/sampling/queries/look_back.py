"""For a given target of a lookup law: exchange drawn keys for keys that lead to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...artifact.fitted import Fitted
from ...laws.lookup import Lookup
from .derived import Goal


def look_back(
    fitted: Fitted, expressed: pd.DataFrame, goals: Sequence[Goal], fixed: pd.DataFrame, rng: np.random.Generator
) -> pd.DataFrame:
    """Exchange keys of a lookup in expressed rows so that its target is as given; `fixed` cells stay."""
    laws = fitted.codec.laws
    by_column = laws.by_column()
    for goal in goals:
        law = by_column.get(goal.column.name)
        if not isinstance(law, Lookup) or not all(laws.passes(key) for key in law.keys):
            continue
        bad = np.flatnonzero(~goal.met(laws.restore(expressed, rng, [law.target])[law.target]))
        if len(bad):
            expressed = _exchanged(law, goal, expressed, fixed, bad, rng)
    return expressed


def _exchanged(
    law: Lookup,
    goal: Goal,
    expressed: pd.DataFrame,
    fixed: pd.DataFrame,
    bad: NDArray[np.int64],
    rng: np.random.Generator,
) -> pd.DataFrame:
    assert goal.values is not None
    expressed = expressed.copy()
    columns = {key: expressed[key].astype(object) for key in law.keys}
    wanted = goal.column.read(goal.values.iloc[bad]).to_numpy()
    combinations = list(law.rows)
    for row, value in zip(bad, wanted, strict=True):
        held = [(place, columns[key].iloc[row]) for place, key in enumerate(law.keys) if fixed[key].iloc[row]]
        fits = [keys for keys, target in combinations if target == value and all(keys[p] == v for p, v in held)]
        if fits:
            for key, own in zip(law.keys, fits[int(rng.integers(len(fits)))], strict=True):
                columns[key].iloc[row] = own
    for key, series in columns.items():
        try:
            expressed[key] = series.astype(expressed[key].dtype)
        except (TypeError, ValueError):
            continue
    return expressed
