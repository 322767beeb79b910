"""Run generators one after the other: a worker process per run, the same split and the same evaluation for all."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from ...errors import TabTreeFormerError
from .. import evaluate
from ..context import UtilityMode
from ..metrics.evaluators import EVALUATORS
from . import worker
from .generators import GeneratorSpec
from .results import FAILED, OK, TIMEOUT, Results, Run
from .tables import Table

METRICS = ("utility", "shape", "trend", "detection", "dcr", "copies", "membership")
PATIENCE = 8
"""A worker may take this many times its budget in wall-clock time: on a busy machine it waits for its turn."""
OUT_OF_TIME = -signal.SIGXCPU if hasattr(signal, "SIGXCPU") else None
"""The return code of a process that the system ended because its processor time was used up."""
OVERTIME = 1.25
"""A generator that was given its budget may exceed it by this factor."""
UNFIT = (TabTreeFormerError, ValueError, TypeError, ArithmeticError, LookupError)
"""Errors of evaluating rows that do not form a table like the real one."""
START_SECONDS = 60.0
"""Additional time for starting Python and importing libraries."""
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONHASHSEED": "0"}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The resources of a run, how its rows are split, and how they are scored."""

    budget_seconds: float = 600.0
    """Processor seconds for fit and sample together (infinite: no limit); with one thread, wall-clock time."""
    told: bool = False
    """Whether generators are asked to use this time as well as they can, as in the comparison at equal time."""
    threads: int = 1
    """Threads of a run."""
    device: Literal["auto", "cpu"] = "auto"
    """`cpu` hides the GPUs of the machine."""
    split: Literal["seed", "one"] = "seed"
    """A split per seed, or the split of seed 0 for all seeds, so that only the generators differ (as in the paper)."""
    utility: UtilityMode = "quick"
    """Evaluators with fixed settings, or tuned as in the paper."""

    def split_of(self, seed: int) -> int:
        """The seed of the split of a run."""
        return seed if self.split == "seed" else 0


def compare(
    tables: Sequence[Table],
    generators: Sequence[GeneratorSpec],
    seeds: Sequence[int],
    results: Results,
    limits: Limits,
    *,
    samples: Path | None = None,
) -> Iterator[Run]:
    """Make every run that is missing from the results, seed by seed and small tables first; yield each as it ends.

    `samples` is a folder in which the rows of each run are kept.
    """
    for seed in seeds:
        for table in sorted(tables, key=lambda t: t.frame.size):
            remembered: dict[Any, Any] = {}
            for generator in generators:
                if results.done(table.name, generator.name, seed, limits.budget_seconds, exact=limits.told):
                    continue
                run = run_one(table, generator, seed, limits, samples=samples, remembered=remembered)
                results.add(run)
                yield run


def run_one(
    table: Table,
    generator: GeneratorSpec,
    seed: int,
    limits: Limits,
    *,
    samples: Path | None = None,
    remembered: dict[Any, Any] | None = None,
) -> Run:
    """Fit, sample and evaluate once. Whatever goes wrong with a generator is part of the result."""
    train, test = table.split(limits.split_of(seed))
    if generator.file is None:
        values = held_out(train, test, table.target, seed)
        return Run(table.name, generator.name, seed, limits.budget_seconds, OK, "", values)
    with tempfile.TemporaryDirectory() as folder:
        rows, record = work(table, train, generator, seed, limits, Path(folder))
    values = {k: float(v) for k, v in record.items() if k.endswith(("seconds", "mib"))}
    values |= {k: float(v) for k, v in record.get("facts", {}).items()}
    status, message = record["status"], " ".join(str(record["message"]).split())[:400]
    if rows is not None:
        if samples is not None:
            place = samples / table.name
            place.mkdir(parents=True, exist_ok=True)
            rows.to_csv(place / f"{_file_name(generator.name)}-{seed}.csv", index=False)
        try:
            values |= scores_of(train, test, rows, table.target, seed, remembered, limits.utility)
        except UNFIT as error:  # such rows are a failure of their generator, not of the comparison
            status, message = FAILED, f"the rows cannot be evaluated: {type(error).__name__}: {error}"[:400]
    return Run(table.name, generator.name, seed, limits.budget_seconds, status, message, values)


