"""Models of the same seed are the same, bit for bit, from one version of the code to the next.

The pins hold for the processor and the libraries on which they were taken: elsewhere sums are rounded in another order,
and the test is skipped. Run this file to take new pins after a change
of behaviour that is meant.
"""

from __future__ import annotations

import hashlib
import json
import platform
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch

from tabtreeformer import DP, Schema, TabTreeFormer, open_chunks

PINS = Path(__file__).with_suffix(".json")
TINY = {
    "tree": {"trials": 0, "params": {"n_estimators": 4, "num_leaves": 5}},
    "tokens": {"quantiles": 20, "bins": 4},
    "model": {"width": 16, "feed_forward": 32, "heads": 2, "layers": 1},
    "train": {"steps": 6, "batch_size": 16, "validate_every": 3},
    "sampling": {"batch_size": 64},
}


def table() -> pd.DataFrame:
    """A hundred and twenty rows of every kind of column, some of it missing."""
    rng = np.random.default_rng(0)
    n = 120
    age = rng.integers(18, 80, n)
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    return pd.DataFrame(
        {
            "age": age,
            "height": np.round(rng.normal(1.7, 0.1, n), 2),
            "city": rng.choice(["Köln", "Ulm", "Bern"], n),
            "start": start,
            "smoker": rng.random(n) < 0.3,
            "weight": np.where(rng.random(n) < 0.2, np.nan, np.round(rng.normal(70, 9, n), 1)),
            "income": np.where(age > 45, ">50K", "<=50K"),
        }
    )


def environment() -> str:
    """What the bits follow from besides the code."""
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    parts = (platform.machine(), *names[:1], torch.__version__, np.__version__, pd.__version__)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def digest(model: TabTreeFormer) -> dict[str, str]:
    """Hashes of the weights, of free rows, rows under a condition, filled gaps and likelihoods."""
    weights = hashlib.sha256()
    for network in model.fitted_.models:
        state = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
        weights.update(safetensors.torch.save(state))
    found = {"weights": weights.hexdigest()[:16], "rows": hashed(model.sample(200, random_state=1))}
    if model.preset == "auto" and model.dp is None:
        found["conditions"] = hashed(model.sample(50, random_state=2, given={"city": "Ulm", "age": (30, 50)}))
        found["gaps"] = hashed(model.impute(table().head(40), random_state=3))
        found["likelihoods"] = hashed(model.log_prob(table().head(40)).to_frame())
        found["predictions"] = hashed(model.predict_proba(table().head(20), target="income"))
    return found


def hashed(frame: pd.DataFrame) -> str:
    return hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest()[:16]


def auto() -> TabTreeFormer:
    return TabTreeFormer(target="income", random_state=0, verbose=False, **TINY).fit(table())


def paper() -> TabTreeFormer:
    return TabTreeFormer("S", target="income", random_state=0, verbose=False, **TINY).fit(table())


def private() -> TabTreeFormer:
    df = table()
    changed = {"model": TINY["model"], "train": {"steps": 4}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TabTreeFormer(dp=DP(epsilon=8, delta=1e-3), random_state=0, verbose=False, **changed).fit(
            df, schema=Schema.infer(df)
        )


def in_parts() -> TabTreeFormer:
    with tempfile.TemporaryDirectory() as folder:
        table().to_csv(f"{folder}/table.csv", index=False)
        chunks = open_chunks(f"{folder}/table.csv")
        return TabTreeFormer(target="income", random_state=0, verbose=False, **TINY).fit(chunks)


FITS = {fit.__name__: fit for fit in (auto, paper, private, in_parts)}


@pytest.mark.parametrize("name", FITS)
def test_a_model_of_the_same_seed_is_the_same_to_the_bit(name):
    pins = json.loads(PINS.read_text())
    if pins["environment"] != environment():
        pytest.skip("the pins were taken on another processor, or with other versions of torch, numpy or pandas")
    assert digest(FITS[name]()) == pins[name]


if __name__ == "__main__":
    torch.set_num_threads(1)
    pins = {"environment": environment(), **{name: digest(fit()) for name, fit in FITS.items()}}
    PINS.write_text(json.dumps(pins, indent=2) + "\n")
