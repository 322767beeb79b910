import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from tabtreeformer.config.settings import TrainConfig
from tabtreeformer.model import RowLoss
from tabtreeformer.model.loss import ordinal_cross_entropy, ordinal_weights, valid_group_loss
from tabtreeformer.tokens import Slot, SlotKind, TokenLayout

LAYOUT = TokenLayout.build(
    [3, 2],
    [
        Slot(SlotKind.BIN, 0, 4),
        Slot(SlotKind.QUANTILE, 0, 9),
        Slot(SlotKind.CATEGORY, 1, 5),
        Slot(SlotKind.BIN, 2, 3),
        Slot(SlotKind.QUANTILE, 2, 30),
    ],
)


AS_THEY_ARE = torch.nn.Identity()
"""Logits given in place of hidden states."""


def tokens_and_logits(rows=4):
    generator = torch.Generator().manual_seed(0)
    local = [torch.randint(slot.size, (rows,), generator=generator) for slot in LAYOUT.slots]
    leaves, values = torch.stack(local[:2], 1).numpy(), torch.stack(local[2:], 1).numpy()
    tokens = torch.from_numpy(LAYOUT.to_tokens(leaves, values))
    return tokens, 3 * torch.randn(rows, LAYOUT.length - 1, LAYOUT.n_vocab, generator=generator)


def loss_of_one_token(z: list[float], t: int, start: int, stop: int, sigma=0.005, m=0.5) -> float:
    """The paper's loss on one token, written as its equations are."""
    if not start <= t < stop:
        return -math.log(math.exp(z[t]) / sum(math.exp(v) for v in z))
    n = stop - start
    weights = [1 + m - math.exp(-((t - i) ** 2) / (n * sigma) ** 2) for i in range(start, stop)]
    ordinal = -math.log(
        weights[t - start] * math.exp(z[t]) / sum(w * math.exp(v) for w, v in zip(weights, z[start:stop], strict=True))
    )
    group = -math.log(sum(math.exp(v) for v in z[start:stop]) / sum(math.exp(v) for v in z))
    return ordinal + group


def test_loss_equals_a_plain_loop_over_the_equations():
    tokens, logits = tokens_and_logits()
    start, stop = LAYOUT.quantile_tokens.start, LAYOUT.quantile_tokens.stop
    expected = [
        loss_of_one_token(logits[r, k].tolist(), int(tokens[r, k + 1]), start, stop)
        for r in range(len(tokens))
        for k in range(LAYOUT.length - 1)
    ]
    loss = RowLoss(LAYOUT, TrainConfig())(logits, tokens, AS_THEY_ARE)
    assert loss.item() == pytest.approx(sum(expected) / len(expected), rel=1e-5)


def test_without_the_ordinal_part_it_is_plain_cross_entropy():
    tokens, logits = tokens_and_logits()
    loss = RowLoss(LAYOUT, TrainConfig(ordinal_loss=0))(logits, tokens, AS_THEY_ARE)
    torch.testing.assert_close(loss, F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()))


def test_leaf_positions_count():
    tokens, logits = tokens_and_logits()
    loss, changed = RowLoss(LAYOUT, TrainConfig()), logits.clone()
    changed[:, : LAYOUT.n_trees] += torch.randn(LAYOUT.n_vocab)
    assert loss(logits, tokens, AS_THEY_ARE) != loss(changed, tokens, AS_THEY_ARE)


def test_weights_are_those_that_the_paper_plots():
    weights = ordinal_weights(1000)
    assert weights[350, 350].item() == pytest.approx(0.5)
    assert weights[350, 355].item() == pytest.approx(1.5 - math.exp(-1))  # nσ = 5 tokens away
    assert weights[350, 360].item() == pytest.approx(1.5 - math.exp(-4))
    assert weights[350, 400].item() == pytest.approx(1.5)
    torch.testing.assert_close(weights, weights.T)


def test_valid_group_loss_is_zero_only_when_all_mass_is_in_the_group():
    logits = torch.tensor([[0.0, 0.0, 0.0, 0.0], [-90.0, 5.0, 5.0, -90.0]])
    torch.testing.assert_close(valid_group_loss(logits, 1, 3), torch.tensor([math.log(2), 0.0]))


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 30), st.integers(0, 10_000), st.floats(0.01, 2.0))
def test_loss_falls_with_the_target_logit_and_rises_with_every_other(n, seed, sigma):
    """The paper's lemma: the optimum is all mass on the target."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(1, n, generator=generator).requires_grad_()
    target = torch.randint(n, (1,), generator=generator)
    ordinal_cross_entropy(logits, target, ordinal_weights(n, sigma=sigma).log()).sum().backward()
    others = torch.ones(n, dtype=torch.bool)
    others[target] = False
    assert logits.grad[0, target] < 0
    assert (logits.grad[0, others] > 0).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(3, 30), st.integers(0, 10_000))
def test_of_two_predictions_with_equal_cross_entropy_the_nearer_one_costs_less(n, seed):
    """The paper's theorem: equal chance on the target, smaller weighted distance → smaller ordinal loss."""
    generator = torch.Generator().manual_seed(seed)
    target = torch.randint(n, (1,), generator=generator)
    others = torch.arange(n)[torch.arange(n) != target]
    chances = torch.rand(n, generator=generator).double()
    by_distance = others[(others - target).abs().argsort(stable=True)]
    near, far = chances.clone(), chances.clone()
    near[by_distance] = chances[others].sort(descending=True).values
    far[by_distance] = chances[others].sort().values
    weights = ordinal_weights(n, sigma=0.3).double()
    losses, distances, plain = [], [], []
    for p in (near, far):
        p = p / p.sum()
        losses.append(ordinal_cross_entropy(p.log()[None], target, weights.log()).item())
        distances.append((p * weights[target[0]]).sum().item())
        plain.append(-p[target].log().item())
    assert plain[0] == pytest.approx(plain[1])
    assert distances[0] <= distances[1] + 1e-12
    assert losses[0] <= losses[1] + 1e-12
    if distances[0] < distances[1] - 1e-9:
        assert losses[0] < losses[1]


def test_rows_without_numbers_have_a_loss():
    layout = TokenLayout.build([], [Slot(SlotKind.CATEGORY, 0, 2)])
    tokens = torch.tensor([[0, 3, 1]])
    loss = RowLoss(layout, TrainConfig())(torch.zeros(1, 2, 5), tokens, AS_THEY_ARE)
    assert loss.item() == pytest.approx(math.log(5))


@pytest.mark.parametrize(("n", "sigma"), [(1000, 0.005), (100, 0.05)])
def test_sigma_says_how_far_near_misses_reach(n, sigma):
    weights = ordinal_weights(n, sigma=sigma)[n // 2]
    near = weights[n // 2 : n // 2 + 11]  # five tokens away, in either case
    assert near[[0, 5, 10]].tolist() == pytest.approx([0.5, 1.5 - math.exp(-1), 1.5 - math.exp(-4)], abs=1e-6)
    layout = TokenLayout.build([], [Slot(SlotKind.BIN, 0, 2), Slot(SlotKind.QUANTILE, 0, n)])
    torch.testing.assert_close(RowLoss(layout, TrainConfig(ordinal_loss=sigma)).log_weights[n // 2].exp(), weights)
