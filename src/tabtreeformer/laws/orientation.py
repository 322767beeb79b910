"""Decides which column of a law is computed: not one that would lose its zeros and round numbers.

In `tax = rate * net` any column can be computed from the others. But in new rows the parts are drawn, and generated
parts do not result in whole dollars. So columns with round numbers, such as prices, should be drawn and the others
computed. In `minutes = games * average` the average should be computed: it is the more precise column, and minutes
follow from it only by rounding.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..data.schema import NUMERIC
from .base import Cells, Frame
from .computed import Computed
from .search import Candidate, Search

MAX_LOST = 0.25
"""Maximum share of zeros or round numbers that a column may lose."""
COARSEST, FINEST = -3, 4
"""Round numbers are multiples of 1,000 down to 0.0001; further decimals are often artefacts of 32-bit floats."""

MANY_DECIMALS = 10
"""Decimals of numbers without a grid."""


def weighed(candidate: Candidate, search: Search) -> Candidate | None:
    """The candidate with the loss of its target; None if the law has exceptions, which makes dropping it acceptable."""
    law = candidate.law
    if not isinstance(law, Computed) or law.cycle is not None or search.frame.schema.column(law.target).kind != NUMERIC:
        return candidate
    candidate = replace(candidate, coarse=_is_coarse(law, search))
    lost = _lost(law.learn(search.frame, search.floor), search)
    if lost <= MAX_LOST:
        return candidate
    return replace(candidate, lost=round(lost, 1)) if candidate.exact else None


def _is_coarse(law: Computed, search: Search) -> bool:
    """Whether a part has more decimals than the target."""
    digits = {
        name: MANY_DECIMALS if decimals is None else decimals
        for name, decimals in zip(search.numbers.names, search.numbers.decimals, strict=True)
    }
    return any(digits.get(name, 0) > digits.get(law.target, MANY_DECIMALS) for name in law.reads)


def _lost(law: Computed, search: Search) -> float:
    """By how much the share of zeros or round numbers exceeds that of results computed from shuffled parts."""
    own = search.frame.floats(law.target)
    other = law.computed(search.once("shuffled", _shuffled)).astype(np.float64)
    own, other = own[~np.isnan(own)], other[np.isfinite(other)]
    if not len(own) or not len(other):
        return 0.0
    scales = 10.0 ** np.arange(COARSEST, FINEST + 1)
    return max(float(np.mean(own == 0) - np.mean(other == 0)), *(_round(own, s) - _round(other, s) for s in scales))


def _round(values: NDArray[np.float64], scale: float) -> float:
    """Share of nonzero numbers that are integers after scaling."""
    counts = values[values != 0] * scale
    return float(np.mean(np.abs(counts - np.rint(counts)) <= 1e-9 + 1e-8 * np.abs(counts))) if len(counts) else 0.0


def _shuffled(search: Search) -> Frame:
    """The search rows with each column shuffled independently."""
    rng, frame = np.random.default_rng(search.frame.n_rows), search.frame
    cells = {}
    for column in frame.schema.columns:
        if column.kind == NUMERIC:
            order = rng.permutation(frame.n_rows)
            cells[column.name] = Cells(frame.values(column.name)[order], frame.gaps(column.name)[order])
    return frame.changed(frame.schema, cells)
