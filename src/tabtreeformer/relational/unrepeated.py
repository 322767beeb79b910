"""Makes composite keys unique: numbers are increased, texts get a number appended."""

from __future__ import annotations

import numpy as np
import pandas as pd


def without_repeats(numbers: pd.Series, groups: pd.DataFrame) -> pd.Series:
    """Make integers unique within each group: a repeated one becomes the previous number plus one."""
    group = groups.groupby(list(groups.columns), sort=False, dropna=False).ngroup().to_numpy()
    order = np.lexsort((numbers.to_numpy(), group))
    values, own = numbers.to_numpy()[order].astype(np.int64), group[order]
    starts = np.flatnonzero(np.concatenate([[True], own[1:] != own[:-1]]))
    place = np.arange(len(own)) - np.repeat(starts, np.diff(np.append(starts, len(own))))
    # Increase by at least one each: the running maximum of the numbers minus their position in the group.
    reached = pd.Series(values - place).groupby(own).cummax().to_numpy() + place
    result = np.empty(len(own), dtype=np.int64)
    result[order] = reached
    return pd.Series(result, index=numbers.index, name=numbers.name).astype(numbers.dtype)


def with_numbers(texts: pd.Series, groups: pd.DataFrame) -> pd.Series:
    """Make texts unique within each group: a repeated one gets a number appended."""
    texts = texts.copy()
    while (again := groups.assign(text=texts).duplicated()).any():
        place = groups.assign(text=texts).groupby([*groups.columns, "text"], dropna=False).cumcount() + 1
        texts = texts.where(~again, texts + " " + place.astype(str))
    return texts
