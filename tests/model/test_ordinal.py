"""The ordered embedding and the ordinal loss as parts for other networks."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import torch

from tabtreeformer import ordinal_embedding, ordinal_loss
from tabtreeformer.errors import ConfigError
from tabtreeformer.model.embedding import quantile_embedding
from tabtreeformer.model.loss import ordinal_cross_entropy, ordinal_weights

EXAMPLE = Path(__file__).parents[2] / "examples" / "ordinal.py"


def test_the_embedding_starts_ordered_and_is_trained():
    embedding = ordinal_embedding(12, 8, "tanh")
    torch.testing.assert_close(embedding.weight.data, quantile_embedding(12, 8, "tanh"))
    assert embedding.weight.requires_grad


def test_the_loss_is_that_of_the_paper_and_near_misses_cost_less():
    logits, target = torch.randn(6, 20, generator=torch.Generator().manual_seed(0)), torch.arange(6) * 3
    expected = ordinal_cross_entropy(logits, target, ordinal_weights(20, sigma=3 / 20).log()).mean()
    torch.testing.assert_close(ordinal_loss(logits, target, reach=3), expected)
    misses = 3 * torch.eye(20)[[11, 13, 17]]
    costs = [ordinal_loss(row[None], torch.tensor([10]), reach=3).item() for row in misses]
    assert costs == sorted(costs)
    assert costs[0] < costs[2]


def test_what_cannot_be_is_refused():
    with pytest.raises(ConfigError, match="sigmoid, tanh, softsign, ramp"):
        ordinal_embedding(4, 4, "sine")
    with pytest.raises(ConfigError, match="above 0"):
        ordinal_loss(torch.zeros(1, 4), torch.zeros(1, dtype=torch.long), reach=0)


def test_the_example_compares_three_ways_and_all_of_them_learn(capsys):
    errors = runpy.run_path(str(EXAMPLE))["main"](n_rows=200, steps=30, seeds=2)
    assert list(errors) == ["plain", "ordinal loss", "ordinal loss and embedding"]
    assert all(len(values) == 2 and max(values) < 5 for values in errors.values())  # the middle grade: about 7
    assert capsys.readouterr().out.count("±") == 3
