"""After training: biases are moved until the network's own rows have the frequencies of the noisy counts.

Noise on gradients disturbs even what was known before training. The counts are private already, and so are the rows
that the network draws: comparing them costs nothing.
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
"""Rows that are drawn per round."""
SPARE = 5.0
"""Rows that are added to both sides, so that rare ids are hardly moved."""


def match_counts(model: SlotModel, counts: Sequence[Floats], config: SampleConfig, rng: np.random.Generator) -> None:
    """Move the biases of all ids; `counts` are the noisy rows of the ids of each slot."""
    wanted = [np.maximum(c, 0.0) + 0.5 for c in counts]
    for _ in range(ROUNDS):
        drawn = Sampler(model, config).draw(blank(ROWS, 0), rng, lambda _: None)
        moves = []
        for slot, share in enumerate(wanted):
            seen = np.bincount(drawn[:, slot], minlength=len(share))
            moves.append(np.log((ROWS * share / share.sum() + SPARE) / (seen + SPARE)))
        with torch.no_grad():
            model.bias.add_(torch.from_numpy(np.concatenate(moves)).to(model.bias))
    model.train()  # what was folded for drawing no longer holds
    model.eval()
