"""Likelihoods of rows, and outliers.

Shapes: `N` rows, `D` value slots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...artifact.fitted import Fitted
from ...errors import ConfigError
from ..writer import writer_of
from .beyond import Beyond, refuse_new
from .given import Name, check_rows, need_any_order, whole_rows

UNLIKELY = 3.0
"""Minimum surprise in nats for naming a column: one row in twenty."""


def log_prob(
    fitted: Fitted,
    df: pd.DataFrame,
    *,
    by_column: bool = False,
    order: Sequence[Name] | None = None,
    strict: bool = False,
) -> pd.Series | pd.DataFrame:
    """Log-probability of rows in nats; for numbers between atoms a density.

    Prompts are blank. Networks trained without blank prompts (the paper's presets) get the row's own leaves, and the
    result is conditional on them.

    With `by_column`, each part is for the column given those before it in `order` (by default that of the table); the
    parts add up to the total. Unknown values lower the result (`beyond.py`); with `strict` they are an error.
    """
    check_whole(fitted, df)
    if strict:
        refuse_new(fitted, df)
    return _log_prob(fitted, df, Beyond.of(fitted, df), by_column=by_column, order=order)


def _log_prob(
    fitted: Fitted,
    df: pd.DataFrame,
    beyond: Beyond,
    *,
    by_column: bool = False,
    order: Sequence[Name] | None = None,
) -> pd.Series | pd.DataFrame:
    places = None
    if order is not None:
        places = [place for name in order for place in _places(fitted, name)]
        if len(order) != len(fitted.schema.names) or set(order) != set(fitted.schema.names):
            raise ConfigError(f"order must name every column once, got {list(order)!r}")
    logs = _by_column(fitted, _column_logs(fitted, df, beyond, places))
    for place, name in enumerate(fitted.schema.names):
        logs[:, place] = beyond.applied(name, logs[:, place])
    frame = pd.DataFrame(logs, columns=list(fitted.schema.names), index=df.index)
    return frame if by_column else frame.sum(axis=1).rename("log_prob")


def outliers(fitted: Fitted, df: pd.DataFrame, n: int, n_columns: int = 3, *, strict: bool = False) -> pd.DataFrame:
    """The n least likely rows, each with its most surprising columns and a reason."""
    check_whole(fitted, df)
    if strict:
        refuse_new(fitted, df)
    whole = _log_prob(fitted, df, Beyond.of(fitted, df))
    least = np.argsort(whole.to_numpy(), kind="stable")[:n]
    chosen = df.iloc[least]
    names = list(fitted.schema.names)
    beyond = Beyond.of(fitted, chosen)
    surprise = _surprise(fitted, chosen, beyond)
    most = np.argsort(-surprise, axis=1, kind="stable")[:, :n_columns]
    table = pd.DataFrame({"log_prob": whole.iloc[least].to_numpy()}, index=chosen.index)
    table["columns"] = [[names[p] for p in row] for row in most]
    table["reason"] = [
        _reason(chosen.iloc[k], beyond.reasons[k], {names[p]: surprise[k, p] for p in row})
        for k, row in enumerate(most)
    ]
    return table


def _reason(row: pd.Series, new: Mapping[Name, str], surprise: Mapping[Name, float]) -> str:
    """Why a row is unlikely: its new values, or the columns that fit the others worst."""
    if new:
        return "; ".join(new.values())
    said = [f"{name} = {row[name]!s:.40}" for name, nats in surprise.items() if nats > UNLIKELY]
    return f"rare in combination with its other values: {', '.join(said)}" if said else "no single column is unusual"


def _surprise(fitted: Fitted, df: pd.DataFrame, beyond: Beyond) -> NDArray[np.float64]:
    """Surprise of each column given all others, in nats (N, columns)."""
    need_any_order(fitted)
    rows, writer, layout = whole_rows(fitted, df, beyond.expressed), writer_of(fitted), fitted.layout
    assert rows.ids is not None
    idle = _idle(fitted, rows.ids)
    surprise = np.zeros((len(df), len(fitted.schema.names)))
    for column, name in enumerate(fitted.schema.names):
        own = [place for place in _places(fitted, name) if layout.slots_of(place)]
        if own:
            widths = sum(fitted.codec.columns[place].log_widths(rows.ids[:, layout.slots_of(place)]) for place in own)
            surprise[:, column] = widths - writer.log_prob_given_others(rows, layout.slots_of(*own), idle)
        surprise[:, column] = -beyond.applied(name, -surprise[:, column])
    return surprise


def _places(fitted: Fitted, name: Name) -> list[int]:
    """Indices of the learned columns for a column of the table; empty if a law computes it."""
    fitted.schema.column(name)
    origins = fitted.codec.laws.origins
    return [place for place, own in enumerate(fitted.codec.expressed.names) if origins[own] == name]


def _by_column(fitted: Fitted, logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum log-probabilities of learned columns (N, learned) by table column (N, columns); computed columns
    add nothing.
    """
    result = np.zeros((len(logs), len(fitted.schema.names)))
    for place, name in enumerate(fitted.codec.expressed.names):
        result[:, fitted.schema.names.index(fitted.codec.laws.origins[name])] += logs[:, place]
    return result


def check_whole(fitted: Fitted, df: pd.DataFrame) -> None:
    """Refuse rows that lack a column."""
    check_rows(fitted, df)
    absent = [name for name in fitted.schema.names if name not in df.columns]
    if absent:
        raise ConfigError(f"the likelihood needs complete rows; these lack {', '.join(map(repr, absent))}")


def _column_logs(fitted: Fitted, df: pd.DataFrame, beyond: Beyond, places: Sequence[int] | None) -> NDArray[np.float64]:
    """Log-probabilities by learned column (N, columns), in a given order or that of the table."""
    if places is not None:
        need_any_order(fitted)
    rows, layout = whole_rows(fitted, df, beyond.expressed), fitted.layout
    assert rows.ids is not None
    slots = list(range(layout.n_values))
    if places is not None:
        slots.sort(key=lambda i: places.index(layout.value_slots[i].column) if layout.value_slots[i].column >= 0 else 0)
    steps = writer_of(fitted).log_prob(rows, slots, _idle(fitted, rows.ids))
    result = np.zeros((len(df), len(fitted.codec.columns)))
    for k, slot in enumerate(slots):
        column = layout.value_slots[slot].column
        if column >= 0:  # a table of constants has a slot of no column
            result[:, column] += steps[:, k]
    scales = fitted.codec.laws.log_scales(df) if fitted.codec.laws.laws else {}
    for place, codec in enumerate(fitted.codec.columns):
        widths = codec.log_widths(rows.ids[:, layout.slots_of(place)])
        # A change of variables rescales densities, but not the probabilities of single values.
        result[:, place] += np.where(widths != 0, scales.get(codec.column.name, 0.0), 0.0) - widths
    for name, follows in fitted.codec.laws.determined(df).items():
        result[follows, fitted.codec.expressed.names.index(name)] = 0.0
    return result


def _idle(fitted: Fitted, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Mask (N, D) of slots after the one that marks a missing value; their content is meaningless."""
    idle = np.zeros(ids.shape, dtype=bool)
    for place, codec in enumerate(fitted.codec.columns):
        slots = fitted.layout.slots_of(place)
        if codec.missing and len(slots) > 1:
            idle[:, slots[1:]] = (ids[:, slots[0]] == codec.missing_id)[:, None]
    return idle
