"""How likely rows are, and which are odd.

Shapes: `N` rows, `D` value slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from ..errors import ConfigError
from ..fitted import Fitted
from ..generation import blank
from ..model import SlotModel
from ..tokens.atoms import AtomCodec
from ..tokens.column import ColumnCodec
from ..tokens.times import TickCodec, TimeCodec
from .given import Name, check_rows, column_of, need_any_order

BATCH = 2048


def log_prob(
    fitted: Fitted, df: pd.DataFrame, *, by_column: bool = False, order: Sequence[Name] | None = None
) -> pd.Series | pd.DataFrame:
    """Log-probability of rows in nats, from blank prompts; for numbers between atoms a density.

    By column, each part is about the column given those before it in the order, that of the table unless another is
    given; parts add up to the whole.
    """
    places = None
    if order is not None:
        places = [column_of(fitted, name)[0] for name in order]
        if sorted(places) != list(range(len(fitted.schema.names))):
            raise ConfigError(f"order must name every column once, got {list(order)!r}")
    logs = _column_logs(fitted, df, places)
    frame = pd.DataFrame(logs, columns=list(fitted.schema.names), index=df.index)
    return frame if by_column else frame.sum(axis=1).rename("log_prob")


def outliers(fitted: Fitted, df: pd.DataFrame, n: int, n_columns: int = 3) -> pd.DataFrame:
    """The n rows that the model finds least likely, each with the columns that surprise it most given all others."""
    whole = log_prob(fitted, df)
    least = np.argsort(whole.to_numpy(), kind="stable")[:n]
    chosen = df.iloc[least]
    names = list(fitted.schema.names)
    surprise = np.zeros((len(chosen), len(names)))
    for place in range(len(names)):
        if fitted.layout.slots_of(place):
            others = [p for p in range(len(names)) if p != place]
            surprise[:, place] = -_column_logs(fitted, chosen, [*others, place])[:, place]
    most = np.argsort(-surprise, axis=1, kind="stable")[:, :n_columns]
    table = pd.DataFrame({"log_prob": whole.iloc[least].to_numpy()}, index=chosen.index)
    table["columns"] = [[names[p] for p in row] for row in most]
    return table


@torch.inference_mode()
def _column_logs(fitted: Fitted, df: pd.DataFrame, places: Sequence[int] | None) -> NDArray[np.float64]:
    """Logs of the mixture of both networks by column (N, columns), in an order of the columns or that of the table."""
    if not isinstance(fitted.models[0], SlotModel):
        raise ConfigError("likelihoods need a model with model.softmax='allowed', as the preset auto has")
    if places is not None:
        need_any_order(fitted)
    check_rows(fitted, df)
    absent = [name for name in fitted.schema.names if name not in df.columns]
    if absent:
        raise ConfigError(f"rows can be judged only as a whole; they lack {', '.join(map(repr, absent))}")
    ids, layout = fitted.codec.encode(df), fitted.layout
    tokens = torch.from_numpy(layout.to_tokens(blank(len(ids), layout.n_trees), ids))
    slots = list(range(layout.n_values))
    if places is not None:
        slots.sort(key=lambda i: places.index(layout.value_slots[i].column) if layout.value_slots[i].column >= 0 else 0)
    idle = _idle(fitted, ids)
    any_order = fitted.config.model.order == "any"
    logs = []
    for network in fitted.models:
        assert isinstance(network, SlotModel)
        network.eval()
        device = next(network.parameters()).device
        parts = []
        for start in range(0, len(ids), BATCH):
            rows = tokens[start : start + BATCH].to(device)
            order = torch.tensor([slots], device=device).expand(len(rows), -1) if any_order else None
            parts.append(network.log_probs(rows, order)[:, slots].cpu())
        logs.append(torch.cat(parts).numpy())
    # The networks are a mixture: what one says of a slot counts by how well it has told the slots before.
    joint = np.logaddexp(*(np.cumsum(np.where(idle[:, slots], 0.0, log), axis=1) for log in logs)) - np.log(2)  # (N, D)
    steps = np.diff(joint, axis=1, prepend=0.0)
    result = np.zeros((len(ids), len(fitted.schema.names)))
    for k, slot in enumerate(slots):
        column = layout.value_slots[slot].column
        if column >= 0:  # a table of constants has a slot of no column
            result[:, column] += steps[:, k]
    for place, codec in enumerate(fitted.codec.columns):
        result[:, place] -= _log_widths(codec, ids[:, layout.slots_of(place)])
    return result


def _idle(fitted: Fitted, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Slots (N, D) of missing values that come after the one that says so: whatever they hold, nothing is there."""
    idle = np.zeros(ids.shape, dtype=bool)
    for place, codec in enumerate(fitted.codec.columns):
        slots = fitted.layout.slots_of(place)
        if codec.missing and len(slots) > 1:
            idle[:, slots[1:]] = (ids[:, slots[0]] == codec.marks[0])[:, None]
    return idle


def _log_widths(codec: ColumnCodec, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log of how much an id stands for (N,), by which its chance is shared out; 0 for an atom and a missing value.

    For numbers that is a length in their own unit; for times and durations a number of steps of the column's clock.
    """
    inner, logs, start = codec.inner, np.zeros(len(ids)), 0
    parts: Sequence[Any] = [inner]
    if isinstance(inner, TickCodec):
        parts = [inner.ticks]
    elif isinstance(inner, TimeCodec):
        parts = [part for part in inner.parts if len(part.lows) > 1]
    for part in parts:
        if isinstance(part, AtomCodec) and ids.shape[1]:
            start += len(part.sizes)
            logs += np.log(part.widths[np.minimum(ids[:, start - 1], len(part.lows) - 1)])
    if codec.missing and ids.shape[1]:
        logs[ids[:, 0] == codec.marks[0]] = 0.0
    return logs
