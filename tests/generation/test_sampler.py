import numpy as np
import pytest
import torch

from tabtreeformer.config import ModelConfig, SampleConfig
from tabtreeformer.generation import Sampler
from tabtreeformer.model import RowModel
from tabtreeformer.tokens import BOS, MASK, Kind, Slot, TokenLayout

LAYOUT = TokenLayout.build(
    [3, 2], [Slot(Kind.BIN, 0, 4), Slot(Kind.QUANTILE, 0, 9), Slot(Kind.CATEGORY, 1, 5), Slot(Kind.CATEGORY, 2, 1)]
)


@pytest.fixture
def model() -> RowModel:
    network = RowModel(
        LAYOUT, ModelConfig(width=16, feed_forward=32, heads=2, layers=2), torch.Generator().manual_seed(0)
    )
    with torch.no_grad():
        network.embedding.weight.normal_(generator=torch.Generator().manual_seed(1))  # opinions worth sampling
    return network.eval()  # or the chances that rows are held against would be those under dropout


def prompts(n):
    rng = np.random.default_rng(0)
    return np.stack([rng.integers(-1, 3, n), rng.integers(-1, 2, n)], axis=1).astype(np.int32)


def draw(model, n=200, seed=0, advance=lambda rows: None, **config):
    return Sampler(model, SampleConfig(**config)).draw(prompts(n), np.random.default_rng(seed), advance)


def test_only_allowed_ids_are_drawn(model):
    ids = draw(model, 2000, temperature_numeric=9.0, temperature_category=9.0)
    assert ids.shape == (2000, 4)
    assert (ids >= 0).all()
    assert (ids < [4, 9, 5, 1]).all()
    assert [len(set(column)) for column in ids.T] == [4, 9, 5, 1]


def test_with_cache_draws_the_same_rows_as_without(model):
    assert np.array_equal(draw(model, cache=True), draw(model, cache=False))


def test_the_same_seed_draws_the_same_rows(model):
    assert np.array_equal(draw(model), draw(model))
    assert not np.array_equal(draw(model), draw(model, seed=1))


@pytest.mark.parametrize("cache", [True, False])
def test_frequencies_are_the_chances_of_the_model(model, cache):
    """The first slot after a fixed prompt: softmax over its allowed tokens, at its temperature."""
    leaf_ids = np.tile(np.array([[1, -1]], dtype=np.int32), (20_000, 1))
    tokens = torch.tensor([[BOS, 4, MASK]])
    with torch.no_grad():
        logits = model(tokens)[0, -1][list(LAYOUT.allowed(2))]
    sampler = Sampler(model, SampleConfig(temperature_numeric=3.0, cache=cache, batch_size=20_000))
    ids = sampler.draw(leaf_ids, np.random.default_rng(0), lambda rows: None)
    expected = torch.softmax(logits / 3.0, dim=0).numpy()
    np.testing.assert_allclose(np.bincount(ids[:, 0], minlength=4) / 20_000, expected, atol=0.015)


@pytest.mark.parametrize(
    ("setting", "slot"), [("temperature_numeric", 0), ("temperature_numeric", 1), ("temperature_category", 2)]
)
def test_each_kind_has_its_own_temperature(model, setting, slot):
    def surprise(**config):
        shares = np.bincount(draw(model, 3000, **config)[:, slot]) / 3000
        return -(shares[shares > 0] * np.log(shares[shares > 0])).sum()

    assert surprise(**{setting: 50.0}) > surprise() + 0.05


def test_prompts_can_be_masked_as_a_whole(model):
    whole = Sampler(model, SampleConfig(leaf_prompts=False))
    hidden = np.full((200, 2), -1, dtype=np.int32)
    expected = Sampler(model, SampleConfig()).draw(hidden, np.random.default_rng(0), lambda rows: None)
    assert np.array_equal(whole.draw(prompts(200), np.random.default_rng(0), lambda rows: None), expected)


def test_rows_are_drawn_in_batches_and_counted(model):
    counted = []
    assert len(draw(model, 23, advance=counted.append, batch_size=10)) == 23
    assert counted == [10, 10, 3]
    assert draw(model, 0).shape == (0, 4)
