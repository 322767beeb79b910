"""What fitting needs from a table, in memory or read in parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..._runtime.progress import Progress
from ..._runtime.scratch import scratch_folder
from ...config.settings import Config
from ...data.io.chunked import Chunks
from ...data.schema import Schema
from ...laws import LawCheck
from .sample import Sample, draw_sample
from .shards import RowEncoder, write_tokens

# NOTE[PAPER]: the paper learns trees and quantisers from all rows and validates on the whole other half; from a table
# that is read in parts we draw rows for each, because it does not fit in memory.
TREE_ROWS = 200_000
"""Maximum number of rows that trees are grown on, for a table that is read in parts."""
VALIDATION_ROWS = 100_000
"""Maximum number of rows that each network is validated on, for a table that is read in parts."""


@dataclass(frozen=True, eq=False)
class InMemory:
    """A table in memory."""

    schema: Schema
    frame: pd.DataFrame
    """Rows to learn from."""
    of_rows: int = 0
    """Rows of the larger table that these were drawn from; 0 if these are all of them."""

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.frame)

    @property
    def for_trees(self) -> pd.DataFrame:
        """Rows to grow trees on."""
        return self.frame

    def fitting(self, config: Config) -> Config:
        """The settings as they are."""
        return config

    def tokens(self, encoder: RowEncoder, progress: Progress) -> NDArray[Any]:
        """Tokens of all rows (N, L)."""
        return encoder.tokens(self.frame)

    def take(self, rows: NDArray[np.int64]) -> pd.DataFrame:
        """Rows by their indices."""
        return self.frame.iloc[rows]


@dataclass(frozen=True, eq=False)
class OnDisk:
    """A table that is read in parts; what is learned from rows is learned from a sample."""

    schema: Schema
    frame: pd.DataFrame
    """Rows to learn from: a sample that shows all that occurs in the table."""
    sample: Sample
    chunks: Chunks
    folder: Path
    """Where tokens are kept."""
    found: bool
    """Whether relations between columns are found rather than given by the user."""
    of_rows: int = 0

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return self.sample.n_rows

    @property
    def for_trees(self) -> pd.DataFrame:
        """Rows to grow trees on: some of those that were drawn at random."""
        drawn = np.flatnonzero(self.sample.drawn)
        if len(drawn) <= TREE_ROWS:
            return self.frame if len(drawn) == len(self.frame) else self.frame.iloc[drawn]
        return self.frame.iloc[drawn[np.linspace(0, len(drawn) - 1, TREE_ROWS).astype(np.int64)]]

    def fitting(self, config: Config) -> Config:
        """The settings, with a limit on the rows that validation holds in memory."""
        rows = min(config.train.validation_rows or VALIDATION_ROWS, VALIDATION_ROWS)
        return dataclasses.replace(config, train=dataclasses.replace(config.train, validation_rows=rows))

    def tokens(self, encoder: RowEncoder, progress: Progress) -> NDArray[Any]:
        """Tokens of all rows (N, L), on disk; the laws that the codec knows are checked on all rows."""
        checked = None if self.sample.complete else LawCheck(encoder.codec.laws, strict=not self.found)
        tokens = write_tokens(self.folder / "tokens.bin", self.chunks, self.n_rows, encoder, checked, progress)
        for note in () if checked is None else checked.notes:
            progress.note(note)
        return tokens

    def take(self, rows: NDArray[np.int64]) -> pd.DataFrame:
        """Rows by their ascending indices; the table is read once more."""
        found, done = [], 0
        for part in self.chunks:
            first, last = np.searchsorted(rows, [done, done + len(part)])
            if last > first:
                found.append(part[list(self.schema.names)].iloc[rows[first:last] - done])
            done += len(part)
        return pd.concat(found, ignore_index=True)


@contextmanager
def open_table(
    source: Chunks,
    schema: Schema | None,
    target: str | int | None,
    copies: int,
    found: bool,
    seed: np.random.SeedSequence,
    progress: Progress,
) -> Iterator[OnDisk]:
    """Open `Chunks` by way of a sample; temporary files are deleted when the block ends."""
    kinds = dict(source.kinds) | ({} if schema is None else {c.name: c.kind for c in schema.columns})
    with scratch_folder(source.cache_dir) as folder:
        sample = draw_sample(source, target, kinds, copies, np.random.default_rng(seed), progress)
        schema = sample.infer(target) if schema is None else schema.matched(sample.frame)
        for name, kind in source.kinds.items():
            schema = schema.with_kind(name, kind)
        if not sample.complete:
            rare = len(sample.frame) - int(sample.drawn.sum())
            progress.note(
                f"{sample.n_rows:,} rows: learning values from {int(sample.drawn.sum()):,} drawn at random and "
                f"{rare:,} that show what is rare; networks learn from all"
            )
        yield OnDisk(schema, schema.validate(sample.frame), sample, source, folder, found)
