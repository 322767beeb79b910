"""Base of laws that leave all columns unchanged, so that a writer learns them from the rows. On restoring, rows that
break them are corrected.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from ..data.schema import Schema
from .base import Counted, Frame, Mask

Self = TypeVar("Self", bound="Correcting")


class Correcting(Counted):
    """Each law of this kind defines where it holds and how a row is corrected."""

    def learn(self: Self, frame: Frame, floor: int) -> Self:
        """Count the rows that keep it; laws with parameters fit these first."""
        return self.counted(frame)

    def spared(self, applies: Mask, keeps: Mask, rng: np.random.Generator) -> Mask:
        """Of the rows that break it, those to leave unchanged: the same share as the table's exceptions."""
        rows = np.flatnonzero(applies & ~keeps)
        spared = np.zeros(len(applies), dtype=bool)
        if len(rows) and self.exceptions:
            share = self.exceptions / (self.support + self.exceptions)
            spared[rng.permutation(rows)[: int(rng.binomial(int(applies.sum()), share))]] = True
        return spared

    def reshape(self, schema: Schema) -> Schema:
        """No change: the columns stay the same."""
        return schema

    def express(self, frame: Frame) -> Frame:
        """No change: nothing is removed."""
        return frame
