"""Fits a table in processes that are killed while they write their checkpoints; prints which stages died as JSON.

Run by test_resume.py in a process of its own, which imports once and forks before torch starts any threads.
"""

import json
import os
import random
import signal
import sys
from pathlib import Path

import lightgbm  # noqa: F401 – once, not once per life
import numpy as np
import optuna  # noqa: F401
import pandas as pd
import torch

import tabtreeformer.fitting.fit
import tabtreeformer.model
import tabtreeformer.privacy.dp.fit
import tabtreeformer.trees.lightgbm  # noqa: F401
from tabtreeformer import TabTreeFormer

torch.optim.SGD([torch.zeros(1)], 0.1)  # the first optimizer imports hundreds of modules

STAGES = "run.json", "trees.checkpoint", "shared.checkpoint", "network_1.checkpoint", None
"""Files soon after whose first writing the process ends; the last process is left alone."""


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 90)
    city = rng.choice(["Ulm", "Bern"], 90)
    return pd.DataFrame({"age": age, "height": rng.normal(1.7, 0.1, 90).round(2), "city": city, "old": age > 45})


def life(settings: dict, model: Path, folder: Path | None, stage: str | None, writes: int) -> int:
    """Fit in a process of its own that kills itself once `stage` exists and it has written that many more files."""
    child = os.fork()
    if not child:
        torch.set_num_threads(1)
        if stage is not None:
            die_while_writing(stage, writes)
        estimator = TabTreeFormer(**settings, random_state=3, device="cpu", verbose=False)
        estimator.fit(table(), checkpoint_dir=folder, checkpoint_every=0.0).save(model)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def die_while_writing(stage: str, writes: int) -> None:
    """Every file of a run is renamed into place: die before a rename, half of the time, or after it."""
    rename, left = os.replace, None

    def replace(source: os.PathLike[str], target: os.PathLike[str]) -> None:
        nonlocal left
        if left == 0 and writes % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        rename(source, target)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if left is not None:
            left -= 1
        elif (Path(target).parent / stage).exists():
            left = writes

    os.replace = replace


def killed_in(place: Path, settings: dict, seed: int) -> dict:
    """Fit once undisturbed, and once in processes that die; the stages after which they died."""
    place.mkdir()
    assert life(settings, place / "whole.tabtree", None, None, 0) == 0
    rng, killed = random.Random(seed), []
    for stage in STAGES:
        status = life(settings, place / "killed.tabtree", place / "run", stage, rng.randrange(4))
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
        killed.append(stage)
    return {"killed": killed, "left": (place / "run").exists()}


if __name__ == "__main__":
    cases = json.loads(sys.argv[2])
    print(json.dumps({name: killed_in(Path(sys.argv[1]) / name, *case) for name, case in cases.items()}))
