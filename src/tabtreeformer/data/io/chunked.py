"""A table in parts, which can be read from the start any number of times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from .frames import Kind

CELLS_AT_ONCE = 2_000_000
"""Cells per part, unless the number of rows is given."""
SAMPLE_ROWS = 1_000_000
"""Approximate number of rows used to learn statistics and trees."""
MANY_ROWS = 2_000_000
MANY_BYTES = 1 << 30
"""Larger tables and files are read in parts by default."""
MEMORY_SHARE = 0.1
"""… and so are files larger than this share of the free memory."""


@dataclass(frozen=True)
class Chunks:
    """A table in parts; made by `open_chunks`, accepted by `TabTreeFormer.fit`."""

    name: str
    n_rows: int
    """Number of rows according to the files."""
    n_bytes: int
    parts: Callable[[int], Iterator[pd.DataFrame]] = field(repr=False)
    """Reads the table from the start, in parts of about this many rows."""
    n_columns: int
    rows: int | None = None
    """Rows per part."""
    sample: int = SAMPLE_ROWS
    """Approximate number of rows used to learn statistics and trees."""
    cache_dir: Path | None = None
    """Folder that holds the tokens of all rows during fitting."""
    kinds: Mapping[str | int, str] = field(default_factory=dict)
    """Column kinds to use instead of inferred ones."""
    kind: Kind = field(default_factory=Kind)
    """What `sample` returns."""

    def __iter__(self) -> Iterator[pd.DataFrame]:
        """Read the table from the start."""
        return self.parts(self.rows or max(1000, CELLS_AT_ONCE // max(1, self.n_columns)))

    def whole(self) -> pd.DataFrame:
        """Read the whole table at once."""
        return pd.concat(list(self), ignore_index=True)

    @property
    def is_large(self) -> bool:
        """Whether it is too large to be read whole."""
        return self.n_rows > MANY_ROWS or self.n_bytes > min(MANY_BYTES, MEMORY_SHARE * free_memory())


def free_memory() -> int:
    """Approximate free memory in bytes."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 8 << 30  # unknown without another package
