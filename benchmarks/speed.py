"""What the paper's recipe costs here and what `auto` costs, in one run on the same machine.

    python benchmarks/speed.py                        everything below, on a made table shaped like diabetes
    python benchmarks/speed.py recipes                `S`, a plain transformers GPT-2 loop and `auto`
    python benchmarks/speed.py rows columns           how the time of `auto` grows with the table
    python benchmarks/speed.py recipes --table adult.csv --target income

Each measurement is a process of its own, so that peak memory is its own too. Ratios between rows of one run mean more
than its seconds: machines differ, and are shared.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pandas as pd
import torch

from tabtreeformer import TabTreeFormer
from tabtreeformer.presets import PRESETS

WHAT = ("recipes", "rows", "columns")
ROWS = (1_000, 10_000, 100_000)
COLUMNS = (10, 50, 200)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=[*WHAT, []], default=[], help="by default all of them")
    parser.add_argument("--table", help="a CSV file instead of the made table")
    parser.add_argument("--target", default="y")
    parser.add_argument("--steps", type=int, default=4, help="steps of S and of the plain loop to time (default 4)")
    parser.add_argument("--samples", type=int, default=20_000, help="rows that auto samples (default 20,000)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args()


def made_table(n_rows: int = 614, n_columns: int = 8) -> pd.DataFrame:
    """Numbers that hang together and a class that depends on two of them; by default the shape of diabetes."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(n_rows, 3)) @ rng.normal(size=(3, n_columns))
    table = pd.DataFrame((common + rng.normal(size=common.shape)).round(3), columns=[f"x{i}" for i in range(n_columns)])
    return table.assign(y=np.where(table["x0"] + table["x1"] ** 2 > 1, "yes", "no"))


def measure_auto(table: pd.DataFrame, target: str, samples: int, **train: Any) -> dict[str, Any]:
    """Fit and sample with the default preset."""
    model = TabTreeFormer(target=target, train=train, random_state=0, verbose=False).fit(table)
    model.sample(100)
    started = time.perf_counter()
    model.sample(samples)
    sampled = samples / (time.perf_counter() - started)
    return {**facts(model), "fit seconds": model.summary()["fit_seconds"], "sampled rows/s": sampled}


def measure_s(table: pd.DataFrame, target: str, steps: int) -> dict[str, Any]:
    """A few steps of the paper's S, and rows drawn with its cache."""
    model = TabTreeFormer(
        "S",
        target,
        tree={"tune": False, "params": {"n_estimators": 100}},
        train={"steps": steps, "shared_share": 0.0, "validate_every": steps},
        random_state=0,
        verbose=False,
    ).fit(table)
    started = time.perf_counter()
    model.sample(128)
    return {**facts(model), "sampled rows/s": 128 / (time.perf_counter() - started)}


def measure_plain(table: pd.DataFrame, target: str, steps: int) -> dict[str, Any]:
    """The loop that one writes first: transformers' GPT-2 of S's size on rows as long, sampled with its own cache."""
    from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel

    shape = PRESETS["S"].model
    length, vocabulary, batch = row_length(table, target)
    config = GPT2Config(
        vocab_size=vocabulary, n_positions=length, n_embd=shape.width, n_layer=shape.layers, n_head=shape.heads
    )
    network = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(network.parameters(), lr=5e-4)
    tokens = torch.randint(vocabulary, (batch, length))
    started = time.perf_counter()
    for _ in range(steps):
        network(tokens, labels=tokens).loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    seconds = (time.perf_counter() - started) / (steps * batch)

    network.eval()
    started, cache = time.perf_counter(), DynamicCache(config=config)
    current = torch.zeros(128, 1, dtype=torch.long)
    with torch.inference_mode():
        for _ in range(length - 1):
            logits = network(current, past_key_values=cache, use_cache=True).logits[:, -1]
            current = torch.multinomial(torch.softmax(logits, 1), 1)
    return {
        "tokens a row": length,
        "parameters": sum(p.numel() for p in network.parameters()),
        "seconds a training row": seconds,
        "sampled rows/s": 128 / (time.perf_counter() - started),
    }


