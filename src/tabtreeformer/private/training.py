"""DP-SGD: batches drawn row by row, gradients shortened row by row, noise on their sum.

One network learns from all rows for a number of steps that is settled before: no losses of rows are looked at, kept or
shown. A moving average of the weights is kept, which costs nothing: it is made of what is private already.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ..config import Config
from ..model import SlotModel
from ..progress import Progress, stage
from ..seeds import torch_generator
from ..tokens import MASK, TokenLayout
from ..training import draw_masks
from ..training.orders import draw_orders
from ..training.stopping import Allowance
from .budget import Plan
from .noise import Floats, Noise
from .norms import RowNorms, clipped_sum

CHUNK = 256
"""Rows whose gradients are computed at once; how a batch is cut changes nothing but memory."""


def train_private(
    layout: TokenLayout,
    tokens: NDArray[np.int64],
    counts: Sequence[Floats],
    config: Config,
    plan: Plan,
    noise: Noise,
    seed: np.random.SeedSequence,
    device: torch.device,
    progress: Progress,
    seconds: float,
) -> tuple[SlotModel, int]:
    """Train on token rows (N, L); `counts` are noisy frequencies of the ids of each slot. Returns the steps taken too.

    Masks and orders of columns are drawn for each row by itself, from the ordinary generator: they need not be secret.
    """
    start_seed, mask_seed = seed.spawn(2)
    rng = np.random.default_rng(mask_seed)
    model = SlotModel(layout, config.model, torch_generator(start_seed)).to(device)
    model.start_at([torch.from_numpy(np.maximum(c, 0.0)).to(device) for c in counts])
    kept, allowance, train = copy.deepcopy(model), Allowance(seconds), config.train
    norms = RowNorms(model)
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=train.learning_rate, weight_decay=train.weight_decay)
    expected = plan.sample_rate * len(tokens)
    step, started = 0, time.perf_counter()
    with stage(progress, "private network", plan.steps) as advance:
        while step < plan.steps and allowance.used < 1:
            for group in optimizer.param_groups:
                group["lr"] = train.learning_rate * (1 - max(step / plan.steps, min(allowance.used, 1.0)))
            drawn = np.flatnonzero(noise.uniform(len(tokens)) < plan.sample_rate)
            for parameter in parameters:
                parameter.grad = torch.zeros_like(parameter)
            for rows in np.split(drawn, range(CHUNK, len(drawn), CHUNK)):
                if len(rows):
                    clipped_sum(norms, *_prepare(tokens[rows], layout, config, rng, device), train.clip)
            for parameter in parameters:
                _add_noise(parameter, plan.train_noise * train.clip, expected, noise)
            optimizer.step()
            step += 1
            _follow(kept, model, step, train.average)
            advance(**{"rows/s": f"{step * expected / (time.perf_counter() - started):,.0f}"})
    norms.close()
    return (kept if train.average else model).eval(), step


def _prepare(
    tokens: NDArray[np.int64], layout: TokenLayout, config: Config, rng: np.random.Generator, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
    """Masked rows, the orders of their columns, and the whole rows."""
    rows = torch.from_numpy(tokens).to(device)
    masks = torch.from_numpy(draw_masks(len(tokens), layout, config.train, rng)).to(device)
    order = None
    if config.model.order == "any":
        order = torch.from_numpy(draw_orders(len(tokens), layout, rng, config.train.table_orders)).to(device)
    return rows.masked_fill(masks, MASK), order, rows


def _add_noise(parameter: torch.nn.Parameter, sigma: float, expected: float, noise: Noise) -> None:
    """Turn a sum of clipped gradients into a noisy mean."""
    assert parameter.grad is not None
    drawn = torch.from_numpy(noise.normal(parameter.numel())).view(parameter.shape).to(parameter)
    parameter.grad.add_(drawn, alpha=sigma).div_(expected)


@torch.no_grad()
def _follow(kept: SlotModel, model: SlotModel, step: int, average: float) -> None:
    """Move the average towards the weights; it forgets the start faster at first."""
    if average:
        share = min(average, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(kept.parameters()), list(model.parameters()), 1 - share)
