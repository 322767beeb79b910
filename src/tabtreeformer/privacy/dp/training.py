"""DP-SGD: Poisson sampling, per-row gradient clipping, noise on the sum.

One network is trained on all rows for a fixed number of steps; no losses of rows are read, kept or shown. A moving
average of the weights is kept, which is post-processing and costs no budget.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ..._runtime.progress import stage
from ..._runtime.seeds import torch_generator
from ...config.settings import Config
from ...fitting import History, Resources
from ...fitting.average import WeightAverage
from ...fitting.control import Control
from ...fitting.loop import take_steps
from ...fitting.preparation import prepare
from ...fitting.stopping import Allowance
from ...model import SlotModel
from ...tokens import TokenLayout
from .budget import Plan
from .noise import Floats, Noise
from .norms import RowNorms, clipped_sum

MAX_NORM = 0.5
"""The gradient of each row is clipped to this norm."""

AVERAGE = 0.99
"""Decay of the moving average of the weights."""
CHUNK = 256
"""Rows per gradient computation; affects only memory."""


def train_private(
    layout: TokenLayout,
    tokens: NDArray[np.int64],
    counts: Sequence[Floats],
    config: Config,
    plan: Plan,
    noise: Noise,
    seed: np.random.SeedSequence,
    resources: Resources,
) -> tuple[SlotModel, History]:
    """Train on token rows (N, L); `counts` are noisy frequencies of the ids of each slot.

    Masks and column orders are drawn per row from an ordinary generator, because they need not be secret.
    """
    start_seed, mask_seed = seed.spawn(2)
    device = resources.device
    model = SlotModel(layout, config.model, torch_generator(start_seed)).to(device)
    model.start_at([torch.from_numpy(np.maximum(c, 0.0)).to(device) for c in counts])
    learner = PrivateLearner(model, tokens, config, plan, noise, np.random.default_rng(mask_seed))
    with stage(resources.progress, learner.history.name, plan.steps) as advance:
        take_steps(learner, Control(Allowance(resources.seconds), advance=advance))
    learner.norms.close()
    return learner.average.network.eval(), learner.history


class PrivateLearner:
    """Trains a network with noisy sums of clipped gradients, for a number of steps that does not depend on the rows."""

    converged = False
    """Always false, because nothing is validated."""

    def __init__(
        self,
        model: SlotModel,
        tokens: NDArray[np.int64],
        config: Config,
        plan: Plan,
        noise: Noise,
        mask_rng: np.random.Generator,
    ) -> None:
        """`tokens` are all rows (N, L), from which each step draws its batch."""
        self.model, self.tokens, self.config, self.plan, self.noise = model, tokens, config, plan, noise
        self.mask_rng, self.steps = mask_rng, plan.steps
        self.history = History("private network", batch_size=config.train.batch_size)
        self.average = WeightAverage(model, AVERAGE)
        self.norms = RowNorms(model)
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.parameters, lr=config.train.learning_rate, weight_decay=0.0)

    def set_rate(self, share: float) -> None:
        """Set the learning rate to this share of its peak."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.train.learning_rate * share

    def update(self) -> float:
        """Take one step with a Poisson-sampled batch; its loss stays unknown."""
        drawn = np.flatnonzero(self.noise.uniform(len(self.tokens)) < self.plan.sample_rate)
        for parameter in self.parameters:
            parameter.grad = torch.zeros_like(parameter)
        device = self.parameters[0].device
        for row_indices in np.split(drawn, range(CHUNK, len(drawn), CHUNK)):
            if len(row_indices):
                rows = torch.from_numpy(self.tokens[row_indices]).to(device)
                masked, order = prepare(rows, self.model.layout, self.config, self.mask_rng)
                clipped_sum(self.norms, masked, order, rows, MAX_NORM)
        for parameter in self.parameters:
            self._add_noise(parameter)
        self.optimizer.step()
        return math.nan

    def _add_noise(self, parameter: torch.nn.Parameter) -> None:
        """Turn a sum of clipped gradients into a noisy mean."""
        assert parameter.grad is not None
        drawn = torch.from_numpy(self.noise.normal(parameter.numel())).view(parameter.shape).to(parameter)
        sigma, expected = self.plan.train_noise * MAX_NORM, self.plan.sample_rate * len(self.tokens)
        parameter.grad.add_(drawn, alpha=sigma).div_(expected)

    def after_step(self, step: int, loss: float, seconds: float) -> dict[str, str]:
        """Record the step with the expected number of rows."""
        self.average.follow(step)
        history = self.history
        history.steps, history.rows, history.seconds = step, step * self.config.train.batch_size, seconds
        return {"rows/s": f"{history.rows_per_second:,.0f}"}
