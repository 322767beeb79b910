"""Everything around the loop of steps: time, requests to stop, other processes, checkpoints and progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from torch import Tensor

from .checkpoint.folder import Stage, State
from .distributed import ALONE, Team
from .history import History
from .stopping import Allowance


class Resumable(Protocol):
    """A run of steps that can be saved in a checkpoint."""

    def state(self, *, done: bool) -> tuple[State, dict[str, Tensor]]:
        """Everything that the next step depends on; for a finished run, only its result."""

    def restore(self, state: State, tensors: dict[str, Tensor]) -> None:
        """Continue from the result of `state`."""


def _show_nothing(*args: Any, **facts: str) -> None:
    pass


class Control:
    """Ends a run of steps in time or on request, saves it periodically, and shows its progress.

    All processes of a team reach the same decisions.
    """

    def __init__(
        self,
        allowance: Allowance,
        checkpoints: Stage | None = None,
        team: Team = ALONE,
        advance: Callable[..., None] = _show_nothing,
    ) -> None:
        """`advance` is the method of a progress task."""
        self._allowance, self._checkpoints, self._team, self._advance = allowance, checkpoints, team, advance
        self._started = time.perf_counter()
        self._run: Resumable | None = None
        self._saves = self._due = False
        self.asked = False
        """Somebody asked the run to stop."""
        self.used = 0.0
        """Share of the time that has been used, at most 1."""

    def resume(self, run: Resumable) -> bool:
        """Restore the run if it has a checkpoint, and save it from now on; return whether it was already done."""
        self._run = run
        loaded = None if self._checkpoints is None else self._checkpoints.load()
        if loaded is None:
            return False
        state, tensors = loaded
        run.restore(state, tensors)
        self._allowance = self._allowance.after(state["elapsed"])
        return bool(state["done"])

    def start(self, history: History) -> None:
        """Start at the first step, or at the next step of a restored run."""
        self._advance(history.steps)
        self._started = time.perf_counter() - history.seconds
        self.after_step(0.0)
        # A stage that begins while the whole fit is stopping is not part of the fit that resumes later.
        self._saves = not self.asked

    @property
    def seconds(self) -> float:
        """Time that the steps have taken, including those before an interruption."""
        return time.perf_counter() - self._started

    @property
    def ending(self) -> bool:
        """Whether the run has ended."""
        return self.asked or self.used >= 1

    def after_step(self, loss: float) -> float:
        """Agree with the other processes on time and requests; return the loss of the whole batch."""
        due = self._checkpoints is not None and self._checkpoints.due
        stop = self._allowance.asked.is_set()
        loss, self.asked, used, self._due = self._team.agreed(loss, stop, self._allowance.used, due)
        self.used = min(used, 1.0)
        return loss

    def show(self, units: int, facts: dict[str, str]) -> None:
        """Move the progress bar."""
        self._advance(units, **facts)

    def save_if_due(self) -> None:
        """Write a checkpoint when it is due, or when the run is about to stop."""
        if self.asked or self._due:
            self.save(done=False)

    def save(self, *, done: bool) -> None:
        """Write a checkpoint."""
        if self._saves and self._run is not None and self._checkpoints is not None:
            state, tensors = self._run.state(done=done)
            self._checkpoints.save({**state, "done": done, "elapsed": self._allowance.elapsed}, tensors)
