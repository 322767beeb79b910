"""Rows one position at a time give the hidden states that the whole row gives, and the same rows are drawn."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from tabtreeformer.config.settings import ModelConfig, SampleConfig
from tabtreeformer.model import SlotModel, VocabModel
from tabtreeformer.model.fast_decode import PlainRows, SlotRows
from tabtreeformer.sampling import Sampler
from tabtreeformer.sampling.sampler import choose
from tabtreeformer.tokens import Given, Slot, SlotKind, TokenLayout

VALUES = (
    Slot(SlotKind.BIN, 0, 3),
    Slot(SlotKind.QUANTILE, 0, 9),
    Slot(SlotKind.CATEGORY, 1, 5),
    Slot(SlotKind.CATEGORY, 2, 1),
    Slot(SlotKind.QUANTILE, 3, 40),
)
ORDER = (2, 4, 0, 1, 3)


def network(leaves=(3, 2, 4, 5, 2), kind=SlotModel, **settings):
    chosen = {"width": 16, "feed_forward": 32, "heads": 2, "layers": 3, "pool": 2, "softmax": "allowed"}
    if kind is VocabModel:
        chosen = {"width": 16, "feed_forward": 32, "heads": 2, "layers": 3}
    model = kind(TokenLayout.build(leaves, VALUES), ModelConfig(**chosen | settings), torch.Generator().manual_seed(0))
    with torch.no_grad():  # opinions worth hearing, and norms that do something
        for number, parameter in enumerate(model.parameters()):
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(number)) * 0.3)
    return model.eval()


def prompts(model, n):
    sizes = [slot.size for slot in model.layout.slots[: model.layout.n_trees]]
    rng = np.random.default_rng(0)
    return np.array([[rng.integers(-1, size) for size in sizes] for _ in range(n)], dtype=np.int32).reshape(n, -1)


@pytest.mark.parametrize("order", [None, (ORDER,), (ORDER, (0, 1, 2, 3, 4), (3, 4, 0, 1, 2)) * 2 + (ORDER,)])
@pytest.mark.parametrize("leaves", [(), (3,), (3, 2, 4, 5, 2)])
@torch.inference_mode()
def test_hidden_states_are_those_of_the_whole_row(order, leaves):
    model = network(leaves)
    slots = torch.arange(5)[None] if order is None else torch.tensor(order)
    slots = slots.expand(7, -1)
    order = None if order is None else torch.tensor(order)
    leaf_tokens = torch.from_numpy(model.layout.prompt_tokens(prompts(model, 7)))
    ids = torch.stack([torch.arange(7) % slot.size for slot in VALUES], 1)
    rows = model.start_rows()(leaf_tokens, order)
    assert isinstance(rows, SlotRows)
    plain = PlainRows(model, leaf_tokens, order, cache=False)
    for place in range(5):
        torch.testing.assert_close(rows.hidden(), plain.hidden(), rtol=1e-4, atol=1e-5)
        if place < 4:
            for way in (rows, plain):
                way.push(ids.gather(1, slots[:, place : place + 1])[:, 0])


@torch.inference_mode()
def test_other_networks_are_asked_as_they_are():
    model = network(kind=VocabModel)
    tokens = torch.from_numpy(model.layout.prompt_tokens(prompts(model, 2)))
    assert isinstance(model.start_rows()(tokens, None), PlainRows)
    assert isinstance(network().start_rows(cache=False)(tokens, None), PlainRows)


@pytest.mark.parametrize("kind", [SlotModel, VocabModel])
def test_the_fast_way_draws_the_rows_of_the_slow_way(kind):
    model = network(kind=kind)
    drawn = [
        Sampler(model, SampleConfig(), cache=cache).draw(prompts(model, 300), np.random.default_rng(5), lambda n: None)
        for cache in (True, False)
    ]
    assert np.array_equal(*drawn)
    assert len(np.unique(drawn[0], axis=0)) > 100


@pytest.mark.parametrize("gaps", ["the same in all rows", "of each row"])
def test_the_fast_way_draws_the_same_rows_where_some_of_a_row_is_given(gaps):
    model = network()
    known = np.tile(np.array([False, False, True, False, True]), (300, 1))
    if gaps == "of each row":
        known[::3] = False
        known[1::3, 2] = False
    ids = np.tile(np.array([0, 0, 4, 0, 17], dtype=np.int32), (300, 1))
    given = Given({0: np.array([True, False, True])}, ids, known)
    drawn = [
        Sampler(model, SampleConfig(batch_size=64), cache=cache).draw(
            prompts(model, 300), np.random.default_rng(5), lambda n: None, given
        )
        for cache in (True, False)
    ]
    assert np.array_equal(*drawn)
    assert (drawn[0][known] == ids[known]).all()
    assert set(drawn[0][:, 0]) == {0, 2}
    free = drawn[0][~known[:, 4], 4] if gaps == "of each row" else drawn[0][:, 1]
    assert len(set(free)) > 1


def test_rows_with_gaps_are_drawn_by_the_chances_after_what_is_given():
    """The last slot of rows that give different parts: chi-square against one pass of the network over each part."""
    model, n = network(), 20_000
    leaf_ids = np.tile(prompts(model, 1), (n, 1))
    ids = np.tile(np.array([1, 3, 2, 0, 0], dtype=np.int32), (n, 1))
    known = np.ones((n, 5), dtype=bool)
    known[:, 2] = False
    known[: n // 2, [0, 1]] = False
    drawn = Sampler(model, SampleConfig(temperature_category=1.0)).draw(
        leaf_ids, np.random.default_rng(1), lambda rows: None, Given({}, ids, known)
    )
    order = torch.tensor([[0, 1, 3, 4, 2]])
    rows = PlainRows(model, torch.from_numpy(model.layout.prompt_tokens(leaf_ids[:1])), order, cache=False)
    with torch.no_grad():
        for slot in (0, 1, 3, 4):
            rows.push(torch.tensor([int(ids[0, slot])]))
        chances = torch.softmax(model.slot_logits(rows.hidden(), 2)[0].double(), 0).numpy()
    seen = np.bincount(drawn[n // 2 :, 2], minlength=5)
    assert chisquare(seen, chances * n / 2).pvalue > 1e-3
    assert chisquare(np.bincount(drawn[: n // 2, 2], minlength=5), chances * n / 2).pvalue < 1e-3


def test_rows_are_the_same_whatever_the_batch_and_the_first_ones_whatever_the_number():
    model = network()
    draws = [
        Sampler(model, SampleConfig(batch_size=batch)).draw(
            prompts(model, n), np.random.default_rng(5), lambda rows: None
        )
        for batch, n in ((300, 300), (64, 300), (300, 100))
    ]
    assert np.array_equal(draws[0], draws[1])
    assert np.array_equal(draws[0][:100], draws[2])


def test_drawn_ids_follow_the_chances_of_the_slow_way():
    """Inverse shares in place of torch's own draws: every slot, at a temperature, by chi-square."""
    model, n = network(), 20_000
    leaf_ids = np.tile(prompts(model, 1), (n, 1))
    sampler = Sampler(model, SampleConfig(temperature_numeric=1.5))
    ids = sampler.draw(leaf_ids, np.random.default_rng(1), lambda rows: None, first=(4, 2))[:, 4]
    order = torch.tensor([[4, 2, 0, 1, 3]])
    rows = PlainRows(model, torch.from_numpy(model.layout.prompt_tokens(leaf_ids[:1])), order, cache=False)
    with torch.no_grad():
        logits = model.slot_logits(rows.hidden(), 4)[0]
    chances = torch.softmax(logits.double() / 1.5, 0).numpy()
    common = chances * n >= 5
    seen = np.bincount(ids, minlength=40)
    pooled = [np.append(x[common], x[~common].sum()) for x in (seen, chances * n)]
    assert chisquare(*[p[p.nonzero()] if not p[-1] else p for p in pooled]).pvalue > 1e-3


def test_an_id_without_a_chance_is_never_drawn_even_at_the_ends_of_the_line():
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf, 1.0, -torch.inf]]).repeat(3, 1)
    points = torch.tensor([0.0, 0.5, 1 - 2**-24])
    assert choose(torch.softmax(logits, 1), points).tolist() == [1, 3, 3]
