"""Rows under conditions, gaps that are filled, and classes in stated shares."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...artifact.fitted import Fitted
from ...data.schema import LABELLED, Column, Labels
from ...errors import ConditionError, ConfigError
from ...tokens.codecs.labels import label_mask
from ...tokens.codecs.plain_values import plain_value
from ...tokens.conditions import isin
from ..writer import BLOCK, Writer
from .complete import complete
from .derived import Goal
from .draws import Draws
from .given import Name, allowed_by, check_rows, column_of, need_any_order

ROUNDS = 50
"""How often rows are drawn again that a law has moved out of a condition."""


def sample_given(
    fitted: Fitted, rows: Writer, n: int, given: Mapping[Name, Any], places: NDArray[np.int64] | None = None
) -> pd.DataFrame:
    """Write n rows, all of which meet the conditions; `places` are theirs in the block."""
    need_any_order(fitted)
    places = np.arange(n) if places is None else places
    allowed, goals = {}, []
    for name, value in given.items():
        column = fitted.schema.column(name)
        if fitted.codec.place_of(name) is None:
            goals.append(Goal.of(column, value))
            continue
        place, allowed[place] = allowed_by(fitted, name, value)
    draws = Draws(fitted, rows, allowed, goals)
    frame = draws.draw(places, attempt=0)
    if not fitted.codec.texts:
        return frame
    for attempt in range(ROUNDS):
        bad = np.flatnonzero(~draws.fine(frame))
        if not len(bad):
            return frame
        again = draws.draw(places[bad], attempt)
        frame = pd.concat([frame.drop(index=bad), again.set_axis(bad)]).sort_index()
    raise ConditionError(
        f"{len(bad):,} of {n:,} rows cannot meet the conditions and keep the laws "
        f"{', '.join(fitted.codec.texts)}; give other conditions, or fit without a law"
    )


def impute(
    fitted: Fitted,
    rows: Writer,
    table: pd.DataFrame,
    n_draws: int,
    *,
    columns: Collection[Name] | None = None,
    strict: bool = False,
) -> list[pd.DataFrame]:
    """The table without its gaps, or without those of some columns, n times; all draws of a row are made together."""
    check_rows(fitted, table)
    for name in columns or ():
        fitted.schema.column(name)
    copies = table.iloc[np.tile(np.arange(len(table)), n_draws)].reset_index(drop=True)
    filled = complete(fitted, rows, copies, fill=True, strict=strict)
    if columns is not None:
        for name in table.columns:
            if name not in columns:
                filled[name] = copies[name]
        filled = filled[[name for name in filled.columns if name in table.columns or name in columns]]
    return [filled.iloc[k * len(table) : (k + 1) * len(table)].set_axis(table.index, axis=0) for k in range(n_draws)]


def sample_shares(
    fitted: Fitted,
    rows: Writer,
    part: range,
    n: int,
    balance: Name | None,
    mix: Mapping[Name, Mapping[Any, float]] | None,
) -> pd.DataFrame:
    """Write part of n rows in which the classes of a column come in equal or stated shares, in random order."""
    if (balance is not None) == bool(mix) or (mix is not None and len(mix) != 1):
        raise ConfigError("give either balance, or mix with one column and the shares of its classes")
    name = balance if balance is not None else next(iter(mix or ()))
    column, wanted = fitted.schema.column(name), None if mix is None else mix[name]
    computed = fitted.codec.place_of(name) is None
    labels = _computed_classes(rows, column) if computed else _classes(fitted, name)
    shares = _shares(column, labels, wanted)
    if computed:  # both say which class is unknown
        label_mask(labels, len(labels.values), isin(shares), column, protected=False)
    else:
        column_of(fitted, name)[1].allow(isin(shares))
    chosen = _classes_of_rows(shares, part, n)[rows.rng.permutation(len(part))]
    if not computed:
        codes = np.array([labels.values.index(value) for value in shares])[chosen]
        partial = (
            column.write(_plain(labels, codes, column)).to_frame(name).set_axis(pd.RangeIndex(part.start, part.stop))
        )
        return complete(fitted, rows, partial, fill=False)
    frames = []
    for k, value in enumerate(shares):
        places = np.flatnonzero(chosen == k)
        if len(places):
            frames.append(sample_given(fitted, rows, len(places), {name: [value]}, places).set_axis(places))
    return pd.concat(frames).sort_index().set_axis(pd.RangeIndex(part.start, part.stop))


def repeated(partial: pd.DataFrame, part: range, n: int) -> pd.DataFrame:
    """Part of partial rows, each as often as n rows need; the index is kept where each is wanted once."""
    if not len(partial):
        raise ConfigError("given holds no rows")
    chosen = partial.iloc[np.arange(part.start, part.stop) % len(partial)]
    return chosen if n == len(partial) else chosen.set_axis(pd.RangeIndex(part.start, part.stop))


def _classes(fitted: Fitted, name: Name) -> Labels:
    _, codec = column_of(fitted, name)
    classes = codec.inner.classes()
    if classes is None:
        raise ConditionError(
            f"column {name!r} is {codec.column.kind} and has no classes to share out; whole numbers with few values "
            f"are classes, and schema.with_kind({name!r}, 'categorical') makes other numbers classes when fitting"
        )
    return classes


def _plain(labels: Labels, codes: NDArray[np.int64], column: Column) -> NDArray[Any]:
    """Classes as plain values of the column's sort."""
    values = labels.decode(codes)
    return values.astype(np.int64) if column.sort == "number" else values


def _computed_classes(rows: Writer, column: Column) -> Labels:
    """Classes of a column that a law computes: those that come in free rows."""
    if column.kind not in LABELLED:
        raise ConditionError(f"column {column.name!r} is {column.kind} and has no classes to share out")
    return Labels.learn(column.read(rows.decode(rows.write(BLOCK))[column.name].dropna()), order=column.categories)


def _shares(column: Column, labels: Labels, wanted: Mapping[Any, float] | None) -> dict[Any, float]:
    """How often each class is wanted, up to a factor."""
    if wanted is None:
        return dict.fromkeys(labels.values, 1.0)
    shares = {plain_value(column, value): share for value, share in wanted.items()}
    if not sum(shares.values()) > 0 or min(shares.values()) < 0:
        raise ConfigError(f"mix: the shares of {column.name!r} must be numbers from 0, one of them above 0")
    return shares


def _classes_of_rows(shares: Mapping[Any, float], part: range, n: int) -> NDArray[np.int64]:
    """Which class each row of a part has: in their shares exactly over all n, nearly in each part."""
    ends = np.rint(np.cumsum(list(shares.values())) / sum(shares.values()) * n).astype(int)
    # All n are in the order of their classes; a part takes them in even strides that reach each once.
    strides = np.arange(part.start, part.stop) * _stride(n) % n
    return np.searchsorted(ends, strides, side="right")


def _stride(n: int) -> int:
    """A number near the golden section of n that has no divisor in common with it."""
    return next(stride for stride in range(max(1, round(n * 0.618)), 2 * n + 2) if math.gcd(stride, n) == 1)
