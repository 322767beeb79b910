"""Fits a table in processes that are killed at random points until one ends; prints what became of it as JSON.

Run by test_resume.py in a process of its own, which imports once and forks before torch starts any threads.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import lightgbm  # noqa: F401 – once, not once a life
import numpy as np
import optuna  # noqa: F401
import pandas as pd
import torch

from tabtreeformer import TabTreeFormer


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 90)
    city = rng.choice(["Ulm", "Bern"], 90)
    return pd.DataFrame({"age": age, "height": rng.normal(1.7, 0.1, 90).round(2), "city": city, "old": age > 45})


def life(settings: dict, model: Path, folder: Path | None) -> int:
    """Start a fit in a process of its own; return its id."""
    child = os.fork()
    if child:
        return child
    torch.set_num_threads(1)
    estimator = TabTreeFormer(**settings, random_state=3, device="cpu", verbose=False)
    estimator.fit(table(), checkpoint_dir=folder, checkpoint_every=0.0).save(model)
    os._exit(0)


def main(place: Path, settings: dict, seed: int) -> None:
    started = time.monotonic()
    status = os.waitpid(life(settings, place / "whole.tabtree", None), 0)[1]
    assert status == 0
    lasts = time.monotonic() - started
    delays, killed = random.Random(seed), 0
    for stage in ("run.json", "trees.checkpoint", "shared.checkpoint", "network_1.checkpoint", None):
        child, ended = life(settings, place / "killed.tabtree", place / "run"), 0
        while not ended and (stage is None or not (place / "run" / stage).exists()):
            time.sleep(0.002)
            ended, status = os.waitpid(child, os.WNOHANG)
        if not ended:
            time.sleep(delays.uniform(0.0, 0.3) * lasts)
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            break
        killed += 1
    print(json.dumps({"killed": killed, "left": (place / "run").exists(), "lasts": lasts}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3]))
