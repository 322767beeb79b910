"""The first pass over a table that is read in parts: rows drawn at random, and rows that show what is rare."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import SchemaError
from ..progress import Progress, stage
from ..schema import IDENTIFIER, NUMERIC, Schema
from ..schema.infer import RUNNING
from ..tables.chunks import Chunks
from .news import News


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a table, in its order, from which to learn what the whole table would show."""

    frame: pd.DataFrame
    drawn: NDArray[np.bool_]
    """Which of them were drawn at random, each row of the table with the same chance; the others show what is rare."""
    n_rows: int
    """Rows of the whole table."""
    running: frozenset[str | int] = frozenset()
    """Columns that go up row by row in the whole table."""

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
        for column in schema.columns:  # that numbers run on row by row is not to be seen in a sample
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
    """Read the table once. Of each value that is rare `copies` rows are kept, or as many as there are."""
    share = min(1.0, chunks.sample / chunks.n_rows)
    news: News | None = None
    frames, drawn, n_rows = [], [], 0
    with stage(progress, "look at all rows", chunks.n_rows) as advance:
        for part in chunks:
            own = rng.random(len(part)) < share
            shown = own
            if share < 1:
                news = news or News(part, copies, target, kinds)
                shown = own | news.look(part, n_rows)
            if shown.any():
                frames.append(part[shown])
                drawn.append(own[shown])
            n_rows += len(part)
            advance(len(part))
    if not frames:
        raise SchemaError(f"{chunks.name} has no rows")
    frame = pd.concat(frames, ignore_index=True)
    return Sample(frame, np.concatenate(drawn), n_rows, news.running if news is not None else frozenset())
