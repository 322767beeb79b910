import numpy as np
import pytest
import torch

from tabtreeformer.config.settings import ModelConfig, SampleConfig
from tabtreeformer.model import VocabModel
from tabtreeformer.sampling import Sampler
from tabtreeformer.sampling.sampler import GROUPS
from tabtreeformer.tokens import BOS, MASK, Given, Slot, SlotKind, TokenLayout

LAYOUT = TokenLayout.build(
    [3, 2],
    [
        Slot(SlotKind.BIN, 0, 4),
        Slot(SlotKind.QUANTILE, 0, 9),
        Slot(SlotKind.CATEGORY, 1, 5),
        Slot(SlotKind.CATEGORY, 2, 1),
    ],
)


@pytest.fixture
def model() -> VocabModel:
    network = VocabModel(
        LAYOUT, ModelConfig(width=16, feed_forward=32, heads=2, layers=2), torch.Generator().manual_seed(0)
    )
    with torch.no_grad():
        network.embedding.weight.normal_(generator=torch.Generator().manual_seed(1))  # opinions worth sampling
    return network.eval()  # or the chances that rows are held against would be those under dropout


def prompts(n):
    rng = np.random.default_rng(0)
    return np.stack([rng.integers(-1, 3, n), rng.integers(-1, 2, n)], axis=1).astype(np.int32)


def draw(model, n=200, seed=0, advance=lambda rows: None, cache=True, **config):
    return Sampler(model, SampleConfig(**config), cache=cache).draw(prompts(n), np.random.default_rng(seed), advance)


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
    sampler = Sampler(model, SampleConfig(temperature_numeric=3.0, batch_size=20_000), cache=cache)
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


def test_rows_drawn_together_in_whole_groups_are_the_first_of_more(model):
    sampler, all_prompts = Sampler(model, SampleConfig(together=True, batch_size=200)), prompts(900)
    few, more = (
        sampler.draw(all_prompts[:n], np.random.default_rng(0), lambda rows: None) for n in (sum(GROUPS[:5]), 900)
    )
    assert np.array_equal(few, more[: len(few)])
    assert len(draw(model, 23, together=True, batch_size=10)) == 23


def test_rows_drawn_together_are_closer_to_the_learned_shares_than_rows_drawn_one_by_one(model):
    def spread(together):
        counts = [np.bincount(draw(model, 256, seed, together=together)[:, 2], minlength=5) for seed in range(40)]
        return np.std(counts, axis=0).mean()

    assert spread(together=True) < 0.6 * spread(together=False)


def test_rows_of_one_condition_are_drawn_together_too(model):
    given = Given({0: np.array([True, True, False, False])})

    def spread(together):
        sampler = Sampler(model, SampleConfig(together=together))
        rows = [sampler.draw(prompts(256), np.random.default_rng(s), lambda n: None, given, [0]) for s in range(40)]
        assert all((ids[:, 0] < 2).all() for ids in rows)
        return np.std([np.bincount(ids[:, 2], minlength=5) for ids in rows], axis=0).mean()

    assert spread(together=True) < 0.7 * spread(together=False)


def test_each_of_the_rows_drawn_together_has_its_own_shares(model):
    """One row of a group, over many seeds."""
    drawn = [draw(model, GROUPS[0], seed, together=True)[5, 0] for seed in range(400)]
    alone = [draw(model, GROUPS[0], seed)[5, 0] for seed in range(400)]
    shares = [np.bincount(ids, minlength=4) / 400 for ids in (drawn, alone)]
    np.testing.assert_allclose(*shares, atol=0.12)
