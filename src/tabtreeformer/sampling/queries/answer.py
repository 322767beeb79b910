"""Rows under conditions, imputation, and classes in given shares."""

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
"""How often rows are redrawn if a law has moved them out of a condition."""


def sample_given(
    fitted: Fitted, rows: Writer, n: int, given: Mapping[Name, Any], places: NDArray[np.int64] | None = None
) -> pd.DataFrame:
    """Draw n rows, all of which meet the conditions; `places` are their positions in the block."""
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
    """Fill all gaps of a table, or those of some columns, n times; all draws of a row are made together."""
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
    """Draw part of n rows with equal or given shares of a column's classes, in random order."""
    if (balance is not None) == bool(mix) or (mix is not None and len(mix) != 1):
        raise ConfigError("give either balance, or mix with one column and the shares of its classes")
    name = balance if balance is not None else next(iter(mix or ()))
    column, wanted = fitted.schema.column(name), None if mix is None else mix[name]
    computed = fitted.codec.place_of(name) is None
    labels = _computed_classes(rows, column) if computed else _classes(fitted, name)
    shares = _shares(column, labels, wanted)
    if computed:  # both name the unknown class
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
    """Part of partial rows, repeated to fill n rows; the index is kept if each is used once."""
    if not len(partial):
        raise ConfigError("given has no rows")
    chosen = partial.iloc[np.arange(part.start, part.stop) % len(partial)]
    return chosen if n == len(partial) else chosen.set_axis(pd.RangeIndex(part.start, part.stop))


def _classes(fitted: Fitted, name: Name) -> Labels:
    _, codec = column_of(fitted, name)
    classes = codec.inner.classes()
    if classes is None:
        raise ConditionError(
            f"column {name!r} is {codec.column.kind} and has no classes; integers with few values are classes, and "
            f"schema.with_kind({name!r}, 'categorical') makes other numbers classes when fitting"
        )
    return classes


def _plain(labels: Labels, codes: NDArray[np.int64], column: Column) -> NDArray[Any]:
    """Classes as plain values of the column's type."""
    values = labels.decode(codes)
    return values.astype(np.int64) if column.sort == "number" else values


def _computed_classes(rows: Writer, column: Column) -> Labels:
    """Classes of a computed column: those that occur in unconditional rows."""
    if column.kind not in LABELLED:
        raise ConditionError(f"column {column.name!r} is {column.kind} and has no classes")
    return Labels.learn(column.read(rows.decode(rows.write(BLOCK))[column.name].dropna()), order=column.categories)


def _shares(column: Column, labels: Labels, wanted: Mapping[Any, float] | None) -> dict[Any, float]:
    """Relative frequency of each class."""
    if wanted is None:
        return dict.fromkeys(labels.values, 1.0)
    shares = {plain_value(column, value): share for value, share in wanted.items()}
    if not sum(shares.values()) > 0 or min(shares.values()) < 0:
        raise ConfigError(
            f"mix: the shares of {column.name!r} must be non-negative numbers, at least one of them positive"
        )
    return shares


def _classes_of_rows(shares: Mapping[Any, float], part: range, n: int) -> NDArray[np.int64]:
    """The class of each row of a part; the shares are exact over all n rows and nearly exact in each part."""
    ends = np.rint(np.cumsum(list(shares.values())) / sum(shares.values()) * n).astype(int)
    # The n rows are sorted by class; a part takes them in even strides that visit each once.
    strides = np.arange(part.start, part.stop) * _stride(n) % n
    return np.searchsorted(ends, strides, side="right")


def _stride(n: int) -> int:
    """A number near the golden section of n that is coprime to it."""
    return next(stride for stride in range(max(1, round(n * 0.618)), 2 * n + 2) if math.gcd(stride, n) == 1)
