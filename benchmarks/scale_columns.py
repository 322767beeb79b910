"""Wide tables: seconds per step, rows per second and memory, by columns; `python -m benchmarks.scale columns`.

Each width has its own process, so that its peak memory is measured separately. Seconds are processor seconds on one
thread unless labelled as wall-clock time. Training is cut to a few steps: this does not measure the quality of rows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from .pages import write_lines

STEPS = 10
FIELDS = (
    "columns", "rows", "fit_seconds", "clock_milliseconds_per_trained_row", "rows_per_processor_second", "peak_mib",
    "tokens_per_row", "parameters",
)  # fmt: skip


def measure(n_columns: int, n_rows: int, n_new: int) -> dict[str, object]:
    """Fit and sample one made table in this process."""
    from tabtreeformer import TabTreeFormer
    from tabtreeformer._runtime.threads import use_cores

    from .speed import made_table

    use_cores(1)
    table = made_table(n_rows, n_columns - 1)
    train = {"steps": STEPS, "validate_every": STEPS}
    began = time.process_time()
    model = TabTreeFormer(target="y", train=train, privacy="off", random_state=0, verbose=False).fit(table)
    fitted = time.process_time()
    model.sample(1000, random_state=0)
    warm = time.process_time()
    model.sample(n_new, random_state=1)
    ended = time.process_time()
    summary = model.summary()
    runs = summary["training"]
    return {
        "columns": n_columns,
        "rows": n_rows,
        "fit_seconds": round(fitted - began, 1),
        "clock_milliseconds_per_trained_row": round(
            1000 * sum(run["seconds"] for run in runs) / sum(run["rows"] for run in runs), 3
        ),
        "rows_per_processor_second": round(n_new / (ended - warm)),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "tokens_per_row": summary["length"],
        "parameters": summary["parameters"],
    }


def main(arguments: argparse.Namespace) -> None:
    """Measure each width in a process of its own, and keep a table of all."""
    if arguments.measure is not None:
        print(json.dumps(measure(arguments.measure, arguments.rows, arguments.new)))
        return
    lines = []
    for n_columns in arguments.columns:
        command = [sys.executable, "-m", "benchmarks.scale", "columns", "--measure", str(n_columns)]
        command += ["--rows", str(arguments.rows), "--new", str(arguments.new)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
        lines.append(json.loads(done.stdout.splitlines()[-1]))
        print(json.dumps(lines[-1]), flush=True)
    write_lines(arguments.output, FIELDS, lines)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `scale.py columns` takes."""
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 50, 200])
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--new", type=int, default=20_000, help="rows that are drawn")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "scale_columns.csv")
    parser.add_argument("--measure", type=int, default=None, help=argparse.SUPPRESS)
    parser.set_defaults(main=main)
