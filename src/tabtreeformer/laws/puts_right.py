"""Laws that leave every column as it is, so that a writer learns them from the rows: rows that break them are put right
when they are restored.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from ..data.schema import Schema
from .base import Counted, Frame, Mask

Self = TypeVar("Self", bound="PutsRight")


class PutsRight(Counted):
    """A law of this kind says where it holds and how a row is put right."""

    def learn(self: Self, frame: Frame, floor: int) -> Self:
        """Count the rows that keep it; laws that store more record that first."""
        return self.counted(frame)

    def spared(self, applies: Mask, keeps: Mask, rng: np.random.Generator) -> Mask:
        """Of the rows that break it, those that stay as they are: as large a share as the table has exceptions."""
        rows = np.flatnonzero(applies & ~keeps)
        spared = np.zeros(len(applies), dtype=bool)
        if len(rows) and self.exceptions:
            share = self.exceptions / (self.support + self.exceptions)
            spared[rng.permutation(rows)[: int(rng.binomial(int(applies.sum()), share))]] = True
        return spared

    def reshape(self, schema: Schema) -> Schema:
        """The same columns."""
        return schema

    def express(self, frame: Frame) -> Frame:
        """Nothing is taken away."""
        return frame
