"""New Python processes on this machine, a thread here for each of them; nothing is forked and nothing pickled."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...._runtime.threads import available_cores
from ....errors import EngineError
from .work import RETRIES, revived


class _Died(Exception):
    """The process is gone."""


class _Worker:
    """One process; it is started when first asked, and again after it died."""

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
                raise EngineError("nobody waits for this result any more")
            if self.process is not None:
                return False
            # What this process can import, that one can.
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
        """Stop it, whatever it does, for good."""
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
        """Wait for what is left of it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self._clear()


def run_in_processes(
    work: str, jobs: Sequence[Any], settings: dict[str, Any], files: dict[str, Path], workers: int
) -> Iterator[tuple[int, Any]]:
    """Do jobs; yields place and result as they come in."""
    workers = min(workers, len(jobs))
    start = {
        "work": work,
        "settings": settings,
        "files": {name: str(Path(path).absolute()) for name, path in files.items()},
        "cores": max(1, available_cores() // workers),
    }
    waiting: queue.Queue[int] = queue.Queue()
    for place in range(len(jobs)):
        waiting.put(place)
    results: queue.Queue[tuple[int, Any, BaseException | None]] = queue.Queue()
    crew = [_Worker(start) for _ in range(workers)]
    stopped = threading.Event()

    def serve(worker: _Worker) -> None:
        while not stopped.is_set():
            try:
                place = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                results.put((place, _patiently(worker, jobs[place]), None))
            except BaseException as error:
                results.put((place, None, error))
                return

    threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in crew]
    for thread in threads:
        thread.start()
    try:
        for _ in range(len(jobs)):
            place, result, error = results.get()
            if error is not None:
                raise error
            yield place, result
    finally:
        stopped.set()
        for worker in crew:
            worker.dismiss()
        for worker, thread in zip(crew, threads, strict=True):
            thread.join()
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
