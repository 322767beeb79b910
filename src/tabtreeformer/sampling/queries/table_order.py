"""Predictions of networks trained in table order only, as in the paper's presets.

Such a network cannot condition a column on all the others. But it gives the likelihood of whole rows, so each possible
value of the column is inserted into the row and weighted by the likelihood of the result (Bayes' theorem).

Shapes: `N` rows, `K` values that are tried, `D` value slots.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...artifact.fitted import Fitted
from ...errors import ConditionError
from ...tokens.codecs.base import Codec, Ids
from ...tokens.writer import Given
from ..prompts import masked
from .given import Name

MAX_TRIED = 64
"""Maximum number of values to try for a number, evenly spaced by rank."""


def tried_ids(codec: Codec) -> Ids:
    """The ids to try, (K, slots of the column): all of a category, some of a number."""
    sizes = [slot.size for slot in codec.slots(0)]
    if len(sizes) == 1:
        return np.arange(sizes[0])[:, None]
    finest = np.unique(np.linspace(0, sizes[-1] - 1, min(MAX_TRIED, sizes[-1])).round().astype(np.int64))
    ids = np.zeros((len(finest), len(sizes)), dtype=np.int64)
    ids[:, -1] = finest
    # A quantile goes with the bin of its own values.
    return codec.encode(pd.Series(codec.decode(ids, np.random.default_rng(0))))


def chances_of(fitted: Fitted, part: Given, target: Name, tried: Ids, rng: np.random.Generator) -> NDArray[np.float64]:
    """Probabilities of the tried values (N, K) in rows with all other columns given."""
    assert part.ids is not None
    assert part.known is not None
    slots = fitted.layout.slots_of(fitted.codec.expressed.names.index(target))
    others = np.ones(fitted.layout.n_values, dtype=bool)
    others[slots] = False
    if not part.known[:, others].all():
        raise ConditionError(
            "the model was trained in table order only, as the paper's presets are: rows to predict from need all "
            "other columns, with known values"
        )
    n_trees = fitted.layout.n_trees
    if n_trees and (part.leaves is None or part.has_leaves is None or not part.has_leaves.all()):
        raise ConditionError(
            f"column {target!r} cannot be predicted: the trees of this model read it; the paper's presets predict "
            "the column that their trees predict"
        )
    leaves = np.zeros((len(part.ids), 0), dtype=np.int64) if part.leaves is None else part.leaves
    from ..network_writer import MASKS  # imports torch, which the preset `trees` does without

    logs = [_log_joint(fitted, part.ids, leaves, slots, tried, rng) for _ in range(MASKS if n_trees else 1)]
    joint = np.logaddexp.reduce(np.stack(logs), axis=0)  # (N, K)
    chances = np.exp(joint - joint.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _log_joint(
    fitted: Fitted, ids: NDArray[Any], leaves: Ids, slots: list[int], tried: Ids, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Log-probability of the whole rows with each value inserted, over both networks (N, K)."""
    from ..network_writer import network_log_probs

    prompts = masked(leaves, fitted.config.train.leaf_mask, rng)
    columns = []
    for value in tried:
        rows = ids.copy()
        rows[:, slots] = value
        tokens = fitted.layout.to_tokens(prompts, rows)
        columns.append(np.logaddexp(*(network_log_probs(network, tokens).sum(axis=1) for network in fitted.models)))
    return np.stack(columns, axis=1)
