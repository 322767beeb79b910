import itertools

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn import functional as F

from tabtreeformer import TabTreeFormer
from tabtreeformer.config.presets import PRESETS
from tabtreeformer.config.settings import ModelConfig
from tabtreeformer.errors import ConfigError
from tabtreeformer.model import MaskedModel, build_network
from tabtreeformer.model.smooth_tables import SmoothTable
from tabtreeformer.sampling.sampler import Sampler
from tabtreeformer.tokens import MASK, Slot, SlotKind, TokenLayout

LAYOUT = TokenLayout.build(
    [3, 2],
    [
        Slot(SlotKind.CATEGORY, 0, 2),
        Slot(SlotKind.BIN, 1, 2),
        Slot(SlotKind.QUANTILE, 1, 3),
        Slot(SlotKind.CATEGORY, 2, 2),
    ],
)
SMALL = ModelConfig(width=16, feed_forward=32, heads=2, layers=2, dropout=0.0, pool=2, softmax="masked")


def model() -> MaskedModel:
    network = build_network(LAYOUT, SMALL, torch.Generator().manual_seed(0)).eval()
    assert isinstance(network, MaskedModel)
    with torch.no_grad():
        for weight in network.parameters():
            weight += 0.3 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1))
    return network


def all_rows() -> torch.Tensor:
    """Every row of the slots, after one prompt."""
    ids = np.array(list(itertools.product(*(range(slot.size) for slot in LAYOUT.value_slots))))
    return torch.from_numpy(LAYOUT.to_tokens(np.tile([2, 1], (len(ids), 1)), ids))


@torch.no_grad()
def test_probabilities_of_all_rows_sum_to_one_in_any_order() -> None:
    network, rows = model(), all_rows()
    for order in ([0, 1, 2, 3], [3, 1, 2, 0], [1, 2, 3, 0]):
        orders = torch.tensor(order).expand(len(rows), -1)
        assert float(network.log_probs(rows, orders).sum(1).exp().sum()) == pytest.approx(1, abs=1e-5)


@torch.no_grad()
def test_a_slot_sees_what_is_known_on_both_sides_and_nothing_that_is_hidden() -> None:
    network, rows = model(), all_rows()[:1]
    prompts, values = rows[:, 1:3], rows[:, 3:-1].clone()
    values[:, 1] = MASK
    before = network.filled(prompts, values)[:, 1]
    for slot in (0, 2, 3):
        other = values.clone()
        other[:, slot] = values[:, slot] + 1
        assert not torch.allclose(network.filled(prompts, other)[:, 1], before, atol=1e-3)
    order = torch.tensor([[0, 3, 1, 2]])
    states = network.hidden(rows[:, : 3 + 4], order=order)[:, network.n_prompts :]
    hidden = rows[:, 3:-1].clone()
    hidden[:, [1, 2]] = MASK
    inputs = torch.cat([rows[:, :3], rows[:, 3:-1].gather(1, order)], dim=1)
    states = network.hidden(inputs[:, : 3 + 2], order=order)[:, network.n_prompts :]
    assert torch.allclose(states[:, 2], network.filled(prompts, hidden)[:, 1], atol=1e-5)


@torch.no_grad()
def test_the_loss_is_that_of_the_slots_after_a_place_that_moves_from_row_to_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tabtreeformer.model.slot_model.SMOOTHING", 0.0)
    network, rows = model(), all_rows()[:7]
    orders = torch.stack([torch.randperm(4, generator=torch.Generator().manual_seed(i)) for i in range(7)])
    masked = rows.clone()
    masked[2, 4] = MASK
    expected = []
    for i in range(7):
        later = orders[i, i % 4 :]
        values = masked[i : i + 1, 3:-1].clone()
        values[:, later] = MASK
        states = network.filled(masked[i : i + 1, 1:3], values)
        local = LAYOUT.value_ids(rows[i : i + 1].numpy())[0]
        losses = [
            F.cross_entropy(network.slot_logits(states[:, s], s), torch.tensor([local[s]])) for s in later.tolist()
        ]
        expected.append(torch.stack(losses).mean())
    assert torch.allclose(network.row_losses(masked, orders, rows), torch.stack(expected), atol=1e-5)
    assert torch.allclose(network.loss(masked, orders, rows), torch.stack(expected).mean(), atol=1e-5)


def test_rows_are_filled_column_by_column_in_a_random_order() -> None:
    sampler = Sampler(model(), PRESETS["S"].sampling)
    rng = np.random.default_rng(0)
    orders = {tuple(sampler._random_order((), rng)[0].tolist()) for _ in range(60)}
    assert orders == {tuple(itertools.chain(*columns)) for columns in itertools.permutations([(0,), (1, 2), (3,)])}, (
        "all orders of the columns, the bin always before its quantile"
    )
    assert sampler._random_order((3, 0), rng)[0].tolist() == [3, 0, 1, 2]
    seen = []
    sampler._random_order = lambda first, rng: seen.append(first) or np.array([[3, 0, 1, 2]])  # type: ignore[method-assign]
    sampler.draw(np.zeros((5, 2), dtype=np.int64), rng, lambda n: None)
    assert seen == [()]


def dependent(n: int = 400) -> pd.DataFrame:
    """A number, its sign and the opposite of it."""
    x = np.random.default_rng(0).normal(size=n).round(2)
    return pd.DataFrame({"sign": np.where(x > 0, "plus", "minus"), "x": x, "opposite": np.where(x > 0, "no", "yes")})


def test_a_masked_network_learns_how_columns_depend_on_each_other() -> None:
    learned = TabTreeFormer(
        "auto", "opposite", random_state=0, verbose=False, privacy="off", model={"softmax": "masked"}
    ).fit(dependent())
    rows = learned.sample(200, random_state=1)
    agree = (rows["sign"] == "plus") == (rows["opposite"] == "no")
    assert agree.mean() > 0.95
    assert ((rows["x"] > 0) == (rows["sign"] == "plus")).mean() > 0.9
    assert (learned.sample(20, given={"sign": "plus"}, random_state=1)["sign"] == "plus").all()


def test_raw_values_stand_beside_the_ids_of_numbers_at_the_input_only() -> None:
    centres = (1.0, 2.0, 4.0, 9.0)
    layout = TokenLayout.build([], [Slot(SlotKind.QUANTILE, 0, 5, centres=centres), Slot(SlotKind.CATEGORY, 1, 3)])
    config = ModelConfig(width=8, feed_forward=8, heads=2, layers=1, functions=3, softmax="allowed", dropout=0.0)
    raw = ModelConfig(**{**vars(config), "quantile_embedding": "raw"})
    table = SmoothTable(layout, raw, 1, None, raw=True)
    values = table.functions()[:4, 3].double()
    assert np.corrcoef(values, centres)[0, 1] == pytest.approx(1), "the missing value's id is at the mean"
    assert float(values.std()) > 0.9
    counts = [sum(p.numel() for p in build_network(layout, c).parameters()) for c in (config, raw)]
    assert counts[1] - counts[0] == config.width


def test_only_networks_that_can_take_them_have_these_settings() -> None:
    with pytest.raises(ConfigError, match="raw"):
        ModelConfig(quantile_embedding="raw")
    with pytest.raises(ConfigError, match="gpt2"):
        ModelConfig(softmax="masked", backbone="hf:llama")
