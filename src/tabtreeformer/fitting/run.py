"""The training of one network: its batches, updates, validations and the weights that are kept."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from .._runtime.progress import stage
from ..config.settings import Config
from ..model import Network
from . import memorization as meter
from .batches import Batches
from .checkpoint.folder import State
from .checkpoint.state import restore_run, run_state
from .control import Control
from .history import History
from .loop import take_steps
from .optimizer import WARMUP, set_rate
from .preparation import Prepared, prepare, take_rows
from .resources import Resources
from .split import Rows
from .stopping import Allowance, EarlyStopping
from .update import Updater
from .validation import Validation


class Run:
    """One network, one optimiser, one schedule."""

    def __init__(
        self,
        name: str,
        model: Network,
        config: Config,
        steps: int,
        seed: np.random.SeedSequence,
        resources: Resources,
        rates: tuple[float, float] = (1.0, 0.0),
        before: int = 0,
    ) -> None:
        """Train `model` for up to `steps` steps; `name` is for the record and for progress.

        `rates` are the shares of the peak learning rate at the first and after the last step. `before` is the number
        of earlier steps that count when validations are scheduled.
        """
        self.model, self.config, self.steps, self.resources = model, config, steps, resources
        self.history, self.team, self.rates, self.before = History(name), resources.folder.team, rates, before
        batch_seed, mask_seed, validation_seed, dropout_seed = seed.spawn(4)
        self.batch_rng, self.mask_rng = np.random.default_rng(batch_seed), np.random.default_rng(mask_seed)
        self.validation_rng = np.random.default_rng(validation_seed)
        self.dropout_seed = int(dropout_seed.generate_state(1, np.uint64)[0] >> 1) ^ self.team.rank
        self.updater = Updater(name, model, config.train, resources.device, self.team)
        self.stopping = EarlyStopping(config.train.patience)
        self.validation: Validation | None = None
        self.best: dict[str, Tensor] | None = None
        self.losses: list[float] = []
        """Training losses since the last validation."""

    def train(
        self, rows: Tensor, allowance: Allowance, checkpoint: str, parts: tuple[Rows, Rows] | None = None
    ) -> None:
        """Learn token rows (N, L) in the available time: all of them, or one part validated on another.

        `checkpoint` names the stage of the run folder. Early stopping and the weights that are kept follow the config.
        """
        self.rows, self.own = rows, None if parts is None else parts[0]
        self.batches = Batches(len(rows if self.own is None else self.own), self.batch_rng)
        if parts is not None:
            self.validation = self._set_up_validation(*parts)
        progress, checkpoints = self.resources.progress, self.resources.folder.stage(checkpoint)
        with stage(progress, self.history.name, self.steps) as advance, self._own_rng():
            control = Control(allowance, checkpoints, self.team, advance)
            if control.resume(self):
                control.show(self.history.steps, {})
                return
            take_steps(self, control)
            done = self.converged or self.history.steps == self.steps or not control.asked
            # NOTE[PAPER]: the paper validates every 100 steps, including the last of its 5,000; we also do so after the
            # last step of any run, so that a run of another length, or one that a budget ends, is validated to its end.
            if self.validation is not None and self.history.last_validated != self.history.steps:
                control.show(0, self._validate(self.history.steps, self.validation))
            self._keep_weights()
            if done:
                control.save(done=True)

    def _set_up_validation(self, own: Rows, others: Rows) -> Validation:
        device, config = self.updater.device, self.config.train
        validated = take_rows(self.rows, others[: config.validation_rows], device)
        metered = take_rows(self.rows, meter.own_rows(own, len(validated), config), device)
        prepared = self._prepare(validated, self.validation_rng)
        return Validation(self.model, validated, metered, prepared, self.updater)

    @property
    def converged(self) -> bool:
        """Whether validations have stopped improving."""
        return self.stopping.stop

    def set_rate(self, share: float) -> None:
        """Set the learning rate for a run with this share left: after the first steps it falls linearly."""
        first, last = self.rates
        warm = min(1.0, (self.history.steps + 1) / WARMUP) if self.config.train.matrix_rate else 1.0
        set_rate(self.updater.optimizer, warm * (last + (first - last) * share))

    def update(self) -> float:
        """Take one step with the next batch."""
        picked = self.batches.take(self.updater.batch_size)
        batch = take_rows(self.rows, picked if self.own is None else self.own[picked], self.updater.device)
        loss = self.updater.update(batch, lambda b: self._prepare(b, self.mask_rng), self.resources.progress.note)
        self.history.rows += len(batch)
        return loss

    def after_step(self, step: int, loss: float, seconds: float) -> dict[str, str]:
        """Record the step and validate if it is time to; return what to show."""
        self.history.steps, self.history.seconds = step, seconds
        facts = {"loss": f"{loss:.3f}", "rows/s": f"{self.history.rows_per_second:,.0f}"}
        if self.validation is None:
            return facts
        self.losses.append(loss)
        if (self.before + step) % self.config.train.validate_every and step < self.steps:
            return facts
        return facts | self._validate(step, self.validation)

    def _validate(self, step: int, validation: Validation) -> dict[str, str]:
        """Validate, keep the weights if they are the best so far, and return what to show."""
        train_loss, self.losses = float(np.mean(self.losses)), []
        valid_loss, reading = validation.read(step)
        self.history.validations.append((step, train_loss, valid_loss))
        self.history.readings.append(reading)
        if reading.beyond(self.config.train.gap_limit):
            self.stopping.give_up()
        elif self.stopping.improved(valid_loss) and self.config.train.restore_best:
            self.best, self.history.best_step = copy.deepcopy(self.model.state_dict()), step
        return {"valid": f"{valid_loss:.3f}", "memorised": f"{reading.gap:.2f} nats/row"}

    def _keep_weights(self) -> None:
        """Put the best weights into the network, if there are any."""
        if self.best is not None:
            self.model.load_state_dict(self.best)
        self.history.batch_size = self.updater.batch_size

    @contextlib.contextmanager
    def _own_rng(self) -> Iterator[None]:
        """Dropout draws from torch's global state: seed a copy of it and leave the user's as it was."""
        device = self.updater.device
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(self.dropout_seed)
            yield

    def _prepare(self, rows: Tensor, rng: np.random.Generator) -> Prepared:
        return prepare(rows, self.model.layout, self.config, rng)

    def state(self, *, done: bool) -> tuple[State, dict[str, Tensor]]:
        """Everything that the next step depends on; of a run that is done, only its result."""
        return run_state(self, done=done)

    def restore(self, state: State, tensors: dict[str, Tensor]) -> None:
        """Continue from what `state` returned."""
        restore_run(self, state, tensors)
