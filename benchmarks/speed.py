"""How fast the paper's S model trains and samples here, with and without the cache.

    python benchmarks/speed.py                     a made table of 614 rows: eight numbers and a class
    python benchmarks/speed.py --table data.csv --target y --steps 20 --rows 500

Prints rows a second and ratios taken in one run; seconds differ from machine to machine, ratios less so.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import pandas as pd
import torch

from tabtreeformer import TabTreeFormer


def made_table(n_rows: int = 614) -> pd.DataFrame:
    """Eight numbers and a class that depends on two of them, the shape of the paper's diabetes table."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n_rows, 8)).round(3), columns=[f"x{i}" for i in range(8)])
    return table.assign(y=np.where(table["x0"] + table["x1"] ** 2 > 1, "yes", "no"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", help="a CSV file instead of the made table")
    parser.add_argument("--target", default="y")
    parser.add_argument("--preset", default="S")
    parser.add_argument("--trees", type=int, default=100, help="boosting rounds (default 100)")
    parser.add_argument("--steps", type=int, default=6, help="training steps to time (default 6)")
    parser.add_argument("--rows", type=int, default=128, help="rows to sample (default 128)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    return parser.parse_args()


def main() -> None:
    options = arguments()
    torch.set_num_threads(options.threads)
    table = pd.read_csv(options.table).dropna() if options.table else made_table()
    target = options.target

    model = TabTreeFormer(
        options.preset,
        target,
        tree={"tune": False, "params": {"n_estimators": options.trees}},
        train={"steps": options.steps, "shared_share": 0.0, "validate_every": options.steps},
        random_state=0,
        verbose=False,
    ).fit(table)
    facts = model.summary()
    sizes = f"{facts['parameters']:,} parameters, {facts['length']} tokens a row"
    print(f"{options.preset}: {sizes}, {options.threads} threads")
    rates = [run["rows"] / run["seconds"] for run in facts["training"]]
    batch = facts["training"][0]["batch_size"]
    print(f"training            {np.mean(rates):10.1f} rows/s   ({batch / np.mean(rates):.2f} s a step of {batch})")

    speeds = {}
    for cache in (True, False):
        model.set_params(sampling={"cache": cache})
        model.sample(2, random_state=0)
        started = time.perf_counter()
        model.sample(options.rows, random_state=0)
        speeds[cache] = options.rows / (time.perf_counter() - started)
        print(f"sampling {'with' if cache else 'without'} cache {speeds[cache]:10.1f} rows/s")
    print(f"the cache samples {speeds[True] / speeds[False]:.1f} times as fast")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:,.0f} MiB")


if __name__ == "__main__":
    main()
