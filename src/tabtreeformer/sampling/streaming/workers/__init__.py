"""Work that other processes do, on this machine or on a cluster; engines know nothing of models or tables.

Work is named by a text, `module:name`: what it names is called once in each worker, with plain settings and the
paths of files, and returns a function of one job. Jobs and results are plain JSON. A worker that dies is
replaced and its job is done again, so that work has to leave nothing half done: doing a job twice must
leave the same as doing it once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ....errors import ConfigError

ENGINES = ("processes", "ray")

__all__ = ["ENGINES", "map_jobs", "run"]


def run(
    work: str,
    jobs: Sequence[Any],
    settings: Mapping[str, Any] | None = None,
    files: Mapping[str, Path] | None = None,
    *,
    engine: str = "processes",
    workers: int = 2,
) -> Iterator[tuple[int, Any]]:
    """Do jobs; yields the place of each and its result, as they come in.

    `processes` are new Python processes on this machine. `ray` are actors of the Ray cluster that RAY_ADDRESS or a
    call of `ray.init` names, or of one that is started here; files travel through its object store, once.
    """
    if engine not in ENGINES:
        raise ConfigError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ConfigError(f"workers must be a whole number from 1, got {workers!r}")
    if not len(jobs):
        return iter(())
    if engine == "ray":
        from .ray_cluster import run_on_ray

        return run_on_ray(work, jobs, dict(settings or {}), dict(files or {}), workers)
    from .processes import run_in_processes

    return run_in_processes(work, jobs, dict(settings or {}), dict(files or {}), workers)


def map_jobs(
    work: str, jobs: Sequence[Any], settings: Mapping[str, Any] | None = None, *, engine: str, workers: int
) -> list[Any]:
    """Do jobs; returns their results in the order of the jobs."""
    results: list[Any] = [None] * len(jobs)
    for place, result in run(work, jobs, settings, engine=engine, workers=workers):
        results[place] = result
    return results
