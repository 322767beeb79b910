"""Biases that are moved until drawn rows have the frequencies that were counted."""

import numpy as np
import torch

from tabtreeformer.config.presets import private_auto
from tabtreeformer.model import SlotModel
from tabtreeformer.privacy.dp.matching import match_counts
from tabtreeformer.sampling.prompts import blank
from tabtreeformer.sampling.sampler import Sampler
from tabtreeformer.tokens import Slot, SlotKind, TokenLayout


def shares(model, config, size):
    drawn = Sampler(model, config.sampling).draw(blank(20_000, 0), np.random.default_rng(9), lambda _: None)
    return np.bincount(drawn[:, 0], minlength=size) / 20_000


def test_rows_of_a_shaken_network_get_the_frequencies_of_the_counts_back():
    config = private_auto(500)
    layout = TokenLayout.build((), [Slot(SlotKind.CATEGORY, 0, 3), Slot(SlotKind.QUANTILE, 1, 12)])
    model = SlotModel(layout, config.model, torch.Generator().manual_seed(0))
    counts = [np.array([600.0, 300.0, 100.0]), np.arange(1.0, 13.0)]
    model.start_at([torch.from_numpy(c) for c in counts])
    with torch.no_grad():
        model.bias += torch.randn(model.bias.shape, generator=torch.Generator().manual_seed(1))
    before = np.abs(shares(model, config, 3) - [0.6, 0.3, 0.1]).sum()
    match_counts(model, counts, config.sampling, np.random.default_rng(0))
    after = np.abs(shares(model, config, 3) - [0.6, 0.3, 0.1]).sum()
    assert before > 0.1
    assert after < 0.05
