"""One optimiser step: the loss of a batch, its gradients and the update, within the available memory."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..config.settings import TrainConfig
from ..errors import TabTreeFormerError
from ..model import Network, build_loss
from .distributed import Team, alone
from .optimizer import build_optimizer
from .preparation import Prepared

MAX_NORM = 1.0
"""The gradient of a batch is clipped to this norm."""


class Updater:
    """Updates one network, batch after batch; a team of processes shares each batch."""

    def __init__(self, name: str, model: Network, config: TrainConfig, device: torch.device, team: Team) -> None:
        """`name` is the network's, for messages."""
        self.name, self.model, self.config, self.device, self.team = name, model, config, device, team
        self.batch_size = config.batch_size
        self.loss = build_loss(model, config)
        self.together = team.together(model, self.loss, device)
        self.precision = _precision(config.precision, device)
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.precision is torch.float16)
        self.optimizer = build_optimizer(model, config)

    def update(self, batch: Tensor, prepare: Callable[[Tensor], Prepared], note: Callable[[str], None]) -> float:
        """Take one step with as many of the rows (B, L) as the device has memory for; return this process's loss."""
        while True:
            try:
                return self._step(batch, prepare(batch))
            except torch.OutOfMemoryError:
                pass  # the tensors of the failed step are freed only after this block
            if self.team.size > 1:  # the others are waiting for this step's gradients
                raise TabTreeFormerError(
                    f"process {self.team.rank} has no memory for its part of a batch; lower train.batch_size or raise "
                    "train.accumulate and fit again"
                )
            self._halve_batch(note)
            batch = batch[: self.batch_size]

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """A block that computes in the chosen precision."""
        if self.precision is torch.float32:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=self.precision)

    def _step(self, batch: Tensor, prepared: Prepared) -> float:
        """One update; returns the batch's loss, or this process's share of it."""
        self.model.train()
        masked, order = prepared
        self.optimizer.zero_grad(set_to_none=True)
        value, pieces = 0.0, self.team.pieces(len(batch), self.config.accumulate)
        for part, share in pieces:
            # Processes exchange gradients once per step, after the last piece.
            with contextlib.nullcontext() if part is pieces[-1][0] else alone(self.together):
                with self.autocast():
                    of_part = masked[part], None if order is None else order[part], batch[part]
                    loss = (self.together or self.loss)(*of_part)
                value += float(loss.item()) * share
                if not math.isfinite(value):
                    raise TabTreeFormerError(
                        f"{self.name}: the loss became {value}; lower train.learning_rate and fit again"
                    )
                # A team averages the gradients of its processes, each of which has only its share.
                self.scaler.scale(loss * (share * self.team.size)).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), MAX_NORM)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return value

    def _halve_batch(self, note: Callable[[str], None]) -> None:
        """Continue with half the rows per step, as the paper does."""
        if self.batch_size == 1:
            raise TabTreeFormerError(
                "the device has no memory for a single row; choose a smaller model (model.width, model.layers), "
                "fewer trees (tree.params.n_estimators) or device='cpu'"
            )
        self.optimizer.zero_grad(set_to_none=True)
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        self.batch_size //= 2
        note(f"{self.name}: out of memory, continuing with batches of {self.batch_size}")


def _precision(name: str, device: torch.device) -> torch.dtype:
    if name == "auto":
        return torch.float16 if device.type == "cuda" else torch.float32
    return {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[name]
