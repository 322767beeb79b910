"""What a long operation shows to the person waiting for it.

Work reports through a `Progress`; the caller decides where it is shown, if at all.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from ..errors import ConfigError
from .durations import duration
from .notebook_progress import NotebookProgress, in_notebook
from .terminal import printable, wrapped


class Task(Protocol):
    """One stage of the work: its units, and facts that change along the way."""

    def advance(self, units: int = 1, **facts: str) -> None:
        """Report that `units` more are done; `facts` are shown beside the bar, by name."""

    def close(self) -> None:
        """Report that the stage has ended, possibly before its total."""


class Progress(Protocol):
    """Where stages are announced."""

    def task(self, name: str, total: int) -> Task:
        """Announce a stage of `total` units."""

    def note(self, message: str) -> None:
        """Show a message that the user should see."""


class _SilentTask:
    def advance(self, units: int = 1, **facts: str) -> None:
        pass

    def close(self) -> None:
        pass


class Silent:
    """Shows nothing."""

    def task(self, name: str, total: int) -> Task:
        return _SilentTask()

    def note(self, message: str) -> None:
        pass


class Console:
    """A live line per stage on stderr, which stays if the stage took a while.

    In a notebook, the lines are one output of the cell, which is updated. Without a terminal, as in a log file, a stage
    that takes long prints a line now and then.

    Stages may run side by side in threads: one display shows all that are open. rich is imported when the first stage
    starts, so that building one costs nothing.
    """

    worth_keeping_seconds = 1.0
    log_seconds = 30.0
    """Seconds between two lines of a stage without a terminal."""
    clock: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self._display: Any = None
        self._notebook: NotebookProgress | None = None
        self._open = 0
        self._lock = threading.Lock()

    def task(self, name: str, total: int) -> Task:
        from rich.console import Console as RichConsole

        if in_notebook():
            with self._lock:
                self._notebook = self._notebook or NotebookProgress(self.clock, self.worth_keeping_seconds)
            return self._notebook.task(name, total)
        with self._lock:
            if self._display is None:
                console = RichConsole(stderr=True)
                self._display = _bars(console)
                if console.is_terminal:
                    self._display.start()
            self._open += 1
            return _ConsoleTask(self, self._display, name, total)

    def note(self, message: str) -> None:
        from rich.console import Console as RichConsole

        message = printable(message)
        if in_notebook():
            print(message, file=sys.stderr)  # noqa: T201 (rich would make a block of HTML of each line)
            return
        console = RichConsole(stderr=True) if self._display is None else self._display.console
        text = wrapped(message, console.width) if console.is_terminal else message
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _closed(self) -> None:
        """Close the display with the last open stage."""
        with self._lock:
            self._open -= 1
            if not self._open:
                if self._display.live.is_started:
                    self._display.stop()
                self._display = None


def _bars(console: Any) -> Any:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    return RichProgress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=12),
        MofNCompleteColumn(),
        TextColumn("{task.fields[facts]}", markup=False),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[clock]}"),
        console=console,
        refresh_per_second=4,
        transient=True,
    )


class _ConsoleTask:
    def __init__(self, owner: Console, display: Any, name: str, total: int) -> None:
        self._owner, self._display = owner, display
        self._facts: dict[str, str] = {}
        self._task = display.add_task(name, total=total, facts="", clock="left")
        self._name, self._total, self._done = name, total, 0
        self._started = self._logged = owner.clock()

    def advance(self, units: int = 1, **facts: str) -> None:
        self._facts.update(facts)
        text = "  ".join(f"{name} {value}" for name, value in self._facts.items())
        self._display.update(self._task, advance=units, facts=text)
        self._done += units
        now = self._owner.clock()
        if not self._display.live.is_started and now - self._logged >= self._owner.log_seconds:
            self._logged = now
            left = (now - self._started) * (self._total - self._done) / max(self._done, 1)
            said = f"{self._name} {self._done}/{self._total}  {text}".rstrip()
            self._display.console.print(f"{said}  {duration(left)} left", markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        # A stage that ends before its total is still done: show the time it took, not the time left.
        task = next(task for task in self._display.tasks if task.id == self._task)
        self._display.update(self._task, total=task.completed, clock="taken")
        if (task.elapsed or 0.0) >= self._owner.worth_keeping_seconds:
            self._display.console.print(self._display.make_tasks_table([task]))
        self._display.remove_task(self._task)
        self._owner._closed()


def parse_duration(text: str) -> float:
    """Seconds from 90s, 5m or 1.5h; a number alone could be any of them."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h)?\s*", text)
    if match is not None and match[2] is None and float(match[1]):
        n = match[1]
        raise ConfigError(f"{text!r} has no unit; write {n}s for seconds, {n}m for minutes or {n}h for hours")
    if match is None or not float(match[1]):
        raise ConfigError(f"{text!r} is not a time above zero; write 90s, 5m or 1.5h")
    return float(match[1]) * {"s": 1, "m": 60, "min": 60, "h": 3600}[match[2]]


class stage:
    """`with stage(progress, "train", 100) as advance:` closes the task, however the block ends."""

    def __init__(self, progress: Progress, name: str, total: int) -> None:
        self._task = progress.task(name, total)

    def __enter__(self) -> Callable[..., None]:
        return self._task.advance

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._task.close()
