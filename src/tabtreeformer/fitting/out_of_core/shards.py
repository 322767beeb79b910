"""The second pass over a table that is read in parts: the tokens of every row, on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ... import trees
from ..._runtime.files import check_room
from ..._runtime.progress import Progress, stage
from ...data.io.chunked import Chunks
from ...errors import OutputError, SchemaError
from ...laws import LawCheck
from ...tokens import TableCodec, TokenLayout

SPARE = 1.05
"""Required disk space, as a multiple of the size of the tokens."""


@dataclass(frozen=True)
class RowEncoder:
    """Turns rows of a table into token rows."""

    codec: TableCodec
    tree_encoder: trees.FeatureEncoder | None
    """None if there are no trees."""
    leaf_model: trees.LeafModel
    layout: TokenLayout

    def tokens(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """Tokens of rows, (n, L)."""
        leaf_ids = np.empty((len(frame), 0), dtype=np.int64)
        if self.tree_encoder is not None:
            leaf_ids = self.leaf_model.leaves(self.tree_encoder.features(frame))
        return self.layout.to_tokens(leaf_ids, self.codec.encode(frame))


def write_tokens(
    path: Path,
    chunks: Chunks,
    n_rows: int,
    encoder: RowEncoder,
    checked: LawCheck | None,
    progress: Progress,
) -> NDArray[Any]:
    """Write the tokens of all rows (N, L) to a file, in the narrowest type, and open it as a memory-mapped array.

    `checked` also sees every part, if laws were found in only part of the table.
    """
    layout, names = encoder.layout, list(encoder.codec.schema.names)
    dtype = np.dtype(np.int16 if layout.n_vocab <= np.iinfo(np.int16).max else np.int32)
    n_bytes = round(n_rows * layout.length * dtype.itemsize * SPARE)
    check_room(path.parent, n_bytes, f"the tokens of {n_rows:,} rows", "name another folder with cache_dir")
    done = 0
    with path.open("wb") as file, stage(progress, "encode all rows", n_rows) as advance:
        for part in chunks:
            try:
                tokens = encoder.tokens(part[names])
                if checked is not None:
                    checked.see(part[names], done)
            except (SchemaError, KeyError) as error:
                raise SchemaError(
                    f"rows {done:,} to {done + len(part):,} of {chunks.name} do not fit what was read before: {error}; "
                    f"did the table change meanwhile? fit it again"
                ) from error
            _write(file, tokens.astype(dtype))
            done += len(part)
            advance(len(part))
    if done != n_rows:
        raise SchemaError(f"{chunks.name} had {n_rows:,} rows and now has {done:,}: it changed meanwhile; fit it again")
    return np.memmap(path, dtype, "r+", shape=(n_rows, layout.length))


def _write(file: Any, tokens: NDArray[Any]) -> None:
    try:
        file.write(np.ascontiguousarray(tokens).data)
    except OSError as error:
        raise OutputError(
            f"cannot write tokens to {file.name}: {error.strerror or error}; name another folder with cache_dir"
        ) from error
