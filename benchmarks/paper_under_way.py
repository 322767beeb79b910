"""Runs of the paper's models that have not ended, and how long a step of them takes.

    python -m benchmarks.paper_under_way breast-w.run --table breast-w
    python -m benchmarks.paper_under_way --steps

The first reads the checkpoint folder of a fit and adds what each network has reached to
`benchmarks/results/paper_under_way.csv`. The second measures a step of S and L after 150 trees, in a table of nine
numbers and a class. `python -m benchmarks.claims` puts both into docs/lab/paper.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from tabtreeformer.config.presets import PRESETS
from tabtreeformer.fitting.checkpoint.folder import RunFolder
from tabtreeformer.fitting.distributed import Team
from tabtreeformer.fitting.update import Updater
from tabtreeformer.model import build_network
from tabtreeformer.tokens import MASK, Slot, SlotKind, TokenLayout

from .pages import as_table

FOLDER = Path(__file__).parent / "results"
UNDER_WAY, STEPS = FOLDER / "paper_under_way.csv", FOLDER / "paper_steps.csv"
STAGES = {"shared": "shared start", "network_1": "network 1", "network_2": "network 2"}
ROWS = 16
"""Rows of a batch of 128 that are measured, eight times."""


def main(arguments: list[str] | None = None) -> None:
    """Read a folder, or measure steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--table", default="")
    parser.add_argument("--model", default="S")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", action="store_true")
    options = parser.parse_args(arguments)
    if options.steps:
        made = [seconds(*kind) for kind in (("S", "fp32"), ("S", "bf16"), ("L", "bf16"))]
        pd.DataFrame(made).to_csv(STEPS, index=False)
    else:
        run = {"table": options.table, "model": options.model, "seed": options.seed}
        found = pd.DataFrame([{**run, **line} for line in reached(options.folder)])
        known = pd.read_csv(UNDER_WAY) if UNDER_WAY.exists() else found.head(0)
        others = known[(known[list(run)] != pd.Series(run)).any(axis=1)]
        pd.concat([others, found], ignore_index=True).to_csv(UNDER_WAY, index=False, float_format="%.6g")
    print(section())


def reached(folder: Path) -> list[dict[str, Any]]:
    """A line for each validation of each network, and for each that has none."""
    lines = []
    for stage, name in STAGES.items():
        loaded = RunFolder.at(folder).stage(stage).load()
        if loaded is None:
            continue
        history = loaded[0]["history"]
        facts = {"network": name, "steps": history["steps"], "ended": bool(loaded[0]["done"])}
        for step, train, valid in history["validations"] or [(None, None, None)]:
            lines.append({**facts, "validated_at": step, "train_loss": train, "valid_loss": valid})
    return lines


def seconds(model: str, precision: str) -> dict[str, Any]:
    """Processor seconds of a step of 128 rows, with one thread."""
    torch.set_num_threads(1)
    config = PRESETS[model]
    numbers = [Slot(kind, column, 10) for column in range(9) for kind in (SlotKind.BIN, SlotKind.QUANTILE)]
    layout = TokenLayout.build([31] * 150, [*numbers, Slot(SlotKind.CATEGORY, 9, 2)])
    network = build_network(layout, config.model, torch.Generator().manual_seed(0))
    train = dataclasses.replace(config.train, precision=precision)
    updater = Updater("network", network, train, torch.device("cpu"), Team())
    rows = torch.from_numpy(layout.to_tokens(torch.zeros(ROWS, 150).numpy(), torch.zeros(ROWS, 19).numpy()))
    times = []
    for _ in range(3):
        started = time.process_time()
        updater.update(rows, lambda batch: (torch.where(batch == 0, batch, MASK), None), print)
        times.append(time.process_time() - started)
    step = config.train.batch_size / ROWS * min(times[1:])
    return {"model": model, "precision": precision, "weights": network.n_parameters, "seconds": round(step, 1)}


def section(under_way: Path = UNDER_WAY, steps: Path = STEPS) -> str:
    """The part of the page about them."""
    parts = []
    if under_way.exists():
        found = pd.read_csv(under_way).round(3).astype({"validated_at": "Int64"}).astype(object)
        found = found.where(found.notna(), "–")
        head = ["table", "model", "seed", "network", "steps so far", "ended", "validated at", "training", "validation"]
        parts += ["### Under way", "", "**Cut short**: training had not ended, so that no rows were judged. Losses "
                  "are nats per token; steps are those of the network, after the shared ones.", "",
                  as_table(head, found.to_numpy().tolist()), ""]  # fmt: skip
    if steps.exists():
        rows = pd.read_csv(steps).to_numpy().tolist()
        parts += ["### Time of a step", "", "Processor seconds of a step of 128 rows on one core, 150 trees, nine "
                  "numbers and a class. At most 5,000 steps of two networks of L, and of NM, which has the same "
                  "size, would take days here: they were not trained.", "",
                  as_table(["model", "precision", "weights", "seconds"], rows), ""]  # fmt: skip
    return "\n".join(parts)


if __name__ == "__main__":
    main()
