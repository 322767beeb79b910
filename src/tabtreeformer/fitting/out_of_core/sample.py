"""The first pass over a table that is read in parts: rows drawn at random, and rows with rare values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..._runtime.progress import Progress, stage
from ...data.io.chunked import Chunks
from ...data.schema import IDENTIFIER, NUMERIC, Schema
from ...data.schema.infer import RUNNING
from ...errors import SchemaError
from .novelty import Novelty


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a table, in its order, from which to learn what the whole table would show."""

    frame: pd.DataFrame
    drawn: NDArray[np.bool_]
    """Which of them were drawn at random, each with the same probability; the others have rare values."""
    n_rows: int
    """Rows of the whole table."""
    running: frozenset[str | int] = frozenset()
    """Columns that increase from row to row in the whole table."""

    @property
    def complete(self) -> bool:
        """Whether it is the whole table."""
        return len(self.frame) == self.n_rows

    def infer(self, target: str | int | None) -> Schema:
        """What the columns of the whole table are."""
        schema = Schema.infer(self.frame, target)
        if self.complete:
            return schema
        columns = []
        for column in schema.columns:  # that numbers increase from row to row cannot be seen in a sample
            if column.name in self.running and column.name != target and column.kind == NUMERIC and column.form is None:
                column = replace(column, kind=IDENTIFIER, why=RUNNING)
            elif column.why == RUNNING and column.name not in self.running:
                column = replace(column, kind=NUMERIC, why="whole numbers")
            columns.append(column)
        return replace(schema, columns=tuple(columns))


def draw_sample(
    chunks: Chunks,
    target: str | int | None,
    kinds: dict[str | int, str],
    copies: int,
    rng: np.random.Generator,
    progress: Progress,
) -> Sample:
    """Read the table once. Of each rare value, `copies` rows are kept, or all of them if there are fewer."""
    share = min(1.0, chunks.sample / chunks.n_rows)
    novelty: Novelty | None = None
    frames, drawn, n_rows = [], [], 0
    with stage(progress, "look at all rows", chunks.n_rows) as advance:
        for part in chunks:
            own = rng.random(len(part)) < share
            shown = own
            if share < 1:
                novelty = novelty or Novelty(part, copies, target, kinds)
                shown = own | novelty.look(part, n_rows)
            if shown.any():
                frames.append(part[shown])
                drawn.append(own[shown])
            n_rows += len(part)
            advance(len(part))
    if not frames:
        raise SchemaError(f"{chunks.name} has no rows")
    frame = pd.concat(frames, ignore_index=True)
    return Sample(frame, np.concatenate(drawn), n_rows, novelty.running if novelty is not None else frozenset())
