"""Margins: the share of each id in sampled rows, corrected to its share in the training rows.

A network trained on masked rows and smoothed targets is slightly biased in the shares of single columns, although these
are what a table shows most reliably. Each slot's logits are shifted by one number per id. The shifts are found while
rows are drawn slot by slot, so that later slots are corrected given corrected ones.

Shapes: `N` rows, `L` positions, `B` rows drawn, `S` ids of a slot.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..artifact.fitted import Fitted
from ..config.settings import SampleConfig
from ..model import Network
from .committee import Committee
from .sampler import Sampler

MIN_ROWS = 4096
"""Minimum rows for finding shifts; every prompt of a bank is used equally often, as in sampling."""
ROUNDS = 20
MAX_SHIFT = 2.0
"""Largest change of a logit per round."""


def correct_margins(fitted: Fitted, tokens: NDArray[Any], seed: np.random.SeedSequence) -> None:
    """Shift the networks' output biases until their rows have the margins of the token rows (N, L)."""
    rng = np.random.default_rng(seed)
    networks = fitted.models
    counts = networks[0].count(torch.from_numpy(tokens))
    if counts is None:
        return
    # Each network separately first: differences between its half and the other would reveal that half.
    for network, bank in zip(networks, fitted.prompts, strict=True):
        prompts = _prompts(bank.leaf_ids)
        config = dataclasses.replace(fitted.config.sampling, batch_size=len(prompts))
        _Corrector(network, config, counts).draw(prompts, rng, lambda n: None)
    if fitted.config.sampling.committee:
        prompts = _prompts(np.concatenate([bank.leaf_ids for bank in fitted.prompts]))
        config = dataclasses.replace(fitted.config.sampling, batch_size=len(prompts))
        _CommitteeCorrector(networks, config, counts).draw(prompts, rng, lambda n: None)


def _prompts(leaf_ids: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.tile(leaf_ids, (-(-MIN_ROWS // len(leaf_ids)), 1))


class _Corrector(Sampler):
    """Draws rows once and corrects each slot before it is drawn."""

    def __init__(self, network: Network, config: SampleConfig, counts: Sequence[Tensor]) -> None:
        super().__init__(network, config)
        self.network, self.counts = network, counts

    def slot_logits(self, hidden: Tensor, slot: int) -> Tensor:
        """The corrected logits (B, S)."""
        logits = super().slot_logits(hidden, slot)
        shift = margin_shift(logits, self.counts[slot].to(logits), self.temperature(slot))
        self.network.shift(slot, shift)
        return logits + shift


class _CommitteeCorrector(Committee):
    """The same for two networks that draw together; each gets its share of the shift."""

    def __init__(self, networks: Sequence[Network], config: SampleConfig, counts: Sequence[Tensor]) -> None:
        super().__init__(networks, config)
        self.members, self.counts = networks, counts

    def slot_logits(self, hidden: Tensor, slot: int) -> Tensor:
        """The corrected logits (B, S)."""
        logits = super().slot_logits(hidden, slot)
        shift = margin_shift(logits, self.counts[slot].to(logits), self.temperature(slot))
        for network in self.members:
            network.shift(slot, shift / (2 * self.weight))
        return logits + shift


def margin_shift(logits: Tensor, counts: Tensor, temperature: float) -> Tensor:
    """Shift of the logits (B, S) that makes their mean probabilities match the counts (S,); 0 for ids without rows."""
    seen, target = counts > 0, counts / counts.sum()
    shift = torch.zeros_like(target)
    for _ in range(ROUNDS):
        shares = torch.softmax((logits + shift) / temperature, dim=1).mean(0)
        shift[seen] += temperature * (target[seen] / shares[seen]).log().clamp(-MAX_SHIFT, MAX_SHIFT)
    return shift
