"""What identifies a run, and the trees of a resumed run."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from ... import trees
from ..._runtime.progress import Progress
from ..._version import __version__
from ...artifact.archive import dump_json
from ...config.settings import Config, TreeConfig
from ...data.schema import Schema
from ..distributed import Team
from .folder import Stage


def identity(
    frame: pd.DataFrame,
    schema: Schema,
    config: Config,
    relations: Sequence[str] | None,
    seed: np.random.SeedSequence,
    device: torch.device,
    processes: int,
) -> dict[str, Any]:
    """Everything that the trained weights depend on, as plain data."""
    settings = config.to_json()
    del settings["sampling"]
    return {
        "table": fingerprint(frame),
        "schema": hashlib.sha256(dump_json(schema.to_json())).hexdigest(),
        "settings": {**settings, "constraints": relations, "device": device.type, "processes": processes},
        "versions": versions(),
        "seed": str(seed.entropy),
    }


def fingerprint(frame: pd.DataFrame) -> str:
    """A hash of all cells, their order, and the names and dtypes of the columns."""
    digest = hashlib.sha256()
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        digest.update(f"{name!r} {column.dtype}".encode())
        digest.update(pd.util.hash_pandas_object(column, index=False).to_numpy().tobytes())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Versions of the libraries that the results depend on."""
    return {
        "tabtreeformer": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "pandas": pd.__version__,
    }


def fit_leaf_model(
    config: TreeConfig,
    features: trees.Features,
    target: trees.Target,
    seed: int,
    progress: Progress,
    checkpoints: Stage,
    floor: int,
    team: Team,
) -> trees.LeafModel:
    """The trees of a run: the stored ones, or new ones after the stored trials; the first process grows them."""
    loaded = checkpoints.load()
    state = {"text": None, "scores": [], "seconds": 0.0} if loaded is None else loaded[0]
    if state["text"] is not None:
        return trees.load_leaf_model(config.model, state["text"])
    if not team.first:
        text = team.share(None)
        assert text is not None
        return trees.load_leaf_model(config.model, text.decode())

    def keep(trials: trees.Trials) -> None:
        if checkpoints.due:
            checkpoints.save({"text": None, "scores": trials.scores, "seconds": trials.seconds})

    trials = trees.Trials(state["scores"], state["seconds"], keep)
    leaf_model = trees.fit_leaf_model(config, features, target, seed, progress, trials, floor)
    checkpoints.save({"text": leaf_model.to_text(), "scores": trials.scores, "seconds": trials.seconds})
    team.share(leaf_model.to_text().encode())
    return leaf_model
