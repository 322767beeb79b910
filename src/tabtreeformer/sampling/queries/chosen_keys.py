"""Keys given by the user: the customers of new orders, the numbers of new customers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...artifact.fitted import Fitted
from ...data.schema import IDENTIFIER
from ...errors import ConditionError
from .questions import Question

Keys = Mapping[str | int, Sequence[Any]]


def with_keys(fitted: Fitted, question: Question, keys: Keys, n: int) -> Question:
    """The same rows with keys from the given lists.

    For a unique key, rows take them in order, so there must be one per row. If rows share keys, rows that share a
    generated key share one of the list.
    """
    shared = {name: _is_shared(fitted, name, values, n) for name, values in keys.items()}

    def answer(rows: Any, part: range) -> pd.DataFrame:
        frame = question(rows, part)
        for name, values in keys.items():
            if shared[name]:
                hashes = pd.util.hash_array(frame[name].astype(str).to_numpy(dtype=object))
                places = (hashes % np.uint64(len(values))).astype(np.int64)
            else:
                places = np.arange(part.start, part.stop)
            chosen = pd.Series([values[place] for place in places.tolist()], index=frame.index)
            try:
                frame[name] = chosen.astype(frame[name].dtype)
            except (TypeError, ValueError, OverflowError) as error:
                raise ConditionError(f"keys of {name!r} do not fit its dtype {frame[name].dtype}: {error}") from error
        return frame

    return answer


def _is_shared(fitted: Fitted, name: str | int, values: Sequence[Any], n: int) -> bool:
    """Whether rows share keys of a column; a column without keys, or a list that is too short, is an error."""
    column = fitted.schema.column(name)
    place = fitted.codec.place_of(name)
    if column.kind != IDENTIFIER or place is None:
        raise ConditionError(
            f"column {name!r} is {column.kind}, not a key: its values are learned, and given={{{name!r}: …}} asks "
            f"for some; schema.with_kind({name!r}, 'identifier') makes it a key"
        )
    shared = bool(getattr(fitted.codec.columns[place].inner, "repeats", ()))
    if len(values) < (1 if shared else n):
        raise ConditionError(f"{n:,} rows need as many keys of {name!r}, all different; {len(values):,} given")
    if not shared and len(set(values)) < len(values):
        raise ConditionError(f"each key of {name!r} is unique, but some were given twice")
    return shared
