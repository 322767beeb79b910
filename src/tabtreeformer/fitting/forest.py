"""The steps of fitting trees that write: schema, codec, ids, forest. PyTorch is not imported."""

from __future__ import annotations

import platform
import time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import trees
from .._runtime.progress import Progress, stage
from .._version import __version__
from ..artifact.fitted import Fitted
from ..config.settings import ForestConfig
from ..forest import MAX_ROWS_GROWN, Forest, ForestSettings, Target, grow
from ..tokens import SlotKind, TableCodec, TokenLayout
from ..tokens.table_codec import protected_schema
from .evidence import Evidence
from .out_of_core import InMemory, OnDisk, RowEncoder
from .request import Request, laws_of, record_of
from .split import split_rows


def fit_forest(
    table: InMemory | OnDisk,
    request: Request,
    holdout: pd.DataFrame | None,
    seed: np.random.SeedSequence,
    progress: Progress,
) -> tuple[Fitted, Evidence]:
    """Learn an open table with trees; the evidence is for the privacy gate, valid as long as the table is open."""
    started = time.perf_counter()
    grow_seed, half_seed = seed.spawn(2)
    schema, frame = table.schema, table.frame
    holdout = None if holdout is None else schema.validate(holdout)
    if request.target is not None:
        schema.column(request.target)  # raises an error that lists the columns if there is no such column
    config = request.configure(n_rows=table.n_rows, n_columns=frame.shape[1])
    assert config.forest is not None
    floor = config.tokens.rare_floor
    schema = protected_schema(schema, frame, floor, request.units)
    laws = laws_of(request.relations(schema), frame, schema, floor, seed)
    codec = TableCodec.learn(frame, schema, config.tokens, laws, request.units)
    for note in codec.notes:
        progress.note(note)
    layout = TokenLayout.build([], codec.slots)
    tokens = table.tokens(RowEncoder(codec, None, trees.load_leaf_model("none", ""), layout), progress)
    progress.note(
        f"{request.preset}: {layout.n_values} trees that write, at least {config.forest.leaf_rows} rows per leaf"
    )
    if len(tokens) > MAX_ROWS_GROWN:
        progress.note(
            f"splits are chosen on {MAX_ROWS_GROWN:,} rows, as more change little; all {len(tokens):,} are counted"
        )
    with stage(progress, "trees", 1) as advance:
        forest = grow_forest(layout.value_ids(tokens), layout, config.forest, grow_seed)
        advance(1)
    fitted = Fitted(
        config=config,
        schema=schema,
        codec=codec,
        layout=layout,
        tree_target=request.target,
        tree_encoder=None,
        tree_text="",
        models=(),
        prompts=(),
        record={
            **record_of(table, request, codec, floor, seed, time.perf_counter() - started),
            "training": [],
            "versions": _versions(),
        },
        forest=forest,
    )
    # The verdict grows a forest on one half of the rows, and compares its rows with the other half.
    first, second = split_rows(len(tokens), np.random.default_rng(half_seed), request.units)[0]
    parts = [(np.sort(first), np.sort(second))]
    return fitted, Evidence(take=table.take, tokens=tokens, parts=parts, histories=(), holdout=holdout)


def grow_forest(ids: NDArray[Any], layout: TokenLayout, config: ForestConfig, seed: np.random.SeedSequence) -> Forest:
    """The forest of rows of value ids (N, D)."""
    targets = [Target(slot.size, slot.kind != SlotKind.CATEGORY) for slot in layout.value_slots]
    settings = ForestSettings(leaf_rows=config.leaf_rows, boost=True)
    return grow(ids, targets, settings, seed)


def _versions() -> dict[str, str]:
    import sklearn

    return {
        "tabtreeformer": __version__,
        "python": platform.python_version(),
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "pandas": pd.__version__,
    }
