"""What a long operation tells the person who waits for it.

Work reports through a `Progress`; who shows it, and whether at all, is decided by the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Protocol


class Task(Protocol):
    """One stage of the work: so many units, and facts that change on the way."""

    def advance(self, units: int = 1, **facts: str) -> None:
        """Say that `units` more are done; `facts` are shown beside the bar, by name."""

    def close(self) -> None:
        """Say that the stage has ended, be it before its total."""


class Progress(Protocol):
    """Where stages are announced."""

    def task(self, name: str, total: int) -> Task:
        """Announce a stage of `total` units."""

    def note(self, message: str) -> None:
        """Say one thing that the user should know."""


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
    """A live line on stderr, kept when the stage is over if it took a while; where stderr is not a terminal, only that.

    rich is imported when the first stage starts, so that building one costs nothing.
    """

    worth_keeping_seconds = 1.0

    def task(self, name: str, total: int) -> Task:
        return _ConsoleTask(name, total, self.worth_keeping_seconds)

    def note(self, message: str) -> None:
        from rich.console import Console as RichConsole

        RichConsole(stderr=True).print(message, markup=False, highlight=False, soft_wrap=True)


class _ConsoleTask:
    def __init__(self, name: str, total: int, worth_keeping_seconds: float) -> None:
        from rich.console import Console as RichConsole
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TextColumn("{task.fields[facts]}", markup=False),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("{task.fields[clock]}"),
            console=RichConsole(stderr=True),
            refresh_per_second=4,
            transient=True,
        )
        self._worth_keeping_seconds = worth_keeping_seconds
        self._facts: dict[str, str] = {}
        self._task = self._bar.add_task(name, total=total, facts="", clock="left")
        self._live = self._bar.console.is_terminal or self._bar.console.is_jupyter
        if self._live:
            self._bar.start()

    def advance(self, units: int = 1, **facts: str) -> None:
        self._facts.update(facts)
        text = "  ".join(f"{name} {value}" for name, value in self._facts.items())
        self._bar.update(self._task, advance=units, facts=text)

    def close(self) -> None:
        # A stage that ends before its total is done all the same: show the time it took, not the time left.
        task = self._bar.tasks[self._task]
        self._bar.update(self._task, total=task.completed, clock="taken")
        if self._live:
            self._bar.stop()
        if (task.elapsed or 0.0) >= self._worth_keeping_seconds:
            self._bar.console.print(self._bar.get_renderable())


class stage:
    """`with stage(progress, "train", 100) as advance:` closes the task however the block ends."""

    def __init__(self, progress: Progress, name: str, total: int) -> None:
        self._task = progress.task(name, total)

    def __enter__(self) -> Callable[..., None]:
        return self._task.advance

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._task.close()
