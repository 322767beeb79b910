import copy

import numpy as np
import pytest
import torch

from tabtreeformer.config.settings import ModelConfig, TrainConfig
from tabtreeformer.fitting.optimizer import build_optimizer, orthogonal, set_rate
from tabtreeformer.model import SlotModel, build_network
from tabtreeformer.tokens import Slot, SlotKind, TokenLayout

LAYOUT = TokenLayout.build([3, 2], [Slot(SlotKind.QUANTILE, 0, 9), Slot(SlotKind.CATEGORY, 1, 5)])
CONFIG = ModelConfig(softmax="allowed", width=16, feed_forward=32, heads=2, layers=2, dropout=0.0)


@pytest.fixture
def network() -> SlotModel:
    model = build_network(LAYOUT, CONFIG, torch.Generator().manual_seed(0))
    assert isinstance(model, SlotModel)
    return model


def learn(model, optimizer, steps=3):
    rng = np.random.default_rng(0)
    ids = np.column_stack([rng.integers(0, slot.size, 32) for slot in LAYOUT.slots]) + LAYOUT.slot_offsets
    rows = torch.from_numpy(np.pad(ids, ((0, 0), (1, 1)), constant_values=1))
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model.loss(rows, None, rows)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("shape", [(4, 8, 8), (2, 16, 64), (1, 3, 40)])
def test_singular_values_become_about_one_and_vectors_stay(shape):
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonal(matrices))
    assert values.min() > 0.4
    assert values.max() < 1.4
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    core = left.mT @ orthogonal(matrices) @ right.mT  # diagonal where the singular vectors are the same
    assert (core - torch.diag_embed(core.diagonal(dim1=1, dim2=2))).abs().max() < 1e-4


def test_without_a_rate_for_matrices_it_is_adamw_to_the_bit(network):
    other = build_network(LAYOUT, CONFIG, torch.Generator().manual_seed(0))
    config = TrainConfig(learning_rate=0.01)
    learn(network, build_optimizer(network, config))
    learn(other, torch.optim.AdamW(other.parameters(), lr=0.01, weight_decay=0.0, fused=True))
    for ours, theirs in zip(network.parameters(), other.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_muon_moves_the_matrices_of_the_blocks_and_nothing_else(network):
    optimizer = build_optimizer(network, TrainConfig(matrix_rate=0.02))
    tables, matrices = optimizer.param_groups
    assert len(matrices["params"]) == 4 * CONFIG.layers
    assert len(tables["params"]) + len(matrices["params"]) == len(list(network.parameters()))
    assert not {id(p) for p in matrices["params"]} & {id(network.values.weight), id(network.head.weight)}


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this version of PyTorch has no Muon of its own")
def test_it_moves_matrices_as_the_muon_of_pytorch_does(network):
    other = build_network(LAYOUT, CONFIG, torch.Generator().manual_seed(0))
    before = [p.detach().clone() for p in network.backbone.parameters()]
    learn(network, build_optimizer(network, TrainConfig(learning_rate=1e-9, matrix_rate=0.02)), steps=1)
    theirs = [m.weight for m in other.backbone.modules() if isinstance(m, torch.nn.Linear)]
    learn(other, torch.optim.Muon(theirs, lr=0.02, weight_decay=0.0), steps=1)
    for ours, expected, start in zip(network.backbone.parameters(), other.backbone.parameters(), before, strict=True):
        if any(expected is matrix for matrix in theirs):  # theirs is computed in half precision
            move, other_move = ((weight.detach() - start).flatten() for weight in (ours, expected))
            assert torch.nn.functional.cosine_similarity(move, other_move, dim=0) > 0.97
            assert float(move.norm() / other_move.norm()) == pytest.approx(1.0, abs=0.1)


def test_rates_are_shares_of_each_peak(network):
    optimizer = build_optimizer(network, TrainConfig(learning_rate=0.004, matrix_rate=0.02))
    set_rate(optimizer, 0.5)
    assert [group["lr"] for group in optimizer.param_groups] == [0.002, 0.01]


def test_state_goes_into_a_checkpoint_and_back(network):
    config = TrainConfig(learning_rate=0.01, matrix_rate=0.02)
    optimizer = build_optimizer(network, config)
    learn(network, optimizer)
    other = build_network(LAYOUT, CONFIG, torch.Generator().manual_seed(0))
    other.load_state_dict(network.state_dict())
    resumed = build_optimizer(other, config)
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert learn(network, optimizer) == learn(other, resumed)
