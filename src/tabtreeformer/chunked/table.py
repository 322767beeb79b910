"""What fitting needs of a table, be it in memory or read in parts."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import trees
from ..config import Config
from ..constraints import Checked
from ..errors import OutputError
from ..progress import Progress
from ..schema import Schema
from ..tables.chunks import Chunks
from ..tokens import TableCodec, TokenLayout
from .sample import Sample, draw_sample
from .shards import row_tokens, write_tokens

TREE_ROWS = 200_000
"""Rows that trees are grown on, of a table that is read in parts."""
VALIDATION_ROWS = 100_000
"""Rows that each network is validated on at most, of a table that is read in parts."""


@dataclass(frozen=True, eq=False)
class InMemory:
    """A table that is all there."""

    schema: Schema
    frame: pd.DataFrame
    """Rows to learn from."""

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

    def tokens(
        self,
        codec: TableCodec,
        encoder: trees.FeatureEncoder | None,
        leaf_model: trees.LeafModel,
        layout: TokenLayout,
        progress: Progress,
    ) -> tuple[NDArray[Any], TableCodec]:
        """Tokens of all rows (N, L), and the codec."""
        return row_tokens(self.frame, codec, encoder, leaf_model, layout), codec

    def take(self, rows: NDArray[np.int64]) -> pd.DataFrame:
        """Rows by their numbers."""
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
    """Whether relations between columns are found, and not the user's own."""

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
        """The settings, with an end to the rows that validation holds in memory."""
        rows = min(config.train.validation_rows or VALIDATION_ROWS, VALIDATION_ROWS)
        return dataclasses.replace(config, train=dataclasses.replace(config.train, validation_rows=rows))

    def tokens(
        self,
        codec: TableCodec,
        encoder: trees.FeatureEncoder | None,
        leaf_model: trees.LeafModel,
        layout: TokenLayout,
        progress: Progress,
    ) -> tuple[NDArray[Any], TableCodec]:
        """Tokens of all rows (N, L) on disk, and the codec with those relations that hold in all rows."""
        checked = None if self.sample.complete else Checked(codec.rules, codec.schema, drop=self.found)
        path = self.folder / "tokens.bin"
        tokens = write_tokens(
            path, self.chunks, self.n_rows, self.schema, codec, encoder, leaf_model, layout, checked, progress
        )
        if checked is None:
            return tokens, codec
        for text in checked.dropped:
            progress.note(f"not kept, since some rows break it: {text}")
        return tokens, dataclasses.replace(codec, rules=checked.rules)

    def take(self, rows: NDArray[np.int64]) -> pd.DataFrame:
        """Rows by their numbers, which ascend; the table is read once more."""
        found, done = [], 0
        for part in self.chunks:
            first, last = np.searchsorted(rows, [done, done + len(part)])
            if last > first:
                found.append(part[list(self.schema.names)].iloc[rows[first:last] - done])
            done += len(part)
        return pd.concat(found, ignore_index=True)


@contextmanager
def open_table(
    source: Any,
    schema: Schema | None,
    target: str | int | None,
    copies: int,
    found: bool,
    seed: np.random.SeedSequence,
    progress: Progress,
) -> Iterator[InMemory | OnDisk]:
    """A DataFrame as it is, or `Chunks` by way of a sample; temporary files are gone when the block ends."""
    if not isinstance(source, Chunks):
        schema = Schema.infer(source, target) if schema is None else schema.matched(source)
        yield InMemory(schema, schema.validate(source))
        return
    kinds = dict(source.kinds) | ({} if schema is None else {c.name: c.kind for c in schema.columns})
    try:
        folder = Path(tempfile.mkdtemp(prefix="tabtree-", dir=source.cache_dir))
    except OSError as error:
        raise OutputError(f"cannot write to the folder for temporary files: {error}") from error
    try:
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
    finally:
        shutil.rmtree(folder, ignore_errors=True)
