"""The loop of steps, the same for plain and for differentially private training."""

from __future__ import annotations

from typing import Protocol

from .control import Control
from .history import History


class Learner(Protocol):
    """A network that learns step by step."""

    @property
    def history(self) -> History:
        """What has happened so far."""

    @property
    def steps(self) -> int:
        """Maximum number of steps."""

    @property
    def converged(self) -> bool:
        """Whether further steps would gain nothing."""

    def set_rate(self, share: float) -> None:
        """Learn at this share of the peak learning rate."""

    def update(self) -> float:
        """Take one step with the next batch; return its loss, or NaN if it must stay secret."""

    def after_step(self, step: int, loss: float, seconds: float) -> dict[str, str]:
        """Record the step, validate if due, and return what to show."""


def take_steps(learner: Learner, control: Control) -> None:
    """Train a network until it has converged, its steps are used up, or the control ends it.

    The learning rate falls linearly to zero with the steps, or with the time if that runs out first.
    """
    control.start(learner.history)
    for step in range(learner.history.steps + 1, learner.steps + 1):
        if learner.converged:
            break
        learner.set_rate(1 - max((step - 1) / learner.steps, control.used))
        loss = control.after_step(learner.update())
        control.show(1, learner.after_step(step, loss, control.seconds))
        control.save_if_due()
        if control.ending:
            break
