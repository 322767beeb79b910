import math

import pytest
import torch
from torch.nn import functional as F

from tabtreeformer.config.settings import ModelConfig
from tabtreeformer.errors import ConfigError
from tabtreeformer.model import SlotModel, build_network
from tabtreeformer.model.sizes import block_weights, table_rows
from tabtreeformer.tokens import MASK, Slot, SlotKind, TokenLayout

SLOTS = [
    Slot(SlotKind.BIN, 0, 3),
    Slot(SlotKind.QUANTILE, 0, 20),
    Slot(SlotKind.CATEGORY, 1, 4),
    Slot(SlotKind.QUANTILE, 2, 6, atoms=frozenset({0, 3})),
    Slot(SlotKind.CATEGORY, 3, 70),
]
LAYOUT = TokenLayout.build([3, 2, 4], SLOTS)
SMALL = {"width": 16, "feed_forward": 32, "heads": 2, "layers": 2, "softmax": "allowed", "pool": 2}


@pytest.fixture(autouse=True)
def plain_targets(monkeypatch):
    """Learn numbers as they are, so that a loss is a cross-entropy."""
    monkeypatch.setattr("tabtreeformer.model.slot_model.SMOOTHING", 0.0)


def model(layout=LAYOUT, **config) -> SlotModel:
    network = SlotModel(layout, ModelConfig(**{**SMALL, **config}), torch.Generator().manual_seed(0)).eval()
    with torch.no_grad():
        network.bias.normal_(generator=torch.Generator().manual_seed(1))
    return network


def rows(n=7, layout=LAYOUT) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    local = torch.stack([torch.randint(slot.size, (n,), generator=generator) for slot in layout.slots], 1)
    T = layout.n_trees
    return torch.from_numpy(layout.to_tokens(local[:, :T].numpy(), local[:, T:].numpy()))


def step_by_step(network: SlotModel, tokens: torch.Tensor, masked: torch.Tensor) -> torch.Tensor:
    """The loss from the logits of one slot after the other, each from its own prefix."""
    layout = network.layout
    local = torch.from_numpy(layout.value_ids(tokens.numpy()))
    losses = []
    for slot in range(layout.n_values):
        hidden = network.hidden(masked[:, : 1 + layout.n_trees + slot])[:, -1]
        losses.append(F.cross_entropy(network.slot_logits(hidden, slot), local[:, slot], reduction="none"))
    return torch.stack(losses, 1)


@pytest.mark.parametrize("config", [{}, {"pool": 1}, {"pool": 10}])
@torch.no_grad()
def test_loss_is_the_cross_entropy_of_each_slot_over_its_own_ids(config):
    network, tokens = model(**config), rows()
    masked = tokens.clone()
    masked[:, [2, 5, 6]] = MASK
    torch.testing.assert_close(network.loss(masked, None, tokens), step_by_step(network, tokens, masked).mean())


@pytest.mark.parametrize("tabled", [256, 0])
@torch.no_grad()
def test_smoothing_spreads_the_target_of_intervals_over_neighbouring_intervals_only(monkeypatch, tabled):
    monkeypatch.setattr("tabtreeformer.model.slot_heads.MAX_TABLED", tabled)
    plain = model()
    monkeypatch.setattr("tabtreeformer.model.slot_model.SMOOTHING", 1.0)
    smooth = model()
    smooth.load_state_dict(plain.state_dict())
    assert any(head.kernels is not None for head in smooth.heads) == bool(tabled)
    tokens = rows()
    local = torch.from_numpy(LAYOUT.value_ids(tokens.numpy()))
    expected = []
    for slot, facts in enumerate(SLOTS):
        hidden = plain.hidden(tokens[:, : 4 + slot])[:, -1]
        log_chances = torch.log_softmax(plain.slot_logits(hidden, slot), 1)
        for r in range(len(tokens)):
            target = int(local[r, slot])
            if facts.kind != SlotKind.QUANTILE:
                expected.append(-log_chances[r, target].item())
                continue
            low, high = 0, facts.size
            weights = [
                math.exp(-0.5 * (i - target) ** 2) if i == target or not {i, target} & facts.atoms else 0.0
                for i in range(low, high)
            ]
            terms = [w * log_chances[r, i].item() for w, i in zip(weights, range(low, high), strict=True)]
            expected.append(-sum(terms) / sum(weights))
    assert smooth.loss(tokens, None, tokens).item() == pytest.approx(sum(expected) / len(expected), rel=1e-5)


@torch.no_grad()
def test_biases_start_at_the_frequencies():
    network, tokens = model(), rows(400)
    network.start_from(tokens)
    network.head.weight.zero_()
    hidden = network.hidden(tokens[:, :6])[:, -1]
    chances = torch.softmax(network.slot_logits(hidden, 2), 1)[0]
    counts = torch.bincount(torch.from_numpy(LAYOUT.value_ids(tokens.numpy()))[:, 2], minlength=4) + 0.5
    torch.testing.assert_close(chances, (counts / counts.sum()).float())


