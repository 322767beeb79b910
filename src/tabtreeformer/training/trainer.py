"""Training as in the paper's algorithm: shared steps on all rows, then one network a half, validated on the other.

Shapes: `N` rows, `B` rows a batch, `L` positions, `V` ids.
"""

from __future__ import annotations

import contextlib
import copy
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..config import ModelConfig, TrainConfig
from ..errors import TabTreeFormerError
from ..model import Network, build_loss, build_network, build_row_losses
from ..progress import Progress, duration, stage
from ..seeds import torch_generator
from ..threads import available_cores, both
from ..tokens import MASK, TokenLayout
from . import meter
from .batches import Batches
from .checkpoint import RunFolder, Stage
from .interrupt import ending_on_interrupt
from .masking import draw_masks
from .orders import draw_orders
from .split import Rows, split_rows
from .state import checkpoint_bytes, restore, state_of
from .stopping import Allowance, EarlyStopping
from .team import Team, alone

FORWARD_SHARE = 0.2
"""What reading a row takes of learning from it, where no gradients are needed (0.18 to 0.19 with S)."""


@dataclass
class History:
    """What happened in one run of steps."""

    name: str
    steps: int = 0
    rows: int = 0
    seconds: float = 0.0
    batch_size: int = 0
    best_step: int | None = None
    """Step whose weights were kept; None where the last ones were."""
    validations: list[tuple[int, float, float]] = field(default_factory=list)
    """Step, mean training loss since the last validation, validation loss."""
    readings: list[meter.Reading] = field(default_factory=list)
    """The memorisation meter at each validation."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        readings = [reading.to_json() for reading in self.readings]
        return {**self.__dict__, "validations": [list(v) for v in self.validations], "readings": readings}

    @property
    def kept_reading(self) -> meter.Reading | None:
        """The meter at the weights that were kept."""
        last = self.best_step or self.steps
        return next((reading for reading in reversed(self.readings) if reading.step <= last), None)


@dataclass
class Trained:
    """Two networks, their rows, and the record."""

    models: tuple[Network, Network]
    parts: tuple[tuple[Rows, Rows], tuple[Rows, Rows]]
    """Rows that each was trained on, and validated on."""
    histories: list[History]
    interrupted: bool = False
    """Somebody ended it before its time."""


def shared_steps(n_rows: int, config: TrainConfig) -> int:
    """s0: the steps of `shared_passes` passes over the rows, at most `shared_share` of all steps."""
    return min(config.shared_passes * math.ceil(n_rows / config.batch_size), int(config.steps * config.shared_share))


def train_networks(
    layout: TokenLayout,
    tokens: NDArray[np.integer[Any]],
    model_config: ModelConfig,
    config: TrainConfig,
    seed: np.random.SeedSequence,
    device: torch.device,
    progress: Progress,
    seconds: float = math.inf,
    folder: RunFolder | None = None,
    read_later: int = 0,
) -> Trained:
    """Train both networks on unmasked token rows (N, L), within so many seconds; a run folder lets it go on later.

    Tokens that lie on disk (a memmap) stay there; rows are read when a batch has them. Of the seconds, those that it
    takes to read or write `read_later` rows are left over.
    """
    allowance, folder = Allowance(seconds), folder or RunFolder()
    with ending_on_interrupt(allowance.asked, progress):
        start_seed, split_seed, shared_seed, *half_seeds = seed.spawn(5)
        rows = torch.from_numpy(tokens) if isinstance(tokens, np.memmap) else torch.from_numpy(tokens).to(device)
        model = build_network(layout, model_config, torch_generator(start_seed)).to(device)
        model.start_from(rows)
        folder.check_room(checkpoint_bytes(model.n_parameters))
        shared = shared_steps(len(rows), config)
        team = folder.team
        side_by_side = team.size == 1 and _may_run_side_by_side(model, config, device)

        histories: list[History] = []
        if shared:
            run = _Run(model, config, device, shared_seed, History("shared start"), team)
            run.train(rows, None, shared, None, progress, allowance.part(config.shared_share), folder.stage("shared"))
            histories.append(run.history)
            allowance = allowance.less(FORWARD_SHARE * read_later * run.history.seconds / max(run.history.rows, 1))
            progress.note(_estimate(run.history, config.steps - shared, side_by_side, allowance))

        parts = split_rows(len(rows), config.validation_share, np.random.default_rng(split_seed))
        models = (model, copy.deepcopy(model))
        histories += [History("network 1"), History("network 2")]

        def train(j: int, allowance: Allowance) -> None:
            run = _Run(models[j], config, device, half_seeds[j], histories[j - 2], team)
            # NOTE[PAPER]: the paper validates network j on half 1-j with j in {1, 2}; the other half is meant.
            own, others = parts[j]
            validation = take_rows(rows, others[: config.validation_rows], device)
            stage = folder.stage(f"network_{j + 1}")
            run.train(rows, own, config.steps - shared, validation, progress, allowance, stage)

        if side_by_side:
            both(lambda j: train(j, allowance), allowance.asked.set)
        else:
            train(0, allowance.part(0.5))
            train(1, allowance.part(1.0))
        return Trained(models, parts, histories, allowance.asked.is_set())


def _may_run_side_by_side(model: Network, config: TrainConfig, device: torch.device) -> bool:
    """Whether the networks train in two threads, one core each: PyTorch lets go of Python's lock while it computes.

    Dropout draws from a state that threads would share, and a GPU is one already.
    """
    if config.side_by_side is not None:
        return config.side_by_side
    return device.type == "cpu" and model.config.dropout == 0 and available_cores() > 1


def _estimate(shared: History, steps: int, side_by_side: bool, allowance: Allowance) -> str:
    """How long it may take, from the pace of the shared start."""
    most = shared.seconds / max(shared.steps, 1) * steps * (1 if side_by_side else 2)
    left = (1 - allowance.used) * allowance.seconds if math.isfinite(allowance.seconds) else most
    return f"at most {duration(min(most, left))} from here; usually less, since training stops when it no longer pays"


class _Run:
    """One network, one optimiser, one schedule."""

    def __init__(
        self,
        model: Network,
        config: TrainConfig,
        device: torch.device,
        seed: np.random.SeedSequence,
        history: History,
        team: Team,
    ) -> None:
        self.model, self.config, self.device, self.history, self.team = model, config, device, history, team
        self.loss = build_loss(model, config)
        self.together = team.together(model, self.loss, device)
        batch_seed, mask_seed, validation_seed, dropout_seed = seed.spawn(4)
        self.batch_rng, self.mask_rng = np.random.default_rng(batch_seed), np.random.default_rng(mask_seed)
        self.validation_rng = np.random.default_rng(validation_seed)
        self.dropout_seed = int(dropout_seed.generate_state(1, np.uint64)[0] >> 1) ^ team.rank
        self.precision = _precision(config.precision, device)
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.precision is torch.float16)
        self.optimizer = torch.optim.AdamW(
            [p for p in model.parameters() if p.requires_grad],
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.batch_size = config.batch_size
        # What is validated and kept: the network itself, or one whose weights follow its weights slowly.
        self.kept = copy.deepcopy(model) if config.average else model
        self.row_losses, self.n_tokens = build_row_losses(self.kept, config)
        self.stopping = EarlyStopping(config.patience)
        self.best: dict[str, Tensor] | None = None
        self.own = torch.empty(0)
        """Own rows that the memorisation meter reads."""
        self.losses: list[float] = []
        """Training losses since the last validation."""
        self.judging: float | None = None
        """Seconds that the last validation took."""

    def train(
        self,
        rows: Tensor,
        own: Rows | None,
        steps: int,
        validation: Tensor | None,
        progress: Progress,
        allowance: Allowance,
        checkpoints: Stage,
    ) -> None:
        """Take up to `steps` steps on the network's own rows, by default all, in the time there is.

        Stop early and keep the best weights as the config says. The learning rate falls to zero with the steps, or with
        the time where that is the shorter.
        """
        prepared = None if validation is None else self._prepare(validation, self.validation_rng)
        self.batches = Batches(len(rows if own is None else own), self.batch_rng)
        if validation is not None and own is not None:
            self.own = take_rows(rows, meter.own_rows(own, len(validation), self.config), self.device)
        with stage(progress, self.history.name, steps) as advance, _private_rng(self.dropout_seed, self.device):
            done, elapsed = restore(self, checkpoints)
            before = self.history.steps
            advance(before)
            if done:
                return
            allowance = allowance.after(elapsed) if elapsed else allowance
            started = time.perf_counter() - self.history.seconds
            _, asked, used, due = self.team.agreed(0.0, allowance.asked.is_set(), allowance.used, False)
            # What starts when the run is already ending is no part of the run that goes on later.
            keeping = not asked
            for step in range(max(before, 1), steps + 1):
                if step > before:  # else taken before the run was cut short, and only to be judged
                    step_started = time.perf_counter()
                    picked = self.batches.take(self.batch_size)
                    batch = take_rows(rows, picked if own is None else own[picked], self.device)
                    self._set_rate(1 - max((step - 1) / steps, min(used, 1.0)))
                    loss = self._fitting_step(batch, progress)
                    ending = self._ending(time.perf_counter() - step_started, len(batch), validation)
                    loss, asked, used, due = self.team.agreed(
                        loss, allowance.asked.is_set(), allowance.less(ending).used, checkpoints.due
                    )
                    self.losses.append(loss)
                    self._follow(step)
                    self.history.steps, self.history.rows = step, self.history.rows + len(batch)
                    self.history.seconds = time.perf_counter() - started
                    pace = f"{self.history.rows / self.history.seconds:,.0f}"
                    advance(loss=f"{loss:.3f}", **{"rows/s": pace})
                if keeping and (asked or due):
                    checkpoints.save(*state_of(self, allowance.elapsed))
                # NOTE[PAPER]: the paper validates every 100 steps; we do so after the last step too, so that a run
                # whose steps are no multiple of that is judged to its end.
                last = step == steps or asked or used >= 1
                if prepared is None or validation is None:
                    del self.losses[:-1]
                elif step % self.config.validate_every == 0 or last:
                    advance(0, **self._judge(step, prepared, validation))
                if self.stopping.stop or last:
                    done = self.stopping.stop or step == steps or not asked
                    break
        if self.best is not None or self.kept is not self.model:
            self.model.load_state_dict(self.best or self.kept.state_dict())
        self.history.batch_size = self.batch_size
        if keeping and done:
            checkpoints.save(*state_of(self, allowance.elapsed, done=True))

    def _set_rate(self, share: float) -> None:
        """Learn at a share of the peak rate."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate * share

    def _ending(self, step_seconds: float, n_rows: int, validation: Tensor | None) -> float:
        """Seconds to keep back for one more step like this one and the validation after it."""
        if validation is None:
            return step_seconds
        if self.judging is not None:
            return step_seconds + self.judging
        return step_seconds * (1 + FORWARD_SHARE * (len(validation) + len(self.own)) / n_rows)

    def _judge(self, step: int, prepared: tuple[Tensor, Tensor | None], validation: Tensor) -> dict[str, str]:
        """Validate after a step, keep the weights if they are the best so far, and return what to show."""
        started = time.perf_counter()
        train_loss, self.losses = float(np.mean(self.losses)), []
        others = self._validate(prepared, validation)
        own = self._row_losses(meter.as_masked(self.own, prepared), self.own)
        valid_loss, reading = float(others.mean()), meter.read(step, own, others, self.n_tokens)
        self.judging = time.perf_counter() - started
        self.history.validations.append((step, train_loss, valid_loss))
        self.history.readings.append(reading)
        if reading.beyond(self.config.gap_limit):
            self.stopping.give_up()
        elif self.stopping.improved(valid_loss) and self.config.restore_best:
            self.best, self.history.best_step = copy.deepcopy(self.kept.state_dict()), step
        return {"valid": f"{valid_loss:.3f}", "memorised": f"{reading.gap:.2f} nats a row"}

    def _step(self, batch: Tensor) -> float:
        """One update; returns the batch's loss, or what this process adds to it."""
        self.model.train()
        masked, order = self._prepare(batch, self.mask_rng)
        self.optimizer.zero_grad(set_to_none=True)
        value, pieces = 0.0, self.team.pieces(len(batch), self.config.accumulate)
        for part, share in pieces:
            # Processes exchange gradients once a step, after the last piece.
            with contextlib.nullcontext() if part is pieces[-1][0] else alone(self.together):
                with self._autocast():
                    of_part = masked[part], None if order is None else order[part], batch[part]
                    loss = (self.together or self.loss)(*of_part)
                value += float(loss.item()) * share
                if not math.isfinite(value):
                    raise TabTreeFormerError(
                        f"{self.history.name}: the loss became {value}; lower train.learning_rate and fit again"
                    )
                # A team averages the gradients of its processes, of which each has only its share.
                self.scaler.scale(loss * (share * self.team.size)).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return value

    @torch.no_grad()
    def _follow(self, step: int) -> None:
        """Move the average towards the weights; it forgets the start faster at first."""
        if self.kept is not self.model:
            share = min(self.config.average, (1 + step) / (10 + step))
            torch._foreach_lerp_(list(self.kept.parameters()), list(self.model.parameters()), 1 - share)

    def _validate(self, prepared: tuple[Tensor, Tensor | None], rows: Tensor) -> NDArray[np.float64]:
        """Loss a token of each row of the other half, always under the same masks and orders."""
        return self._row_losses(prepared, rows)

    @torch.inference_mode()
    def _row_losses(self, prepared: tuple[Tensor, Tensor | None], rows: Tensor) -> NDArray[np.float64]:
        self.kept.eval()
        masked, order = prepared
        losses = torch.zeros(len(rows), dtype=torch.float64)
        own = self.team.part(len(rows))
        for start in range(own.start, own.stop, self.batch_size):
            part = slice(start, min(start + self.batch_size, own.stop))
            with self._autocast():
                losses[part] = self.row_losses(masked[part], None if order is None else order[part], rows[part]).cpu()
        return self.team.total(losses).numpy()

    def _prepare(self, rows: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor | None]:
        """Replace a random part of the tokens by MASK, and draw the order of each row's columns if any is allowed."""
        layout = self.model.layout
        masks = draw_masks(len(rows), layout, self.config, rng)
        masked = rows.masked_fill(torch.from_numpy(masks).to(rows.device), MASK)
        if self.model.config.order == "natural":
            return masked, None
        orders = draw_orders(len(rows), layout, rng, self.config.table_orders)
        return masked, torch.from_numpy(orders).to(rows.device)

    def _fitting_step(self, batch: Tensor, progress: Progress) -> float:
        """One update with as many of the rows as the device has memory for."""
        while True:
            try:
                return self._step(batch)
            except torch.OutOfMemoryError:
                pass  # the tensors of the failed step are freed only after this block
            if self.team.size > 1:  # the others are waiting for this step's gradients
                raise TabTreeFormerError(
                    f"process {self.team.rank} has no memory for its part of a batch; lower train.batch_size or raise "
                    "train.accumulate and fit again"
                )
            self._halve_batch(progress)
            batch = batch[: self.batch_size]

    def _halve_batch(self, progress: Progress) -> None:
        """Go on with half the rows a step, as the paper does."""
        if self.batch_size == 1:
            raise TabTreeFormerError(
                "the device has no memory for a single row; choose a smaller model (model.width, model.layers), "
                "fewer trees (tree.params.n_estimators) or device='cpu'"
            )
        self.optimizer.zero_grad(set_to_none=True)
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        self.batch_size //= 2
        progress.note(f"{self.history.name}: out of memory, going on with batches of {self.batch_size}")

    def _autocast(self) -> contextlib.AbstractContextManager[Any]:
        if self.precision is torch.float32:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=self.precision)


def take_rows(rows: Tensor, numbers: Rows, device: torch.device) -> Tensor:
    """Those rows as whole numbers of 64 bits on the device, wherever and however narrow they are kept."""
    return rows[torch.from_numpy(numbers).to(rows.device)].to(device).long()


@contextlib.contextmanager
def _private_rng(seed: int, device: torch.device) -> Iterator[None]:
    """Dropout draws from torch's global state: seed a copy of it and leave the user's as it was."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def _precision(name: str, device: torch.device) -> torch.dtype:
    if name == "auto":
        return torch.float16 if device.type == "cuda" else torch.float32
    return {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[name]
