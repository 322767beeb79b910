"""Training as in the paper's algorithm: shared steps on all rows, then one network per half, validated on the other.

NOTE[PAPER]: the paper trains with the Hugging Face Trainer; we have a loop of our own with its defaults (AdamW, a rate
that falls linearly, gradients clipped at norm 1), so that a fit needs no transformers, can be resumed bit for bit, and
ends within a budget.

Shapes: `N` rows, `L` positions.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .._runtime.durations import duration
from .._runtime.seeds import torch_generator
from .._runtime.threads import available_cores, both
from ..config.settings import Config, TrainConfig
from ..model import Network, build_network
from ..tokens import TokenLayout
from .checkpoint.state import checkpoint_bytes
from .history import History
from .interrupt import ending_on_interrupt
from .resources import Resources
from .run import Run
from .split import Rows, split_rows
from .stopping import Allowance

SHARED_PASSES = 20
"""Maximum passes over all rows before the two networks go separate ways (the paper's value)."""

Parts = tuple[tuple[Rows, Rows], tuple[Rows, Rows]]
"""For each network, the rows it is trained on and the rows it is validated on."""


@dataclass(frozen=True)
class Trained:
    """Two networks, their rows, and the record."""

    models: tuple[Network, Network]
    parts: Parts
    histories: list[History]
    interrupted: bool = False
    """Somebody stopped it early."""


def shared_steps(n_rows: int, config: TrainConfig) -> int:
    """s0: the steps of 20 passes over the rows, at most `shared_share` of all steps."""
    return min(SHARED_PASSES * math.ceil(n_rows / config.batch_size), int(config.steps * config.shared_share))


def train_networks(
    layout: TokenLayout,
    tokens: NDArray[np.integer[Any]],
    config: Config,
    seed: np.random.SeedSequence,
    resources: Resources,
    units: Rows | None = None,
) -> Trained:
    """Train both networks on unmasked token rows (N, L), within the available time; a run folder makes it resumable.

    Tokens on disk (a memmap) stay there; rows are read when a batch needs them. Rows of the same unit, by `units`, are
    learned by the same network.
    """
    allowance, device = Allowance(resources.seconds), resources.device
    with ending_on_interrupt(allowance.asked, resources.progress):
        start_seed, split_seed, shared_seed, *half_seeds = seed.spawn(5)
        rows = torch.from_numpy(tokens) if isinstance(tokens, np.memmap) else torch.from_numpy(tokens).to(device)
        model = build_network(layout, config.model, torch_generator(start_seed)).to(device)
        model.start_from(rows)
        resources.folder.check_room(checkpoint_bytes(model.n_parameters))
        shared = shared_steps(len(rows), config.train)
        side_by_side = _may_run_side_by_side(model, resources)
        histories: list[History] = []
        left = 1 - shared / config.train.steps if config.train.matrix_rate else 0.0
        if shared:
            run = Run("shared start", model, config, shared, shared_seed, resources, (1.0, left))
            run.train(rows, allowance.part(config.train.shared_share), "shared")
            histories.append(run.history)
            resources.progress.note(_estimate(run.history, config.train.steps - shared, side_by_side, allowance))

        parts = split_rows(len(rows), np.random.default_rng(split_seed), units)
        models = (model, copy.deepcopy(model))
        halves: dict[int, History] = {}

        def train(j: int, allowance: Allowance) -> None:
            # NOTE[PAPER]: the paper validates network j on half 1-j with j in {1, 2}; the other half is meant.
            steps = config.train.steps - shared
            # The paper's step i, which is a multiple of 100 where it validates, counts the shared steps too.
            before = shared if config.model.softmax == "vocabulary" else 0
            rates = (left or 1.0, 0.0)
            run = Run(f"network {j + 1}", models[j], config, steps, half_seeds[j], resources, rates, before)
            run.train(rows, allowance, f"network_{j + 1}", parts[j])
            halves[j] = run.history

        if side_by_side:
            both(lambda j: train(j, allowance), allowance.asked.set)
        else:
            train(0, allowance.part(0.5))
            train(1, allowance.part(1.0))
        return Trained(models, parts, [*histories, halves[0], halves[1]], allowance.asked.is_set())


def _may_run_side_by_side(model: Network, resources: Resources) -> bool:
    """Whether the networks train in two threads, one core each: PyTorch releases Python's lock while it computes.

    Dropout draws from a state that threads would share; a GPU is parallel already, and so are several processes.
    """
    if resources.folder.team.size > 1:
        return False
    if resources.side_by_side is not None:
        return resources.side_by_side
    return resources.device.type == "cpu" and model.config.dropout == 0 and available_cores() > 1


def _estimate(shared: History, steps: int, side_by_side: bool, allowance: Allowance) -> str:
    """How long training may take, estimated from the pace of the shared start."""
    longest = shared.seconds / max(shared.steps, 1) * steps * (1 if side_by_side else 2)
    left = (1 - allowance.used) * allowance.seconds if math.isfinite(allowance.seconds) else longest
    most = duration(min(longest, left))
    return f"at most {most} from now on; usually less, as training stops when it no longer improves"
