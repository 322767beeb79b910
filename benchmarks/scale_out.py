"""Many rows out: speed and memory of `sample_to` by the number of rows written; `python -m benchmarks.scale out`.

First the two ways to draw rows are measured in turn, the plain one and the one made for slot models; then rows are
streamed to Parquet in this process, recording resident memory; then worker processes write the same rows. Rows per
processor second are comparable on a busy machine, rows per second of wall-clock time are not. Sizes that were not
reached in the time allowed are not extrapolated.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from .pages import write_lines

FIELDS = ("what", "rows", "clock_seconds", "processor_seconds", "rows_per_processor_second", "mib_above_model")


class Memory:
    """A progress that takes down the resident memory on the way, and ends the run when its time is over."""

    def __init__(self, minutes: float, every: int) -> None:
        self.deadline, self.every = time.perf_counter() + 60 * minutes, every
        self.rows, self.lines = 0, []
        self.base, self.clock, self.processor = resident(), time.perf_counter(), processor_seconds()

    def task(self, name: str, total: int) -> Memory:
        return self

    def note(self, message: str) -> None:
        pass

    def close(self) -> None:
        pass

    def advance(self, units: int = 1, **facts: str) -> None:
        before, self.rows = self.rows, self.rows + units
        if self.rows // self.every > before // self.every:
            self.lines.append(self.line("streamed"))
            print(json.dumps(self.lines[-1]), flush=True)
        if time.perf_counter() > self.deadline:
            raise KeyboardInterrupt

    def line(self, what: str) -> dict[str, Any]:
        """The state of the run."""
        processor = processor_seconds() - self.processor
        return {
            "what": what,
            "rows": self.rows,
            "clock_seconds": round(time.perf_counter() - self.clock, 1),
            "processor_seconds": round(processor, 1),
            "rows_per_processor_second": round(self.rows / processor),
            "mib_above_model": round(resident() - self.base),
        }


def resident() -> float:
    """Resident memory now, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 2**10


def processor_seconds() -> float:
    """Seconds of the processor, those of workers that have ended included."""
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


def both_ways(model: Any, n: int) -> list[dict[str, Any]]:
    """Rows of one network a second of the processor, plain and fast, in turns: the load of the moment hits both."""
    import numpy as np
    import torch

    from tabtreeformer.model.fast_decode import PlainRows
    from tabtreeformer.sampling import Sampler

    torch.set_num_threads(1)
    network, prompts = model.fitted_.models[0], model.fitted_.prompts[0]
    plain, fast = (Sampler(network, model.fitted_.config.sampling) for _ in range(2))
    plain._start_rows = lambda tokens, order: PlainRows(network, tokens, order, cache=True)
    spent, drawn = {"plain": 0.0, "fast": 0.0}, {}
    for turn in range(4):
        leaves = prompts.draw(n // 4, np.random.default_rng(turn))
        for name, sampler in (("plain", plain), ("fast", fast)):
            began = time.thread_time()
            drawn[name] = sampler.draw(leaves, np.random.default_rng(turn), lambda rows: None)
            spent[name] += time.thread_time() - began
        same = (drawn["plain"] == drawn["fast"]).all(1).mean()
        print(f"  turn {turn}: {same:.2%} of the rows are the same", flush=True)
    done = n // 4 * 4
    return [
        {
            "what": f"{name} way, one network", "rows": done, "processor_seconds": round(seconds, 1),
            "rows_per_processor_second": round(done / seconds),
        }
        for name, seconds in spent.items()
    ]  # fmt: skip


def main(arguments: argparse.Namespace) -> None:
    """Measure all, and keep a table of it."""
    from tabtreeformer import TabTreeFormer, read_table

    if arguments.model is None:
        model = TabTreeFormer(target=arguments.target, random_state=0, budget_seconds=120)
        model.fit(read_table(arguments.table))
    else:
        model = TabTreeFormer.load(arguments.model, verbose=False)
    lines = both_ways(model, arguments.both)
    print(json.dumps(lines), flush=True)
    model.sample(5_000)  # what is loaded when first used is not counted as growth
    for workers in arguments.workers:
        n = arguments.rows if workers == 1 else arguments.worker_rows
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            memory = Memory(arguments.minutes, arguments.every)
            model._progress = lambda memory=memory: memory
            try:
                model.sample_to(f"{folder}/rows/", n, random_state=0, workers=workers, accept_risk=True)
                what = f"whole, {workers} worker{'s' * (workers > 1)}"
            except KeyboardInterrupt:
                what = f"time was over, {workers} worker{'s' * (workers > 1)}"
        lines += [*memory.lines, memory.line(what)]
        print(json.dumps(lines[-1]), flush=True)
    write_lines(arguments.output, FIELDS, lines)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `scale.py out` takes."""
    parser.add_argument("--table", type=Path, help="a table to fit in two minutes")
    parser.add_argument("--target", default="class")
    parser.add_argument("--model", type=Path, help="a model file instead")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--every", type=int, default=500_000, help="rows between two looks at the memory")
    parser.add_argument("--both", type=int, default=16_384, help="rows drawn in each of the two ways")
    parser.add_argument("--worker-rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--minutes", type=float, default=90, help="each run ends after this time, wherever it is")
    parser.add_argument("--folder", type=Path, default=None, help="where rows are written; by default the system's")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "scale_out.csv")
    parser.set_defaults(main=main)
