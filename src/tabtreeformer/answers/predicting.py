"""A column from the others.

Shapes: `N` rows, `K` ids of a target.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from ..errors import ConditionError
from ..fitted import Fitted
from ..generation import blank, masked
from ..tokens.atoms import AtomCodec
from ..tokens.labels import LabelCodec
from ..tokens.times import TickCodec
from .given import Name, by_pattern, check_rows, column_of, encode_known, known_leaves, need_any_order

BATCH = 2048
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
    size = fitted.layout.value_slots[slots[0]].size
    result = np.zeros((len(df), size))
    for known, part in by_pattern(fitted, table):
        rows = table.index.get_indexer(part.index)
        ids = encode_known(fitted, known, part)
        leaves = known_leaves(fitted, known, part)
        given = [slot for other in known for slot in fitted.layout.slots_of(other)]
        for _ in range(1 if leaves is None else PROMPTS):
            if leaves is None:
                prompts = blank(len(part), fitted.layout.n_trees)
            else:
                prompts = masked(leaves, fitted.config.train.leaf_mask, rng)
            result[rows] += _slot_chances(fitted, prompts, ids, given, slots[0])
    if codec.missing:
        result[:, codec.marks[0]] = 0.0
    if isinstance(codec.inner, LabelCodec):
        result[:, list(codec.inner.unnamed)] = 0.0  # rare values, none of which has a name
    chances: NDArray[np.float64] = result / result.sum(1, keepdims=True)
    return chances


@torch.inference_mode()
def _slot_chances(
    fitted: Fitted, prompts: NDArray[np.int32], ids: NDArray[np.int64], given: Sequence[int], slot: int
) -> NDArray[np.float64]:
    """Chances of the ids of a slot after the given ones (N, K), summed over the networks."""
    layout, total = fitted.layout, None
    tokens = torch.from_numpy(layout.to_tokens(prompts, ids))
    T = layout.n_trees
    rest = [i for i in range(layout.n_values) if i not in {*given, slot}]
    order = torch.tensor([[*given, slot, *rest]])
    for network in fitted.models:
        network.eval()
        device = next(network.parameters()).device
        parts = []
        for start in range(0, len(ids), BATCH):
            rows = tokens[start : start + BATCH].to(device)
            inputs = torch.cat([rows[:, : 1 + T], rows[:, 1 + T : -1][:, list(given)]], dim=1)
            hidden = network.hidden(inputs, order=order.to(device))[:, -1]
            drawn = torch.from_numpy(ids[start : start + BATCH]).to(device)
            parts.append(torch.softmax(network.slot_logits(hidden, slot, drawn).double(), 1).cpu())
        chances = torch.cat(parts)
        total = chances if total is None else total + chances
    assert total is not None
    return total.numpy()
