"""What laws share that leave every column as it is, so that a writer learns them from the rows: rows that break them
are put right when they are restored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..data.schema import Schema
from .base import Frame, Mask

Self = TypeVar("Self", bound="PutsRight")


class PutsRight:
    """A law of this kind says where it holds and how a row is put right."""

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Where it applies, and where it applies and is kept."""
        raise NotImplementedError

    def learn(self: Self, frame: Frame, floor: int) -> Self:
        """Count the rows that keep it; laws that store more take that down first."""
        return self.counted(frame)

    def counted(self: Self, frame: Frame) -> Self:
        """The law with its support and exceptions."""
        applies, keeps = self.holds(frame)
        law: Any = self
        counted: Self = replace(law, support=int(keeps.sum()), exceptions=int((applies & ~keeps).sum()))
        return counted

    def spared(self, applies: Mask, keeps: Mask, rng: np.random.Generator) -> Mask:
        """Of the rows that break it, as many as the table has exceptions; these stay as they are."""
        law: Any = self
        rows = np.flatnonzero(applies & ~keeps)
        spared = np.zeros(len(applies), dtype=bool)
        if len(rows) and law.exceptions:
            share = law.exceptions / (law.support + law.exceptions)
            spared[rng.permutation(rows)[: int(rng.binomial(int(applies.sum()), share))]] = True
        return spared

    def reshape(self, schema: Schema) -> Schema:
        """The same columns."""
        return schema

    def express(self, frame: Frame) -> Frame:
        """Nothing is taken away."""
        return frame
