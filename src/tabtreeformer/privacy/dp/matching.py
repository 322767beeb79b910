"""After training, biases are adjusted until the network's own rows match the noisy counts.

Noisy gradients disturb even frequencies that were right before training. The counts and the network's rows are already
private, so comparing them costs no budget.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ...config.settings import SampleConfig
from ...model import SlotModel
from ...sampling.prompts import blank
from ...sampling.sampler import Sampler
from .noise import Floats

ROUNDS = 3
ROWS = 10_000
"""Rows drawn per round."""
SPARE = 5.0
"""Pseudo-counts added to both sides, so that rare ids hardly change."""


def match_counts(model: SlotModel, counts: Sequence[Floats], config: SampleConfig, rng: np.random.Generator) -> None:
    """Adjust the biases of all ids; `counts` are the noisy counts of the ids of each slot."""
    wanted = [np.maximum(c, 0.0) + 0.5 for c in counts]
    for _ in range(ROUNDS):
        drawn = Sampler(model, config).draw(blank(ROWS, 0), rng, lambda _: None)
        moves = []
        for slot, share in enumerate(wanted):
            seen = np.bincount(drawn[:, slot], minlength=len(share))
            moves.append(np.log((ROWS * share / share.sum() + SPARE) / (seen + SPARE)))
        with torch.no_grad():
            model.bias.add_(torch.from_numpy(np.concatenate(moves)).to(model.bias))
    model.train()  # invalidates the folded weights used for drawing
    model.eval()
