"""The second pass over a table that is read in parts: the tokens of every row, on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import trees
from ..constraints import Checked
from ..errors import OutputError, SchemaError
from ..files import check_room
from ..progress import Progress, stage
from ..schema import Schema
from ..tables.chunks import Chunks
from ..tokens import TableCodec, TokenLayout

SPARE = 1.05
"""So much more room than the tokens take is asked for."""


def row_tokens(
    frame: Any,
    codec: TableCodec,
    encoder: trees.FeatureEncoder | None,
    leaf_model: trees.LeafModel,
    layout: TokenLayout,
) -> NDArray[np.int64]:
    """Tokens of a part of a table, (n, L)."""
    leaf_ids = np.empty((len(frame), 0), dtype=np.int64)
    if encoder is not None:
        leaf_ids = leaf_model.leaves(encoder.features(frame))
    return layout.to_tokens(leaf_ids, codec.encode(frame))


def write_tokens(
    path: Path,
    chunks: Chunks,
    n_rows: int,
    schema: Schema,
    codec: TableCodec,
    encoder: trees.FeatureEncoder | None,
    leaf_model: trees.LeafModel,
    layout: TokenLayout,
    checked: Checked | None,
    progress: Progress,
) -> NDArray[Any]:
    """Write the tokens of all rows (N, L) to a file, as narrow as they can be, and open it as a memory-mapped array.

    `checked` sees every part too, where relations were found in less than the whole table.
    """
    dtype = np.dtype(np.int16 if layout.n_vocab <= np.iinfo(np.int16).max else np.int32)
    n_bytes = round(n_rows * layout.length * dtype.itemsize * SPARE)
    check_room(path.parent, n_bytes, f"the tokens of {n_rows:,} rows", "name another folder with cache_dir")
    done = 0
    with path.open("wb") as file, stage(progress, "encode all rows", n_rows) as advance:
        for part in chunks:
            try:
                tokens = row_tokens(part[list(schema.names)], codec, encoder, leaf_model, layout)
                if checked is not None:
                    checked.see(part, done)
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
