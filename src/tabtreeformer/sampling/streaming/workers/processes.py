"""Python subprocesses on this machine, with one thread here for each; no fork and no pickle."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from ...._runtime.threads import available_cores
from ....errors import EngineError
from .work import RETRIES, revived


class _Died(Exception):
    """The process has died."""


class _Worker:
    """One process, started on the first job and again after it died."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self.start = start
        self.process: subprocess.Popen[str] | None = None
        self.dismissed = False
        self._lock = threading.Lock()

    def do(self, job: Any) -> Any:
        """The result of one job."""
        if self._begin():
            self._ask(self.start)
        return self._ask({"job": job})

    def _begin(self) -> bool:
        """Start a process unless there is one."""
        with self._lock:
            if self.dismissed:
                raise EngineError("this result is no longer needed")
            if self.process is not None:
                return False
            # The worker can import what this process can.
            paths = os.pathsep.join(path for path in sys.path if path)
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tabtreeformer.sampling.streaming.workers.worker"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths},
            )  # fmt: skip
            return True

    def _ask(self, message: Mapping[str, Any]) -> Any:
        process = self.process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            code = process.wait()
            self._clear()
            raise _Died(f"exit code {code}")
        answer = json.loads(line)
        if "error" in answer:
            raise revived(*answer["error"])
        return answer["result"]

    def dismiss(self) -> None:
        """Kill the process permanently."""
        with self._lock:
            self.dismissed = True
            if self.process is not None:
                self.process.kill()

    def _clear(self) -> None:
        with self._lock:
            process, self.process = self.process, None
        for pipe in () if process is None else (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def end(self) -> None:
        """Wait for the process to end."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self._clear()


def run_in_processes(
    work: str, jobs: Sequence[Any], settings: dict[str, Any], files: dict[str, Path], workers: int
) -> Iterator[tuple[int, Any]]:
    """Run jobs; yields index and result as they complete."""
    workers = min(workers, len(jobs))
    start = {
        "work": work,
        "settings": settings,
        "files": {name: str(Path(path).absolute()) for name, path in files.items()},
        "cores": max(1, available_cores() // workers),
    }
    crew = [_Worker(start) for _ in range(workers)]
    idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
    for worker in crew:
        idle.put(worker)

    def serve(place: int) -> tuple[int, Any]:
        worker = idle.get()
        try:
            return place, _patiently(worker, jobs[place])
        finally:
            idle.put(worker)

    pool = ThreadPoolExecutor(workers)
    try:
        # No list of futures is kept, so that consumed results are freed.
        for run in as_completed(pool.submit(serve, place) for place in range(len(jobs))):
            yield run.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in crew:
            worker.dismiss()
        pool.shutdown()
        for worker in crew:
            worker.end()


def _patiently(worker: _Worker, job: Any) -> Any:
    for attempt in range(1 + RETRIES):
        try:
            return worker.do(job)
        except _Died as death:
            if attempt == RETRIES:
                raise EngineError(
                    f"a worker died {1 + RETRIES} times on the same job ({death}); is there enough memory?"
                ) from death
    raise AssertionError("unreachable")