def work(
    table: Table, train: pd.DataFrame, generator: GeneratorSpec, seed: int, limits: Limits, folder: Path
) -> tuple[pd.DataFrame | None, dict[str, Any]]:
    """Run the worker process; return its rows, if any, and its record."""
    plan = table.plan()
    allowed = OVERTIME * limits.budget_seconds + START_SECONDS if limits.told else limits.budget_seconds
    train.to_csv(folder / "train.csv", index=False)
    (folder / "schema.json").write_text(json.dumps(plan), encoding="utf-8")
    job = {
        "generator": str(generator.file),
        "options": dict(generator.options),
        "train": str(folder / "train.csv"),
        "schema": str(folder / "schema.json"),
        "rows": str(folder / "rows.csv"),
        "record": str(folder / "record.json"),
        "n_rows": len(train),
        "parent": os.getpid(),
        "seed": seed,
        "cpu_seconds": allowed if math.isfinite(allowed) else None,
        "budget_seconds": limits.budget_seconds if limits.told else None,
    }
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    wall = PATIENCE * limits.budget_seconds + START_SECONDS
    command = [str(generator.python), worker.__file__, str(folder / "job.json")]
    code, log = _process(command, folder, environment_of(generator, limits), wall)
    if code is None or code == OUT_OF_TIME:
        why = f"not done after {allowed:g} s of processor time" if code is not None else f"not done after {wall:g} s"
        told = f" ({limits.budget_seconds:g} s given)" if limits.told else ""
        return None, {"status": TIMEOUT, "message": why + told}
    path = folder / "record.json"
    if not path.exists():
        last = (log.strip().splitlines() or ["no output"])[-1]
        return None, {"status": FAILED, "message": f"the process ended with code {code}: {last}"}
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if record["status"] != OK:
        return None, record
    spent = record["fit_cpu_seconds"] + record["sample_cpu_seconds"]
    if limits.told and spent > OVERTIME * limits.budget_seconds:
        return None, {"status": TIMEOUT, "message": f"took {spent:.0f} s of the {limits.budget_seconds:g} s given"}
    return worker.read_rows(str(folder / "rows.csv"), plan), record


def scores_of(
    train: pd.DataFrame,
    test: pd.DataFrame,
    rows: pd.DataFrame,
    target: str,
    seed: int,
    remembered: dict[Any, Any] | None = None,
    utility: UtilityMode = "quick",
) -> Mapping[str, float]:
    """Return the same scores for every generator."""
    evaluation = evaluate(
        train,
        test,
        rows,
        target=target,
        metrics=METRICS,
        utility=utility,
        references=False,
        remembered=remembered,
        random_state=seed,
    )
    values = {name: score.value for name, score in evaluation.scores.items()}
    if "utility" in evaluation.scores:
        by_evaluator = {e["evaluator"]: e for e in evaluation.scores["utility"].breakdown["evaluators"]}
        for name in EVALUATORS:
            values[f"score_{name}"] = by_evaluator[name]["synthetic"]
            values[f"real_{name}"] = by_evaluator[name]["real"]
            values[f"utility_{name}"] = by_evaluator[name]["relative_error"]
    return values


def held_out(train: pd.DataFrame, test: pd.DataFrame, target: str, seed: int) -> dict[str, float]:
    """Return the scores of real rows that no generator saw, which a generator can reach without copying.

    Their utility cannot be measured, as no rows are left to test it on.
    """
    metrics = [name for name in METRICS if name != "utility"]
    evaluation = evaluate(train, test, test, target=target, metrics=metrics, references="ceiling", random_state=seed)
    return {name: score.ceiling for name, score in evaluation.scores.items() if score.ceiling is not None}


def environment_of(generator: GeneratorSpec, limits: Limits) -> dict[str, str]:
    """Return the variables of a worker process: its threads, its GPUs, and where it finds this package."""
    environment = {**os.environ, **dict.fromkeys(THREADS, str(limits.threads)), **OFFLINE}
    if limits.device == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    if generator.python == Path(sys.executable):
        environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    else:
        environment.pop("PYTHONPATH", None)
    return environment


def _process(
    command: list[str], folder: Path, environment: dict[str, str], wall_seconds: float
) -> tuple[int | None, str]:
    """Run a command; its return code is None if it took too long."""
    log = folder / "log.txt"
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code: int | None = process.wait(wall_seconds if math.isfinite(wall_seconds) else None)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                _kill(process)
                process.wait()
    return code, log.read_text(encoding="utf-8", errors="replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started, where the system has process groups."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "+-." else "_" for c in name)
