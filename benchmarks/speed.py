"""What the paper's recipe S costs on a CPU, and what `auto` and `trees` cost, on a table shaped like diabetes.

    python -m benchmarks.speed

Each measurement runs in its own process on one thread, so peak memory is measured separately too; seconds are
processor seconds. S is timed over a few steps, as the whole recipe takes hours: it validates every 100 steps and stops
after three validations without a gain, so neither of its two networks can stop before its fourth validation.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tabtreeformer.config.presets import PRESETS

from .pages import write_lines

if TYPE_CHECKING:
    from tabtreeformer import TabTreeFormer

FIELDS = (
    "preset", "tokens_per_row", "parameters", "fit_seconds", "seconds_to_earliest_stop", "seconds_to_last_step",
    "rows_per_processor_second", "peak_mib",
)  # fmt: skip
STEPS, SAMPLES = 4, {"S": 128, "auto": 20_000, "trees": 20_000}
PAPER_STEPS, PAPER_VALIDATES = PRESETS["S"].train.steps, PRESETS["S"].train.validate_every


def made_table(n_rows: int = 614, n_columns: int = 8) -> pd.DataFrame:
    """Return correlated numbers and a class that depends on two of them; by default in the shape of diabetes."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(n_rows, 3)) @ rng.normal(size=(3, n_columns))
    table = pd.DataFrame((common + rng.normal(size=common.shape)).round(3), columns=[f"x{i}" for i in range(n_columns)])
    return table.assign(y=np.where(table["x0"] + table["x1"] ** 2 > 1, "yes", "no"))


def measure(preset: str) -> dict[str, Any]:
    """Fit and sample once in this process."""
    model, seconds = _fit(preset)
    started = time.process_time()
    model.sample(SAMPLES[preset])
    summary = model.summary()
    line = {
        "preset": preset,
        "tokens_per_row": summary.get("length", ""),
        "parameters": summary.get("parameters", ""),
        "rows_per_processor_second": round(SAMPLES[preset] / (time.process_time() - started)),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10),
    }
    if preset != "S":
        return line | {"fit_seconds": round(seconds, 1)}
    per_step = (_fit(preset, steps=1 + STEPS)[1] - seconds) / STEPS  # of both networks
    train = model.fitted_.config.train
    earliest = (1 + train.patience) * PAPER_VALIDATES
    return line | {
        "seconds_to_earliest_stop": round(per_step * earliest),
        "seconds_to_last_step": round(per_step * PAPER_STEPS),
    }


def _fit(preset: str, steps: int = 1) -> tuple[TabTreeFormer, float]:
    """Return a fitted model and the processor seconds that it took; S takes a few steps, without a verdict."""
    from tabtreeformer import TabTreeFormer

    short: dict[str, Any] = {}
    if preset == "S":
        trees = {"trials": 0, "params": {"n_estimators": 100}}
        train = {"steps": steps, "shared_share": 0.0, "validate_every": 100}
        short = {"tree": trees, "train": train, "privacy": "off"}
    started = time.process_time()
    model = TabTreeFormer(preset, target="y", **short, random_state=0, verbose=False).fit(made_table())
    return model, time.process_time() - started


def main() -> None:
    """Measure each preset in a process of its own, and keep a table of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "speed.csv")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    lines = []
    for preset in SAMPLES:
        command = [sys.executable, "-m", "benchmarks.speed", "--one", preset]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        lines.append(json.loads(done.stdout.splitlines()[-1]))
        print(json.dumps(lines[-1]), flush=True)
    write_lines(options.output, FIELDS, lines)


if __name__ == "__main__":
    main()