@torch.no_grad()
def test_pooled_trees_share_a_position_and_each_still_counts():
    network, tokens = model(), rows()
    assert network.hidden(tokens[:, :4]).shape[1] == 1 + 2  # three trees in two positions
    before = network.hidden(tokens[:, :4])[:, -1]
    for tree in range(3):
        changed = tokens.clone()
        changed[:, 1 + tree] = MASK
        assert not torch.allclose(network.hidden(changed[:, :4])[:, -1], before), tree


@torch.no_grad()
def test_folded_and_cached_states_are_the_same():
    network, tokens = model(), rows()
    whole = network.hidden(tokens[:, :-2])  # no slot follows the last value
    network.fold()
    cache = network.new_cache(len(tokens))
    parts = [network.hidden(tokens[:, :4], cache)]
    parts += [network.hidden(tokens[:, 4 + k : 5 + k], cache) for k in range(4)]
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-4, atol=1e-5)


def test_training_forgets_what_was_folded():
    network, tokens = model(), rows()
    network.fold()
    network.train()
    network.loss(tokens, None, tokens).backward()
    assert network.smooth_head.weight.grad.abs().sum() > 0


def test_neighbouring_ids_of_a_number_start_alike():
    network = model()
    with torch.no_grad():
        network.values.weight.zero_()
    table = network.values_table()[4 : 4 + 20]  # the second slot, after three bins and their mask
    distance = torch.cdist(table, table)
    assert distance.diagonal(1).max() < distance[0, 10]


ORDERS = torch.tensor([[2, 3, 0, 1, 4], [4, 0, 1, 2, 3], [0, 1, 2, 3, 4]] * 2 + [[3, 4, 2, 0, 1]])
"""One order a row of seven; the bin of column 0 (slot 0) is always before its quantile (slot 1)."""


@torch.no_grad()
def test_in_any_order_each_slot_is_predicted_from_those_before_it():
    network, tokens = model(), rows()
    masked = tokens.clone()
    masked[:, 5] = MASK
    local = torch.from_numpy(LAYOUT.value_ids(tokens.numpy()))
    losses = []
    for row, order in enumerate(ORDERS.tolist()):
        line = masked[row : row + 1]
        values = line[:, 4:9][:, order]
        for k, slot in enumerate(order):
            hidden = network.hidden(torch.cat([line[:, :4], values[:, :k]], 1), order=ORDERS[row : row + 1])[:, -1]
            logits = network.slot_logits(hidden, slot)
            losses.append(F.cross_entropy(logits, local[row : row + 1, slot]))
    torch.testing.assert_close(network.loss(masked, ORDERS, tokens), torch.stack(losses).mean())


@torch.no_grad()
def test_in_any_order_cached_states_are_the_same_and_the_next_slot_matters():
    network, tokens = model(), rows()
    values = tokens[:, 4:9].gather(1, ORDERS)
    whole = network.hidden(torch.cat([tokens[:, :4], values[:, :4]], 1), order=ORDERS)
    cache = network.new_cache(len(tokens))
    parts = [network.hidden(tokens[:, :4], cache, ORDERS)]
    parts += [network.hidden(values[:, k : k + 1], cache, ORDERS) for k in range(4)]
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-4, atol=1e-5)
    other = network.hidden(tokens[:, :4], order=ORDERS.flip(1))
    assert not torch.allclose(other[:, -1], parts[0][:, -1])
    torch.testing.assert_close(other[:, :-1], parts[0][:, :-1])  # prompts do not know what comes after them


@torch.no_grad()
def test_a_table_without_trees_or_numbers_has_a_model():
    layout = TokenLayout.build([], [Slot(SlotKind.CATEGORY, 0, 2), Slot(SlotKind.CATEGORY, 1, 3)])
    network, tokens = model(layout), rows(5, layout)
    torch.testing.assert_close(network.loss(tokens, None, tokens), step_by_step(network, tokens, tokens).mean())


def test_pooling_needs_the_softmax_of_slots():
    with pytest.raises(ConfigError, match=r"model\.pool=10 needs model\.softmax='allowed'"):
        ModelConfig(pool=10)


@pytest.mark.parametrize("softmax", ["vocabulary", "allowed"])
def test_a_network_has_as_many_weights_as_its_sizes_say(softmax):
    config = ModelConfig(**{**SMALL, "softmax": softmax, "pool": 2 if softmax == "allowed" else 1})
    rows = table_rows(LAYOUT, config)
    extra = 2 * config.width  # the last norm
    if softmax == "allowed":  # the start, the biases, and functions of inputs and of outputs
        extra += config.width + rows["head"] + rows["functions"] * config.width
    tables = sum(rows.values()) * config.width
    assert build_network(LAYOUT, config).n_parameters == tables + config.layers * block_weights(config) + extra
