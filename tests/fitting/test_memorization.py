"""The memorisation meter: what it reads, what it costs, and when it stops a network."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tabtreeformer.config.settings import Config, ModelConfig, TrainConfig
from tabtreeformer.fitting import Resources, train_networks
from tabtreeformer.fitting.memorization import Reading, as_masked, memorised, own_rows, read
from tabtreeformer.tokens import MASK, Slot, SlotKind, TokenLayout

LAYOUT = TokenLayout.build([4, 4], [Slot(SlotKind.CATEGORY, column, 12) for column in range(4)])


def noise(n: int = 60) -> np.ndarray:
    """Rows of which nothing can be learned but the rows themselves."""
    rng = np.random.default_rng(0)
    return LAYOUT.to_tokens(rng.integers(0, 4, (n, 2)), rng.integers(0, 12, (n, 4)))


def train(**changes):
    config = TrainConfig(
        **{
            "steps": 200, "batch_size": 30, "validate_every": 20, "patience": 99, "learning_rate": 5e-3,
            "leaf_mask": (0.0, 0.0), "value_mask": (0.0, 0.0), "restore_best": False, **changes,
        }
    )  # fmt: skip
    model = ModelConfig(width=32, feed_forward=64, heads=2, layers=1, dropout=0.0, softmax="allowed")
    seed, resources = np.random.SeedSequence(0), Resources(device=torch.device("cpu"), side_by_side=False)
    return train_networks(LAYOUT, noise(), Config(model=model, train=config), seed, resources)


def test_a_network_that_learns_rows_by_heart_has_a_gap_that_grows():
    readings = train().histories[-1].readings
    assert readings[-1].gap > readings[0].gap + 2
    assert readings[-1].gap > 5 * readings[-1].error
    assert readings[-1].memorised > 10


def test_training_stops_when_the_gap_is_beyond_the_limit():
    free, held = train().histories[-1], train(gap_limit=1.0).histories[-1]
    assert held.steps < free.steps
    assert held.readings[-1].beyond(1.0)
    assert not any(reading.beyond(1.0) for reading in held.readings[:-1])


def test_the_meter_changes_nothing_of_training():
    one, two = train(), train(gap_limit=1e9)
    assert all(torch.equal(a, b) for a, b in zip(one.models[0].parameters(), two.models[0].parameters(), strict=True))


def test_losses_from_the_same_distribution_show_no_gap():
    rng = np.random.default_rng(0)
    readings = [read(1, rng.normal(2, 1, 100), rng.normal(2, 1, 100), 7) for _ in range(200)]
    assert np.mean([abs(r.gap) > 2 * r.error for r in readings]) < 0.1
    assert np.mean([r.memorised > 0 for r in readings]) < 0.1


@pytest.mark.parametrize(("own", "count"), [(np.full(50, 0.0), 50), (np.full(50, 2.0), 0)])
def test_memorised_rows_are_those_that_hardly_any_other_row_is_as_likely_as(own, count):
    assert memorised(own, np.linspace(1, 3, 200)) == pytest.approx(count, abs=1)


def test_the_meter_looks_at_few_rows_where_validations_are_frequent():
    config = TrainConfig(validate_every=2, batch_size=20)
    assert len(own_rows(np.arange(500), 400, config)) == 10
    assert len(own_rows(np.arange(500), 400, TrainConfig())) == 400


def test_own_rows_are_masked_as_the_other_half_is():
    own = torch.arange(1, 13).view(3, 4) + MASK
    hidden = torch.tensor([[0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=torch.bool)
    other = torch.full((4, 4), MASK + 50).masked_fill(hidden, MASK)
    masked, order = as_masked(own, (other, torch.arange(4).repeat(4, 1)))
    assert torch.equal(masked == MASK, hidden[:3])
    assert order.shape == (3, 4)


def test_a_gap_of_few_rows_stops_nothing():
    assert not Reading(step=1, gap=50.0, error=0.0, memorised=0, rows=3).beyond(1.0)
