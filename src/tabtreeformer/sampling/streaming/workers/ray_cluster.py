"""Actors of a Ray cluster (extra `ray`): files travel once through its object store, an actor that dies is replaced."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ....errors import EngineError, import_extra
from .work import RETRIES, prepare, revived


class _Worker:
    """The class of the actors."""

    def __init__(self, work: str, settings: dict[str, Any], names: list[str], *contents: bytes) -> None:
        self.folder = tempfile.TemporaryDirectory()
        files = {}
        for name, content in zip(names, contents, strict=True):
            files[name] = Path(self.folder.name) / name
            files[name].write_bytes(content)
        self.start = (work, settings, files, 1)
        self.work: Callable[[Any], Any] | None = None

    def do(self, place: int, job: Any) -> tuple[int, Any]:
        """Index and result of one job.

        The first job prepares the work, because Ray reports errors of a constructor as the death of the actor.
        """
        if self.work is None:
            self.work = prepare(*self.start)
        return place, self.work(job)


def run_on_ray(
    work: str, jobs: Sequence[Any], settings: dict[str, Any], files: dict[str, Path], workers: int
) -> Iterator[tuple[int, Any]]:
    """Run jobs on actors, one core each; yields index and result as they complete."""
    ray = import_extra("ray", "ray")
    started = not ray.is_initialized()
    if started:
        here = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": workers, "include_dashboard": False}
        try:
            ray.init(log_to_driver=False, logging_level="ERROR", **here)
        except (ray.exceptions.RayError, OSError, RuntimeError, ValueError) as fault:  # a ConnectionError is an OSError
            raise EngineError(f"Ray did not start, or cannot be reached: {fault}") from fault
    crew: list[Any] = []
    try:
        contents = [ray.put(Path(path).read_bytes()) for path in files.values()]
        # Ray restarts a dead actor and repeats its job.
        kind = ray.remote(num_cpus=1, max_restarts=RETRIES, max_task_retries=RETRIES)(_Worker)
        workers = min(workers, len(jobs))
        crew = [kind.remote(work, settings, list(files), *contents) for _ in range(workers)]
        left = iter(enumerate(jobs))
        busy = {actor.do.remote(*pair): actor for actor, pair in zip(crew, left, strict=False)}
        while busy:
            (done, *_), _ = ray.wait(list(busy), num_returns=1)
            actor = busy.pop(done)
            try:
                place, result = ray.get(done)
            except ray.exceptions.RayTaskError as fault:
                raise revived(type(fault.cause).__name__, str(fault.cause)) from fault
            except ray.exceptions.RayError as death:
                raise EngineError(f"a worker died {1 + RETRIES} times; is there enough memory? ({death})") from death
            following = next(left, None)
            if following is not None:
                busy[actor.do.remote(*following)] = actor
            yield place, result
    finally:
        for actor in crew:
            ray.kill(actor)
        if started:
            ray.shutdown()
