"""Engines that run work in other processes, on this machine or on a cluster, independent of models and tables.

Work is named by a string `module:name`. It is called once in each worker, with plain settings and paths of files, and
returns a function of one job. Jobs and results are plain JSON. If a worker dies, it is replaced and its job is
repeated, so jobs must be idempotent.
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
    """Run jobs; yields the index and result of each as they complete.

    `processes` are new Python processes on this machine. `ray` are actors of the Ray cluster given by RAY_ADDRESS or
    `ray.init`, or of one started here; files are put into its object store once.
    """
    if engine not in ENGINES:
        raise ConfigError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ConfigError(f"workers must be a whole number of at least 1, got {workers!r}")
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
    """Run jobs; returns their results in order."""
    results: list[Any] = [None] * len(jobs)
    for place, result in run(work, jobs, settings, engine=engine, workers=workers):
        results[place] = result
    return results
