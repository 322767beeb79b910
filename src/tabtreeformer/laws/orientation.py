"""Which column of a law is computed: not one that would lose its zeros and round numbers.

Of `tax = rate * net` any column can be computed from the others. New rows draw the parts, and parts of different rows
do not work out to whole dollars: prices that people rounded are drawn, and what followed from them is computed. And
of `minutes = games * average` the average is computed: minutes follow from it by rounding alone, so that the average of
new rows would be somewhat off.
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
"""Round numbers are multiples of a thousand to a ten-thousandth; further decimals are often those of 32 bits."""

MANY_DECIMALS = 10
"""Decimals of numbers without a grid."""


def weighed(candidate: Candidate, search: Search) -> Candidate | None:
    """The candidate with what its target would lose; None where the law has exceptions, so that it is no great loss."""
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
    """How much larger the share of zeros or round numbers is than among results of parts of different rows."""
    own = search.frame.floats(law.target)
    other = law.computed(search.once("shuffled", _shuffled)).astype(np.float64)
    own, other = own[~np.isnan(own)], other[np.isfinite(other)]
    if not len(own) or not len(other):
        return 0.0
    scales = 10.0 ** np.arange(COARSEST, FINEST + 1)
    return max(float(np.mean(own == 0) - np.mean(other == 0)), *(_round(own, s) - _round(other, s) for s in scales))


def _round(values: NDArray[np.float64], scale: float) -> float:
    """The share of numbers other than 0 that are whole at a scale."""
    counts = values[values != 0] * scale
    return float(np.mean(np.abs(counts - np.rint(counts)) <= 1e-9 + 1e-8 * np.abs(counts))) if len(counts) else 0.0


def _shuffled(search: Search) -> Frame:
    """The rows of the search with the numbers of each column in an order of their own."""
    rng, frame = np.random.default_rng(search.frame.n_rows), search.frame
    cells = {}
    for column in frame.schema.columns:
        if column.kind == NUMERIC:
            order = rng.permutation(frame.n_rows)
            cells[column.name] = Cells(frame.values(column.name)[order], frame.gaps(column.name)[order])
    return frame.changed(frame.schema, cells)
