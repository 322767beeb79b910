"""Runs of the grid side by side: in processes of this machine, or as actors of a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tabtreeformer.evaluation.compare import GeneratorSpec, Limits, Results, Run, Table, run_one
from tabtreeformer.sampling.streaming import workers

from .tables import load

WORK = "benchmarks.grid:Runs"


class Runs:
    """The work of one worker process: a job names one run, the result is that run."""

    def __init__(self, settings: Mapping[str, Any], files: Mapping[str, Path]) -> None:
        self.data = None if settings["data"] is None else Path(settings["data"])
        self.limits = Limits(**settings["limits"])
        self.samples = Path(settings["samples"])

    def __call__(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Fit, sample and evaluate once."""
        file, python = job["generator"]["file"], Path(job["generator"]["python"])
        spec = GeneratorSpec(**{**job["generator"], "file": None if file is None else Path(file), "python": python})
        run = run_one(load(job["table"], self.data), spec, job["seed"], self.limits, samples=self.samples)
        return {**vars(run), "values": dict(run.values)}


def compare_in_parallel(
    tables: Sequence[Table], specs: Sequence[GeneratorSpec], seeds: Sequence[int], results: Results, limits: Limits,
    *, data: Path | None, samples: Path, jobs: int, engine: str,
) -> Iterator[Run]:  # fmt: skip
    """Make every run that is missing in the results, this many at a time; yield each as it ends."""
    left = [
        {"table": table.name, "seed": seed, "generator": _plain(spec)}
        for seed in seeds
        for table in sorted(tables, key=lambda t: t.frame.size)
        for spec in specs
        if not results.done(table.name, spec.name, seed, limits.budget_seconds, exact=limits.told)
    ]
    settings = {
        "data": None if data is None else str(data.absolute()), "samples": str(samples.absolute()),
        "limits": vars(limits),
    }  # fmt: skip
    for _, result in workers.run(WORK, left, settings, engine=engine, workers=jobs):
        run = Run(**result)
        results.add(run)
        yield run


def _plain(spec: GeneratorSpec) -> dict[str, Any]:
    """Return what JSON can hold of a generator."""
    file = None if spec.file is None else str(spec.file)
    return {**vars(spec), "options": dict(spec.options), "file": file, "python": str(spec.python)}
