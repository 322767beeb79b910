"""Rows under conditions, whole rows for partial ones, and classes in stated shares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..conditions import as_condition, present
from ..errors import ConditionError, ConfigError
from ..fitted import Fitted
from ..generation import RowWriter
from ..schema import CONSTANT, IDENTIFIER, MEASURED
from ..tokens.allowed import Allowed, allow, holds, unknown_label
from ..tokens.column import ColumnCodec
from ..tokens.labels import LabelCodec
from .given import Name, check_rows, column_of, given_part, need_any_order

ROUNDS = 50
"""How often rows are drawn anew that a relation between columns has moved out of a condition."""


def sample_given(fitted: Fitted, rows: RowWriter, n: int, given: Mapping[Name, Any]) -> pd.DataFrame:
    """Write n rows that meet the conditions, all of them, always."""
    need_any_order(fitted)
    allowed = {}
    for name, value in given.items():
        place, codec = column_of(fitted, name)
        measured = codec.column.kind in MEASURED or (codec.column.kind == CONSTANT and codec.column.sort != "label")
        allowed[place] = allow(codec, as_condition(value, measured=measured))
    frame = rows.decode(rows.rows_within(n, allowed), within=allowed)
    if not fitted.codec.rules.rules:
        return frame
    for _ in range(ROUNDS):
        bad = np.flatnonzero(~_meets(fitted, allowed, frame))
        if not len(bad):
            return frame
        again = rows.decode(rows.rows_within(len(bad), allowed), bad, allowed)
        frame = pd.concat([frame.drop(index=bad), again.set_axis(bad)]).sort_index()
    raise ConditionError(
        f"{len(bad):,} of {n:,} rows cannot meet the conditions and keep the relations "
        f"{', '.join(fitted.codec.rules.texts)}; give other conditions, or fit without a relation"
    )


def complete(fitted: Fitted, rows: RowWriter, partial: pd.DataFrame, *, fill: bool) -> pd.DataFrame:
    """Whole rows for partial ones: what is there stays, what is missing is drawn; index and order are kept.

    With `fill` what is drawn is never itself a missing value.
    """
    need_any_order(fitted)
    check_rows(fitted, partial)
    codecs = fitted.codec.columns if fill else ()
    limits = {p: _present(c) for p, c in enumerate(codecs) if c.missing and fitted.layout.slots_of(p)}
    drawn = rows.decode(rows.completed(given_part(fitted, partial), limits))
    return _as_fitted(fitted, _keep_given(drawn, partial))


def impute(fitted: Fitted, rows: RowWriter, table: pd.DataFrame, n_draws: int) -> list[pd.DataFrame]:
    """The table without its gaps, n times; all draws of a row are made together."""
    check_rows(fitted, table)
    copies = table.iloc[np.tile(np.arange(len(table)), n_draws)].reset_index(drop=True)
    filled = complete(fitted, rows, copies, fill=True)
    return [filled.iloc[k * len(table) : (k + 1) * len(table)].set_axis(table.index, axis=0) for k in range(n_draws)]


def sample_shares(
    fitted: Fitted,
    rows: RowWriter,
    part: range,
    n: int,
    balance: Name | None,
    mix: Mapping[Name, Mapping[Any, float]] | None,
) -> pd.DataFrame:
    """Write part of n rows in which the classes of a column come in equal or stated shares, in random order."""
    partial = _shares_as_rows(fitted, part, n, balance, mix)
    mixed = partial.iloc[rows.rng.permutation(len(part))].set_axis(pd.RangeIndex(part.start, part.stop))
    return complete(fitted, rows, mixed, fill=False)


def repeated(partial: pd.DataFrame, part: range, n: int) -> pd.DataFrame:
    """Part of partial rows, each as often as n rows need; the index is kept where each is wanted once."""
    if not len(partial):
        raise ConfigError("given holds no rows")
    chosen = partial.iloc[np.arange(part.start, part.stop) % len(partial)]
    return chosen if n == len(partial) else chosen.set_axis(pd.RangeIndex(part.start, part.stop))


def _shares_as_rows(
    fitted: Fitted, part: range, n: int, balance: Name | None, mix: Mapping[Name, Mapping[Any, float]] | None
) -> pd.DataFrame:
    """Partial rows with the classes of a column in equal or stated shares: exactly over all n, nearly in each part."""
    if (balance is not None) == bool(mix) or (mix is not None and len(mix) != 1):
        raise ConfigError("give either balance, or mix with one column and the shares of its classes")
    name = balance if balance is not None else next(iter(mix or ()))
    _, codec = column_of(fitted, name)
    if not isinstance(codec.inner, LabelCodec):
        raise ConditionError(f"column {name!r} is {codec.column.kind} and has no classes to share out")
    labels = codec.inner.labels.values
    shares = dict.fromkeys(labels, 1.0) if balance is not None else dict((mix or {})[name])
    unknown = [value for value in shares if value not in labels]
    if unknown:
        raise ConditionError(unknown_label(codec, unknown[0]))
    total = sum(shares.values())
    if not total > 0 or min(shares.values()) < 0:
        raise ConfigError(f"mix: the shares of {name!r} must be numbers from 0, one of them above 0")
    ends = np.rint(np.cumsum([share / total for share in shares.values()]) * n).astype(int)
    # All n stand in the order of their classes; a part takes them in even strides that meet each once.
    strides = np.arange(part.start, part.stop) * _stride(n) % n
    codes = np.array([labels.index(value) for value in shares])[np.searchsorted(ends, strides, side="right")]
    return codec.column.write(codec.inner.labels.decode(codes)).to_frame(name)


def _stride(n: int) -> int:
    """A number near the golden section of n that has no divisor in common with it."""
    return next(stride for stride in range(max(1, round(n * 0.618)), 2 * n + 2) if math.gcd(stride, n) == 1)


def _present(codec: ColumnCodec) -> Allowed:
    """Any value but a missing one; of a key, which cannot be given, it says only that there is one."""
    if codec.column.kind == IDENTIFIER:
        return Allowed((np.array([True, False]),))
    return allow(codec, present())


def _keep_given(drawn: pd.DataFrame, partial: pd.DataFrame) -> pd.DataFrame:
    """Put what was given back over what was drawn, to the bit."""
    drawn.index = partial.index
    for name in partial.columns:
        known = partial[name].notna()
        if known.all():
            drawn[name] = partial[name]
        elif known.any():
            drawn[name] = pd.concat([partial[name][known], drawn[name][~known]]).loc[partial.index]
    return drawn


def _as_fitted(fitted: Fitted, frame: pd.DataFrame) -> pd.DataFrame:
    """Give columns the dtype of the fitted table where no value changes by it: 3.0 is a 3 again once no gap is left."""
    for column in fitted.schema.columns:
        series = frame[column.name]
        wanted = column.write(np.zeros(0, dtype=object if column.sort == "label" else np.int64)).dtype
        if series.dtype == wanted:
            continue
        if isinstance(wanted, pd.CategoricalDtype) and not series.dropna().isin(wanted.categories).all():
            continue  # a rare category that was given is in no list of the model
        try:
            cast = series.astype(wanted)
        except (ValueError, TypeError):
            continue
        same = (cast == series) | (cast.isna() & series.isna())
        if same.fillna(False).all():
            frame[column.name] = cast
    return frame


def _meets(fitted: Fitted, allowed: Mapping[int, Allowed], frame: pd.DataFrame) -> NDArray[np.bool_]:
    fine = np.ones(len(frame), dtype=bool)
    for place, limits in allowed.items():
        codec = fitted.codec.columns[place]
        fine &= holds(codec, limits, frame[codec.column.name])
    return fine