def row_length(table: pd.DataFrame, target: str) -> tuple[int, int, int]:
    """Tokens a row, vocabulary and batch size of S on this table."""
    model = TabTreeFormer(
        "S",
        target,
        tree={"tune": False, "params": {"n_estimators": 100}},
        model={"width": 8, "heads": 1, "layers": 1, "feed_forward": 8},
        train={"steps": 1, "shared_share": 0.0},
        verbose=False,
    ).fit(table)
    return model.summary()["length"], model.summary()["vocabulary"], PRESETS["S"].train.batch_size


def facts(model: TabTreeFormer) -> dict[str, Any]:
    """What the record of training says."""
    summary = model.summary()
    runs = summary["training"]
    return {
        "tokens a row": summary["length"],
        "parameters": summary["parameters"],
        "seconds a training row": sum(r["seconds"] for r in runs) / sum(r["rows"] for r in runs),
        "rows trained on": sum(r["rows"] for r in runs),
        "steps": sum(r["steps"] for r in runs),
    }


def run_one(options: argparse.Namespace) -> None:
    """Measure one thing; print one JSON line."""
    name, *size = json.loads(options.one)
    if name in ("rows", "columns"):
        table = made_table(size[0], 10) if name == "rows" else made_table(1_000, size[0])
        result = measure_auto(table, "y", 5_000)
    else:
        table = pd.read_csv(options.table).dropna() if options.table else made_table()
        if name == "auto":
            result = measure_auto(table, options.target, options.samples)
        else:
            result = (measure_s if name == "S" else measure_plain)(table, options.target, options.steps)
    result["peak MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(json.dumps(result))


def measure(options: argparse.Namespace, *what: Any) -> dict[str, Any]:
    """One measurement in a process of its own."""
    words = [sys.executable, __file__, "--one", json.dumps(what), "--steps", str(options.steps)]
    words += ["--target", options.target, "--samples", str(options.samples)]
    words += ["--table", options.table] if options.table else []
    finished = subprocess.run(words, capture_output=True, text=True)
    if finished.returncode:
        sys.exit(f"{what}: {finished.stderr.strip().splitlines()[-1]}")
    result: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return result


def show(rows: dict[str, dict[str, Any]]) -> None:
    frame = pd.DataFrame(rows).T
    print(frame.map(lambda v: "" if pd.isna(v) else f"{v:,.4f}" if v < 1 else f"{v:,.0f}").to_string(), flush=True)


def recipes(options: argparse.Namespace) -> None:
    """S and the plain loop against auto."""
    rows = {name: measure(options, name) for name in ("S", "plain GPT-2", "auto")}
    show(rows)
    train = PRESETS["S"].train
    # S validates every 100 steps and has a patience of 3: a network cannot stop before its fourth validation.
    earliest = 2 * (1 + train.patience) * train.validate_every * train.batch_size
    most = 2 * train.steps * train.batch_size
    auto = rows["auto"]
    for name in ("S", "plain GPT-2"):
        cost = rows[name]["seconds a training row"]
        faster = auto["sampled rows/s"] / rows[name]["sampled rows/s"]
        for point, n_rows in (("to the earliest point where the recipe can stop", earliest), ("to its end", most)):
            times = cost * n_rows / auto["fit seconds"]
            print(f"{name}: {cost * n_rows:,.0f} s {point}, {times:,.0f} times auto's whole fit")
        print(f"{name}: auto samples {faster:,.0f} times as fast")


def main() -> None:
    options = arguments()
    if options.one:
        run_one(options)
        return
    wanted = options.what or WHAT
    if "recipes" in wanted:
        recipes(options)
    if "rows" in wanted:
        print("\nauto by rows, 11 columns")
        show({f"{n:,} rows": measure(options, "rows", n) for n in ROWS})
    if "columns" in wanted:
        print("\nauto by columns, 1,000 rows")
        show({f"{n} columns": measure(options, "columns", n) for n in COLUMNS})


if __name__ == "__main__":
    main()
