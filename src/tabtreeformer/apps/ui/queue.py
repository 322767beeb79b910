"""One fit at a time; the others wait. Each runs in its own process, so that a signal can stop it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from .store import DONE, FAILED, RUNNING, STOPPING, WAITING, Entry

MAX_NOTES = 200


@dataclass
class Watch:
    """What is known about a fit that is running, or has run since the page was started."""

    notes: list[str] = field(default_factory=list)
    stages: dict[str, dict[str, Any]] = field(default_factory=dict)
    losses: list[tuple[str, int, float]] = field(default_factory=list)
    """Stage, step and validation loss, as they arrive."""

    def hear(self, line: dict[str, Any]) -> None:
        """Handle a line from the process."""
        if "note" in line:
            self.notes = [*self.notes, str(line["note"])][-MAX_NOTES:]
        if "stage" in line:
            self.stages[line["stage"]] = line
            valid = line["facts"].get("valid")
            if valid is not None and (not self.losses or self.losses[-1][2] != float(valid)):
                self.losses.append((line["stage"], int(line["done"]), float(valid)))


class Queue:
    """The fits that are waiting, and the one that is running."""

    def __init__(self) -> None:
        self.waiting: deque[Entry] = deque()
        self.watches: dict[int, Watch] = {}
        self.process: subprocess.Popen[str] | None = None
        self.running: Entry | None = None
        self.lock = threading.Lock()

    def add(self, entry: Entry) -> None:
        """Add a table to the queue, unless it is already waiting or running."""
        with self.lock:
            if entry.state in (WAITING, RUNNING, STOPPING):
                return
            entry.state, entry.message = WAITING, ""
            self.watches[entry.number] = Watch()
            entry.keep()
            self.waiting.append(entry)
            if self.running is None:
                self._start()

    def stop(self, entry: Entry) -> None:
        """Remove a waiting fit from the queue; end a running one with the best model so far."""
        with self.lock:
            if entry in self.waiting:
                self.waiting.remove(entry)
                entry.state = ""
                entry.keep()
            elif entry is self.running and self.process is not None:
                self.process.send_signal(signal.SIGINT)
                entry.state = STOPPING

    def close(self) -> None:
        """End the running fit."""
        with self.lock:
            self.waiting.clear()
            if self.process is not None:
                self.process.kill()

    def _start(self) -> None:
        self.running = entry = self.waiting.popleft()
        entry.state = RUNNING
        entry.keep()
        # Our own command with the path of a folder that we made: it contains nothing from a request.
        command = [sys.executable, "-m", "tabtreeformer.apps.ui.fit_job", str(entry.folder)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )
        threading.Thread(target=self._follow, args=(entry, self.process), daemon=True).start()

    def _follow(self, entry: Entry, process: subprocess.Popen[str]) -> None:
        """Read the output of the process until it ends, then start the next fit."""
        last: dict[str, Any] = {}
        errors: list[str] = []
        assert process.stdout is not None and process.stderr is not None  # noqa: PT018
        with process:
            reader = threading.Thread(target=lambda: errors.extend(process.stderr or ()), daemon=True)
            reader.start()
            for text in process.stdout:
                if text.startswith("{"):
                    last = json.loads(text)
                    self.watches[entry.number].hear(last)
            reader.join()
        with self.lock:
            if process.returncode == 0 and "verdict" in last:
                entry.state = DONE
                entry.message = "; ".join([last["verdict"], *last["reasons"]])
            else:
                entry.state = FAILED
                entry.message = last.get("error") or (
                    errors[-1].strip() if errors else "the fit ended without a message"
                )
            if entry.folder.exists():
                entry.keep()
            self.process = self.running = None
            if self.waiting:
                self._start()
