"""The lengths of rows' gradients, against gradients that are taken row by row."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from tabtreeformer.config.presets import private_auto
from tabtreeformer.errors import ConfigError
from tabtreeformer.fitting.orders import draw_orders
from tabtreeformer.model import SlotModel
from tabtreeformer.privacy.dp.norms import RowNorms, clipped_sum
from tabtreeformer.tokens import MASK, Slot, SlotKind, TokenLayout

LAYOUT = TokenLayout.build(
    (),
    [
        Slot(SlotKind.CATEGORY, 0, 3),
        Slot(SlotKind.QUANTILE, 1, 20),
        Slot(SlotKind.CATEGORY, 2, 2),
        Slot(SlotKind.QUANTILE, 3, 7),
    ],
)


def network(**changes) -> SlotModel:
    config = dataclasses.replace(private_auto(500).model, width=8, feed_forward=16, heads=2, layers=2, **changes)
    model = SlotModel(LAYOUT, config, torch.Generator().manual_seed(0))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) * 0.3)
    return model


def batch(n: int = 6):
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.integers(slot.size, size=n) for slot in LAYOUT.value_slots])
    rows = torch.from_numpy(LAYOUT.to_tokens(np.empty((n, 0), dtype=np.int64), values))
    hidden = torch.from_numpy(rng.random(rows.shape) < 0.2)
    hidden[:, [0, -1]] = False
    return rows.masked_fill(hidden, MASK), torch.from_numpy(draw_orders(n, LAYOUT, rng)), rows


def by_row(model, masked, order, rows):
    for k in range(len(rows)):
        model.zero_grad()
        part = slice(k, k + 1)
        model.loss(masked[part], None if order is None else order[part], rows[part]).backward()
        yield [p.grad.clone() if p.grad is not None else torch.zeros_like(p) for p in model.parameters()]


def length(gradient) -> float:
    return float(torch.cat([g.flatten() for g in gradient]).norm())


@pytest.fixture(autouse=True)
def few_rows_are_enough(monkeypatch):
    """Let some ids of a table of six rows have an embedding of their own."""
    monkeypatch.setattr("tabtreeformer.model.slot_model.OWN_ROWS", 3)


@pytest.mark.parametrize("smoothing", [0.0, 0.7])
@pytest.mark.parametrize(("table_order", "shown"), [(False, "sigmoid"), (True, "sigmoid"), (False, "raw")])
def test_lengths_are_those_of_gradients_taken_row_by_row(monkeypatch, smoothing, table_order, shown):
    monkeypatch.setattr("tabtreeformer.model.slot_model.SMOOTHING", smoothing)
    model = network(quantile_embedding=shown)
    masked, order, rows = batch()
    model.start_from(rows)
    order = None if table_order else order
    norms = RowNorms(model)
    _, lengths = norms(masked, order, rows)
    expected = [length(g) for g in by_row(model, masked, order, rows)]
    assert lengths.detach().numpy() == pytest.approx(expected, rel=1e-4)


def test_the_sum_is_that_of_gradients_shortened_one_by_one():
    model = network()
    masked, order, rows = batch()
    gradients = list(by_row(model, masked, order, rows))
    clip = float(np.median([length(g) for g in gradients]))
    factors = [min(1.0, clip / length(g)) for g in gradients]
    model.zero_grad()
    clipped_sum(RowNorms(model), masked, order, rows, clip)
    for k, parameter in enumerate(model.parameters()):
        expected = sum(f * g[k] for f, g in zip(factors, gradients, strict=True))
        got = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        assert torch.allclose(got, expected, atol=2e-3 * clip)


def test_no_row_moves_the_sum_by_more_than_the_bound():
    model = network()
    with torch.no_grad():
        model.bias.mul_(200.0)  # some rows now are very unlikely, and their gradients long
    masked, order, rows = batch(12)
    clip = 0.1
    assert max(length(g) for g in by_row(model, masked, order, rows)) > 5 * clip
    for left_out in range(len(rows)):
        sums = []
        for kept in (torch.arange(len(rows)), torch.tensor([k for k in range(len(rows)) if k != left_out])):
            model.zero_grad()
            norms = RowNorms(model)
            clipped_sum(norms, masked[kept], order[kept], rows[kept], clip)
            norms.close()
            sums.append([torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in model.parameters()])
        assert length([a - b for a, b in zip(*sums, strict=True)]) <= clip


def test_a_parameter_that_nobody_watches_is_refused():
    model = network()
    model.extra = torch.nn.Parameter(torch.zeros(2))
    with pytest.raises(ConfigError, match="extra"):
        RowNorms(model)
