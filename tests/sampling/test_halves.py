"""Rows of the two networks: whose prompts they follow, and how they are put together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer._runtime.seeds import child
from tabtreeformer.config.settings import TrainConfig
from tabtreeformer.fitting.prompts import masked_prompts
from tabtreeformer.fitting.split import split_rows
from tabtreeformer.sampling import NetworkWriter
from tabtreeformer.sampling.network_writer import Sampler
from tabtreeformer.tokens import Slot, SlotKind, TokenLayout


@pytest.mark.parametrize("prompts", ["trained", "validated"])
def test_prompts_of_the_papers_presets_are_leaves_of_the_networks_own_half(prompts):
    layout = TokenLayout.build([100], [Slot(SlotKind.CATEGORY, 0, 2)])
    tokens = layout.to_tokens(np.arange(100)[:, None], np.zeros((100, 1), dtype=np.int64))
    parts = split_rows(100, np.random.default_rng(0))
    config = TrainConfig(leaf_mask=(0.0, 0.0), prompts=prompts)
    banks = masked_prompts(tokens, parts, layout, config, np.random.SeedSequence(0))
    for bank, (own, others) in zip(banks, parts, strict=True):
        expected = own if prompts == "trained" else others
        assert sorted(bank.leaf_ids[:, 0]) == sorted(expected)


@pytest.mark.parametrize("n", [7, 8])
def test_rows_come_in_turn_from_each_network_and_the_seed_says_who_begins(mixed, tiny, monkeypatch, n):
    model = TabTreeFormer("S", "income", **tiny, privacy="off", random_state=0, verbose=False).fit(mixed)
    fitted = model.fitted_

    def marked(sampler, prompts, generator, advance):
        return np.full((len(prompts), fitted.layout.n_values), fitted.models.index(sampler.model), dtype=np.int32)

    monkeypatch.setattr(Sampler, "draw", marked)
    first = set()
    for seed in range(8):
        writer = NetworkWriter.of(fitted, fitted.config.sampling, child(np.random.SeedSequence(seed)), lambda n: None)
        networks = writer.write(n)[:, 0]
        assert (np.diff(networks) != 0).all()
        assert abs((networks == 0).sum() - n / 2) <= 0.5
        first.add(int(networks[0]))
    assert first == {0, 1}


def test_the_mixture_of_two_halves_is_the_whole():
    """The theorem behind the split: even halves, each learned exactly and drawn from alike, give the rows' shares."""
    rows = pd.Series(np.random.default_rng(0).choice(list("aab"), 1000))
    (one, _), (two, _) = split_rows(1000, np.random.default_rng(1))
    shares = [rows.iloc[half].value_counts(normalize=True) for half in (one, two)]
    mixed = (shares[0] + shares[1]) / 2
    pd.testing.assert_series_equal(
        mixed.sort_index(), rows.value_counts(normalize=True).sort_index(), check_names=False
    )
