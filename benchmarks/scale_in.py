"""Big tables in: time and memory of fitting a table in parts, by its number of rows; `python -m benchmarks.scale in`.

Each size has its own process, so that its peak memory is measured separately: the largest resident size that the system
saw, pages of mapped files included. Seconds of stages are processor seconds, which are comparable on a busy machine.
Training is cut to a few steps, since its cost does not depend on the number of rows.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .pages import write_lines

STEPS = 10
FIELDS = (
    "form", "rows", "columns", "file_mib", "look_seconds", "learn_seconds", "encode_seconds", "train_seconds",
    "microseconds_per_row", "clock_seconds", "start_mib", "peak_mib", "tokens_per_row", "parameters",
)  # fmt: skip


class Timed:
    """A progress that takes down when stages begin and end."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}
        self.seconds: dict[str, float] = {}

    def task(self, name: str, total: int) -> _Task:
        self.began[name] = time.process_time()
        return _Task(self, name)

    def note(self, message: str) -> None:
        print(f"  {message}", file=sys.stderr, flush=True)


class _Task:
    def __init__(self, timed: Timed, name: str) -> None:
        self.timed, self.name = timed, name

    def advance(self, units: int = 1, **facts: str) -> None:
        pass

    def close(self) -> None:
        self.timed.seconds[self.name] = time.process_time() - self.timed.began[self.name]
        print(f"  {self.name}: {self.timed.seconds[self.name]:.1f} s", file=sys.stderr, flush=True)


def measure(path: Path) -> dict[str, object]:
    """Fit one table in this process."""
    from tabtreeformer import TabTreeFormer, open_chunks

    start = _peak()
    timed = Timed()
    # The privacy verdict at the end of a fit compares a few thousand rows, whatever the table: it is left out.
    train = {"steps": STEPS, "validate_every": STEPS}
    model = TabTreeFormer(target="late", train=train, privacy="off", random_state=0)
    model._progress = lambda: timed  # type: ignore[method-assign]
    began, clock = time.process_time(), time.perf_counter()
    model.fit(open_chunks(path))
    ended = time.process_time()
    summary = model.summary()
    looked = timed.began["look at all rows"] + timed.seconds["look at all rows"]
    encoding = timed.began["encode all rows"]
    encoded = encoding + timed.seconds["encode all rows"]
    return {
        "form": path.suffix[1:],
        "rows": summary["rows"],
        "columns": len(summary["columns"]),
        "file_mib": round(path.stat().st_size / 2**20),
        "look_seconds": round(looked - began, 1),  # with the types of a CSV, which are settled before
        "learn_seconds": round(encoding - looked, 1),
        "encode_seconds": round(encoded - encoding, 1),
        "train_seconds": round(ended - encoded, 1),
        "microseconds_per_row": round((encoded - began) / summary["rows"] * 1e6, 1),
        "clock_seconds": round(time.perf_counter() - clock, 1),
        "start_mib": start,
        "peak_mib": _peak(),
        "tokens_per_row": summary["length"],
        "parameters": summary["parameters"],
    }


def _peak() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main(arguments: argparse.Namespace) -> None:
    """Measure each size in a process of its own, and keep a table of all."""
    if arguments.measure is not None:
        print(json.dumps(measure(arguments.measure)))
        return
    from . import make_table

    lines = []
    for n_rows in arguments.rows:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            path = Path(folder) / f"table.{arguments.form}"
            make_table.write(path, n_rows)
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.scale", "in", "--measure", str(path)],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
        lines.append(json.loads(done.stdout.splitlines()[-1]))
        print(json.dumps(lines[-1]), flush=True)
        if arguments.output is not None:
            keep(arguments.output, lines[-1])


def keep(path: Path, line: dict[str, object]) -> None:
    """Put a line into the table of results, in place of one of the same form and rows."""
    known = list(csv.DictReader(path.open())) if path.exists() else []
    same = (str(line["form"]), str(line["rows"]))
    known = [old for old in known if (old["form"], old["rows"]) != same] + [line]
    known.sort(key=lambda old: (str(old["form"]), int(str(old["rows"]))))
    write_lines(path, FIELDS, known)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `scale.py in` takes."""
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 500_000, 1_000_000, 5_000_000])
    parser.add_argument("--form", choices=["parquet", "csv"], default="parquet")
    parser.add_argument("--folder", type=Path, default=None, help="where the table is made; by default the system's")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "scale_in.csv")
    parser.add_argument("--measure", type=Path, default=None, help=argparse.SUPPRESS)
    parser.set_defaults(main=main)
