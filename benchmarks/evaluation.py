"""Time and peak memory of each metric on one table, each in a process of its own.

    python benchmarks/evaluation.py [--data ../shared/data/adult.csv] [--target class] [--synthetic bootstrap]

Rows with missing values are dropped and a fifth is held out. No model is needed: the synthetic table is a bootstrap of
the training rows in which a tenth of the values is drawn anew from its column, or columns drawn by themselves.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from tabtreeformer.evaluation import METRICS, evaluate
from tabtreeformer.schema import CATEGORICAL, Schema

DATA = Path(__file__).parents[1] / ".." / "shared" / "data" / "adult.csv"
NOISE = 0.1
MOST_CODES = 10
"""Integer columns of at most this many values are categories (adult's age, gain, loss and hours are binned)."""


def split(path: Path, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return training and held-out rows, four to one."""
    df = pd.read_csv(path).dropna().sample(frac=1, random_state=seed, ignore_index=True)
    n_train = len(df) * 4 // 5
    return df.iloc[:n_train], df.iloc[n_train:]


def imitate(train: pd.DataFrame, kind: str, seed: int = 0) -> pd.DataFrame:
    """Return a synthetic table that cost nothing: rows drawn again with noise, or independent columns."""
    rng = np.random.default_rng(seed)
    share = NOISE if kind == "bootstrap" else 1.0
    table = train.iloc[rng.integers(len(train), size=len(train))].reset_index(drop=True)
    for name in table.columns:
        anew = rng.random(len(table)) < share
        table[name] = np.where(anew, train[name].to_numpy()[rng.integers(len(train), size=len(table))], table[name])
    return table


def measure(arguments: argparse.Namespace) -> dict[str, object]:
    """Run one metric here; return its number, its seconds and the peak of memory above that of the tables."""
    train, test = split(arguments.data)
    synthetic = imitate(train, arguments.synthetic)
    schema = Schema.infer(train, arguments.target)
    for column in schema.columns:
        if pd.api.types.is_integer_dtype(train[column.name].dtype) and train[column.name].nunique() <= MOST_CODES:
            schema = schema.with_kind(column.name, CATEGORICAL)
    before, start = peak_mib(), time.perf_counter()
    evaluation = evaluate(
        train,
        test,
        synthetic,
        target=arguments.target,
        schema=schema,
        metrics=[arguments.metric],
        utility=arguments.utility,
    )
    seconds, score = time.perf_counter() - start, evaluation.scores[arguments.metric]
    return {
        "value": score.value,
        "ceiling": score.ceiling,
        "floor": score.floor,
        "seconds": seconds,
        "peak_mib": peak_mib(),
        "above_mib": peak_mib() - before,
        "shape": train.shape,
    }


def peak_mib() -> float:
    """Return the largest resident size of this process so far; kibibytes on Linux."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print one line a metric."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--target", default="class")
    parser.add_argument("--synthetic", choices=("bootstrap", "marginals"), default="bootstrap")
    parser.add_argument("--utility", choices=("quick", "tuned"), default="quick")
    parser.add_argument("--metric", choices=tuple(METRICS), help="only this one, and print JSON")
    arguments = parser.parse_args()
    if arguments.metric:
        print(json.dumps(measure(arguments)))
        return
    print(f"{'metric':<16}{'value':>9}{'ceiling':>9}{'floor':>9}{'seconds':>9}{'peak MiB':>10}{'of it ours':>12}")
    total = 0.0
    for name in METRICS:
        command = [sys.executable, __file__, *sys.argv[1:], "--metric", name]
        line = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        total += line["seconds"]
        numbers = "".join(f"{line[key]:>9.4f}" for key in ("value", "ceiling", "floor"))
        print(
            f"{name:<16}{numbers}{line['seconds']:>9.2f}{line['peak_mib']:>10.0f}{line['above_mib']:>12.0f}", flush=True
        )
    print(f"{line['shape'][0]:,} training rows of {line['shape'][1]} columns, {total:.1f} s in all")


if __name__ == "__main__":
    main()
