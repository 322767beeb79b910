"""What the ids before it say about a slot, in any order and with any of them masked, and how far it is believed."""

import numpy as np
import pytest
import torch

from tabtreeformer.artifact.limits import check_network
from tabtreeformer.config.settings import ModelConfig
from tabtreeformer.errors import ArchiveError
from tabtreeformer.model import SlotModel
from tabtreeformer.model.copula import Copula, CopulaRows
from tabtreeformer.model.fast_decode import PlainRows, SlotRows
from tabtreeformer.tokens import Slot, SlotKind, TokenLayout

SLOTS = (
    Slot(SlotKind.QUANTILE, 0, 20),
    Slot(SlotKind.CATEGORY, 1, 2),
    Slot(SlotKind.QUANTILE, 2, 20),
    Slot(SlotKind.CATEGORY, 3, 5),
    Slot(SlotKind.QUANTILE, 4, 12),
)
LAYOUT = TokenLayout.build((3, 2), SLOTS)
ORDERS = torch.tensor([(2, 4, 0, 1, 3), (0, 1, 2, 3, 4), (3, 4, 1, 2, 0)])


def table(n=500, shuffled=False) -> torch.Tensor:
    """Local ids (n, D) of numbers that follow one another; the fourth slot has nothing to do with the others."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(n, 5))
    z[:, 1] = z[:, 0] + 0.7 * z[:, 1]
    z[:, 2] = 0.9 * z[:, 0] + 0.3 * z[:, 2]
    z[:, 4] = z[:, 2] - z[:, 0] + 0.3 * z[:, 4]
    ids = [(np.argsort(np.argsort(z[:, j])) * slot.size) // n for j, slot in enumerate(SLOTS)]
    if shuffled:
        ids = [rng.permutation(column) for column in ids]
    return torch.from_numpy(np.column_stack(ids))


def network(ids: torch.Tensor, **settings) -> SlotModel:
    config = {"width": 16, "feed_forward": 32, "heads": 2, "layers": 2, "pool": 2, "softmax": "allowed", "copula": True}
    model = SlotModel(LAYOUT, ModelConfig(**{**config, **settings}), torch.Generator().manual_seed(0)).eval()
    model.start_from(tokens_of(ids))
    return model


def tokens_of(ids: torch.Tensor) -> torch.Tensor:
    leaves = np.zeros((len(ids), 2), dtype=np.int64)
    return torch.from_numpy(LAYOUT.to_tokens(leaves, ids.numpy()))


@pytest.fixture(scope="module")
def copula() -> Copula:
    return network(table()).copula


@pytest.mark.parametrize("masked", [(), (0,), (1, 3)])
@torch.no_grad()
def test_what_is_expected_is_the_regression_on_what_is_known(copula, masked):
    ids, orders = table(3), ORDERS
    hidden = torch.zeros(3, 4, dtype=torch.bool)
    hidden[:, list(masked)] = True
    known = ids.gather(1, orders[:, :4])
    found = copula.expect(known, orders, hidden)
    correlations = copula.correlations.double() + 1e-3 * torch.eye(5)
    for row, order in enumerate(orders.tolist()):
        for place, slot in enumerate(order):
            before = [order[k] for k in range(place) if k not in masked]
            z = torch.stack(
                [copula.places[copula.starts[i] + ids[row, i]] for i in before] or [torch.zeros(())]
            ).double()
            weights = torch.linalg.solve(correlations[before][:, before], correlations[before, slot])
            mean = (weights * z[: len(before)]).sum()
            variance = correlations[slot, slot] - weights @ correlations[before, slot]
            expected = torch.stack([0.5 - 0.5 / variance, mean / variance]).float() * copula.gains[slot]
            torch.testing.assert_close(found[row, place], expected, rtol=1e-3, atol=1e-3)


@torch.no_grad()
def test_rows_one_slot_at_a_time_expect_the_same(copula):
    ids = table(3)
    whole = copula.expect(ids.gather(1, ORDERS[:, :4]), ORDERS, torch.zeros(3, 4, dtype=torch.bool))
    rows = CopulaRows(copula, ORDERS, 3)
    for place in range(5):
        torch.testing.assert_close(rows.features(), whole[:, place], rtol=1e-4, atol=1e-5)
        if place < 4:
            rows.push(ids.gather(1, ORDERS[:, place : place + 1])[:, 0])


@pytest.mark.parametrize("cache", [True, False, "plain"])
@torch.inference_mode()
def test_drawing_and_likelihoods_agree(cache):
    ids = table(3)
    model = network(table())
    rows = tokens_of(ids)
    logs = model.log_probs(rows, ORDERS)
    start = rows[:, :3]
    drawn = (
        PlainRows(model, start, ORDERS, cache=True)
        if cache == "plain"
        else model.start_rows(cache=cache)(start, ORDERS)
    )
    assert isinstance(drawn, SlotRows) == (cache is True)
    for place in range(5):
        for row, slot in enumerate(ORDERS[:, place].tolist()):
            own = torch.log_softmax(model.slot_logits(drawn.hidden(), slot)[row], 0)[ids[row, slot]]
            torch.testing.assert_close(own.double(), logs[row, slot], rtol=1e-4, atol=1e-4)
        if place < 4:
            drawn.push(ids.gather(1, ORDERS[:, place : place + 1])[:, 0])


@torch.no_grad()
def test_a_network_that_has_learned_nothing_knows_lines():
    fresh = table(2000)[500:]
    plain, lines = (network(table(), copula=on).log_probs(tokens_of(fresh)).mean(0) for on in (False, True))
    gained = lines - plain
    assert gained[2] > 0.5
    assert gained[4] > 0.15
    assert gained[1] > 0.1
    assert abs(float(gained[0])) < 0.05
    assert abs(float(gained[3])) < 0.05


@torch.no_grad()
def test_columns_that_say_nothing_of_each_other_are_not_believed():
    alone = network(table(shuffled=True)).copula.correlations
    assert float((alone - torch.eye(5)).abs().max()) < 0.1
    assert float((network(table()).copula.correlations - torch.eye(5)).abs().max()) > 0.8
    assert torch.equal(network(table()).copula.gains[3], torch.zeros(2))


def test_correlations_of_no_table_are_recognised(copula):
    assert copula.is_sound()
    broken = Copula(LAYOUT)
    broken.correlations[:] = torch.eye(5)
    broken.correlations[0, 1] = broken.correlations[1, 0] = 1.5
    assert not broken.is_sound()
    broken.correlations[0, 1], broken.correlations[1, 0] = 0.5, 0.4
    assert not broken.is_sound()


def test_files_with_such_correlations_are_refused():
    model = network(table())
    check_network(model)
    model.copula.correlations[0, 1] += 0.1
    with pytest.raises(ArchiveError, match="correlations of its columns"):
        check_network(model)
