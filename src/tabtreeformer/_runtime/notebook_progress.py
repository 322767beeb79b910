"""Progress in a notebook: one output of the cell, updated in place, with a line per stage."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

from .durations import duration

SECONDS = 0.25
"""Minimum number of seconds between two updates of the output."""


def in_notebook() -> bool:
    """Whether the code runs in a Jupyter kernel, or a similar one, that shows HTML."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and type(shell).__name__ in ("ZMQInteractiveShell", "Shell")


@dataclass
class _Stage:
    name: str
    total: int
    started: float
    done: int = 0
    facts: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None
    """Time that it took; None while it is running."""


class NotebookProgress:
    """The stages of one piece of work; those that took a while remain visible when it is over."""

    def __init__(self, clock: Callable[[], float], worth_keeping_seconds: float) -> None:
        self._clock, self._keep = clock, worth_keeping_seconds
        self._stages: list[_Stage] = []
        self._handle: Any = None
        self._drawn = float("-inf")
        self._lock = threading.Lock()

    def task(self, name: str, total: int) -> NotebookTask:
        """Announce a stage."""
        stage = _Stage(name, total, self._clock())
        with self._lock:
            self._stages.append(stage)
        return NotebookTask(self, stage)

    def change(self, stage: _Stage, units: int, facts: dict[str, str]) -> None:
        """Record a stage's progress, and redraw if the last redraw was long enough ago."""
        with self._lock:
            stage.done += units
            stage.facts.update(facts)
            if self._clock() - self._drawn >= SECONDS and self._clock() - stage.started >= SECONDS:
                self._draw()

    def end(self, stage: _Stage) -> None:
        """Close a stage; one that took next to no time disappears."""
        with self._lock:
            stage.seconds = self._clock() - stage.started
            if stage.seconds < self._keep:
                self._stages.remove(stage)
            if self._stages or self._handle is not None:
                self._draw()

    def _draw(self) -> None:
        from IPython.display import HTML, display

        self._drawn = self._clock()
        shown = HTML(self.html())
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def html(self) -> str:
        """A line per stage: its bar, what is done, facts and time."""
        lines = "".join(map(self._line, self._stages))
        return f'<div style="font-family:ui-monospace,monospace;font-size:12px">{lines}</div>'

    def _line(self, stage: _Stage) -> str:
        ended = stage.seconds is not None
        total = stage.done if ended else stage.total
        share = min(stage.done / total, 1.0) if total else 1.0
        if stage.seconds is not None:
            clock = f"{duration(stage.seconds)} taken"
        else:
            gone = self._clock() - stage.started
            clock = f"{duration(gone * (total - stage.done) / stage.done)} left" if stage.done else ""
        facts = "  ".join(f"{name} {value}" for name, value in stage.facts.items())
        text = "  ".join(part for part in (f"{stage.done}/{total}", facts, clock) if part)
        return (
            '<div style="display:flex;gap:10px;align-items:center;white-space:pre"><span style="min-width:14em">'
            f'{escape(stage.name)}</span><span style="flex:0 0 120px;height:8px;border-radius:4px;'
            f'background:rgba(128,140,155,.3)"><span style="display:block;height:8px;border-radius:4px;'
            f'background:#5a88cc;width:{100 * share:.0f}%"></span></span><span>{escape(text)}</span></div>'
        )


class NotebookTask:
    """One stage, as the work reports it."""

    def __init__(self, owner: NotebookProgress, stage: _Stage) -> None:
        self._owner, self._stage = owner, stage

    def advance(self, units: int = 1, **facts: str) -> None:
        """Report that `units` more are done."""
        self._owner.change(self._stage, units, facts)

    def close(self) -> None:
        """Report that the stage has ended."""
        self._owner.end(self._stage)
