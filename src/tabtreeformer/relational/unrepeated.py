"""Keys of several columns that do not repeat: numbers go on, texts get a number."""

from __future__ import annotations

import numpy as np
import pandas as pd


def without_repeats(numbers: pd.Series, groups: pd.DataFrame) -> pd.Series:
    """Whole numbers that do not repeat within a group: one that would is one more than the number before it."""
    group = groups.groupby(list(groups.columns), sort=False, dropna=False).ngroup().to_numpy()
    order = np.lexsort((numbers.to_numpy(), group))
    values, own = numbers.to_numpy()[order].astype(np.int64), group[order]
    starts = np.flatnonzero(np.concatenate([[True], own[1:] != own[:-1]]))
    place = np.arange(len(own)) - np.repeat(starts, np.diff(np.append(starts, len(own))))
    # Rising by at least one each: the largest so far of what is left after the place in the group is taken off.
    reached = pd.Series(values - place).groupby(own).cummax().to_numpy() + place
    result = np.empty(len(own), dtype=np.int64)
    result[order] = reached
    return pd.Series(result, index=numbers.index, name=numbers.name).astype(numbers.dtype)


def with_numbers(texts: pd.Series, groups: pd.DataFrame) -> pd.Series:
    """Texts that do not repeat within a group: one that would gets a number at its end."""
    texts = texts.copy()
    while (again := groups.assign(text=texts).duplicated()).any():
        place = groups.assign(text=texts).groupby([*groups.columns, "text"], dropna=False).cumcount() + 1
        texts = texts.where(~again, texts + " " + place.astype(str))
    return texts
