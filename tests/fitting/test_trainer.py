import dataclasses
import math
import time
import types

import numpy as np
import pytest
import torch

from tabtreeformer._runtime.progress import Silent
from tabtreeformer.config.settings import Config, ModelConfig, TrainConfig
from tabtreeformer.errors import TabTreeFormerError
from tabtreeformer.fitting import Resources, control, preparation, stopping
from tabtreeformer.fitting.orders import draw_orders
from tabtreeformer.fitting.request import Request
from tabtreeformer.fitting.run import Run
from tabtreeformer.fitting.split import split_rows
from tabtreeformer.fitting.stopping import EarlyStopping
from tabtreeformer.fitting.trainer import shared_steps, train_networks
from tabtreeformer.fitting.update import Updater
from tabtreeformer.fitting.validation import Validation
from tabtreeformer.model import RowLoss
from tabtreeformer.tokens import Slot, SlotKind, TokenLayout

LAYOUT = TokenLayout.build(
    [3, 2], [Slot(SlotKind.BIN, 0, 4), Slot(SlotKind.QUANTILE, 0, 9), Slot(SlotKind.CATEGORY, 1, 5)]
)
MODEL = ModelConfig(width=16, feed_forward=32, heads=2, layers=1)


def rows(n=41):
    rng = np.random.default_rng(0)
    local = np.stack([rng.integers(slot.size, size=n) for slot in LAYOUT.slots], axis=1)
    local[:, 4] = local[:, 3] % 5  # something to learn
    return LAYOUT.to_tokens(local[:, :2], local[:, 2:])


def train(seed=0, n=41, progress=None, model=MODEL, seconds=math.inf, tokens=None, side_by_side=None, **config):
    config = Config(model=model, train=TrainConfig(**{"steps": 10, "batch_size": 8, "validate_every": 4, **config}))
    resources = Resources(
        device=torch.device("cpu"), progress=progress or Silent(), seconds=seconds, side_by_side=side_by_side
    )
    tokens = rows(n) if tokens is None else tokens
    return train_networks(LAYOUT, tokens, config, np.random.SeedSequence(seed), resources)


@pytest.mark.parametrize(
    ("n_rows", "expected"), [(120, 20), (614, 100), (844, 140), (39_000, 500)]  # iris, diabetes, qsar-biodeg, adult
)  # fmt: skip
def test_shared_steps_are_twenty_passes_or_a_tenth_of_all(n_rows, expected):
    assert shared_steps(n_rows, TrainConfig()) == expected


@pytest.mark.parametrize(("softmax", "expected"), [("vocabulary", [2, 6, 10, 14]), ("allowed", [4, 8, 12, 14])])
def test_the_papers_validations_are_at_multiples_counted_from_the_first_shared_step(softmax, expected):
    model = dataclasses.replace(MODEL, softmax=softmax)
    trained = train(steps=20, shared_share=0.3, validate_every=4, patience=99, model=model)
    assert trained.histories[0].steps == 6
    assert [step for step, *_ in trained.histories[1].validations] == expected


def test_halves_are_even_random_and_complete():
    (one, other_one), (two, other_two) = split_rows(7, np.random.default_rng(0))
    assert (len(one), len(two)) == (3, 4)
    assert sorted([*one, *two]) == list(range(7))
    assert np.array_equal(one, other_two)
    assert np.array_equal(two, other_one)
    assert not np.array_equal(one, split_rows(7, np.random.default_rng(1))[0][0])


@pytest.mark.parametrize("model", [MODEL, dataclasses.replace(MODEL, softmax="allowed")])
def test_rows_on_disk_train_the_same_networks_as_rows_in_memory(tmp_path, model):
    rows().astype(np.int16).tofile(tmp_path / "rows")
    on_disk = train(tokens=np.memmap(tmp_path / "rows", np.int16, "r+", shape=rows().shape), model=model)
    for one, other in zip(train(model=model).models, on_disk.models, strict=True):
        for weight, same in zip(one.parameters(), other.parameters(), strict=True):
            assert torch.equal(weight, same)


@pytest.mark.parametrize(
    ("losses", "stops_after"),
    [([3, 2, 1, 0], None), ([1, 2, 2, 2, 0], 4), ([1, 2, 2, 0.5, 2, 2, 2], 7), ([1, 1, 1, 1], 4)],
)
def test_patience_counts_validations_in_a_row_without_a_better_loss(losses, stops_after):
    stopping = EarlyStopping(patience=3)
    stopped = None
    for count, loss in enumerate(losses, start=1):
        stopping.improved(loss)
        if stopping.stop:
            stopped = count
            break
    assert stopped == stops_after


def test_two_networks_are_trained_after_a_shared_start_and_differ():
    trained = train()
    assert [h.name for h in trained.histories] == ["shared start", "network 1", "network 2"]
    assert [h.steps for h in trained.histories] == [1, 9, 9]
    assert [len(own) for own, _ in trained.parts] == [20, 21]
    assert [v[0] for v in trained.histories[1].validations] == [3, 7, 9]
    weights = [m.embedding.weight for m in trained.models]
    assert not torch.equal(*weights)


def test_the_same_seed_gives_the_same_weights_and_leaves_the_global_state_alone():
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    one = train(seed=1)
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.manual_seed(6)
    same, other = train(seed=1), train(seed=2)
    for a, b in zip(one.models, same.models, strict=True):
        assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    assert one.histories[1].validations == same.histories[1].validations
    assert one.histories[1].validations != other.histories[1].validations


@pytest.mark.parametrize("softmax", ["vocabulary", "allowed"])
def test_side_by_side_gives_the_same_weights_as_one_after_the_other(softmax):
    model = dataclasses.replace(MODEL, dropout=0.0, softmax=softmax)
    one, two = (train(model=model, steps=30, side_by_side=side) for side in (True, False))
    for a, b in zip(one.models, two.models, strict=True):
        assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    assert [h.validations for h in one.histories] == [h.validations for h in two.histories]


def test_a_failure_side_by_side_ends_both(monkeypatch):
    update = Run.update

    def fail(run):
        if run.history.name == "network 2":
            raise TabTreeFormerError("no more")
        return update(run)

    monkeypatch.setattr(Run, "update", fail)
    started = time.process_time()
    with pytest.raises(TabTreeFormerError, match="no more"):
        train(steps=10**7, patience=10**7, side_by_side=True)
    assert time.process_time() - started < 60


@pytest.mark.parametrize("side_by_side", [True, False])
def test_training_ends_in_time_with_the_best_weights_so_far(side_by_side):
    started = time.process_time()
    trained = train(steps=10**6, patience=10**6, seconds=2.0, side_by_side=side_by_side)
    assert time.process_time() - started < 10.0  # two seconds of the clock are at most four of two cores
    for history in trained.histories[1:]:
        assert 0 < history.steps < 10**6
        assert history.best_step is not None
        assert history.validations[-1][0] == history.steps


@pytest.mark.parametrize("budget_seconds", [200, 400])
def test_what_follows_the_last_step_has_a_reserve_in_the_budget(budget_seconds, monkeypatch):
    now = [0.0]  # a row takes a second to learn and a fifth of it to validate
    step, losses = Updater._step, Validation._losses

    def slow_step(updater, batch, prepared):
        now[0] += len(batch)
        return step(updater, batch, prepared)

    def slow_losses(validation, prepared, others):
        now[0] += len(others) / 5
        return losses(validation, prepared, others)

    clock = types.SimpleNamespace(perf_counter=lambda: now[0], monotonic=lambda: now[0])
    monkeypatch.setattr(control, "time", clock)
    monkeypatch.setattr(stopping, "time", clock)
    monkeypatch.setattr(Updater, "_step", slow_step)
    monkeypatch.setattr(Validation, "_losses", slow_losses)
    seconds = Request(preset="S", overrides={}, budget_seconds=budget_seconds).seconds_to_train
    trained = train(steps=1000, patience=1000, seconds=seconds, side_by_side=False)
    assert seconds <= now[0] <= budget_seconds
    assert all(history.validations[-1][0] == history.steps for history in trained.histories[1:])


@pytest.mark.parametrize(("budget_seconds", "seconds"), [(None, math.inf), (10, 7.5), (3600, 3570)])
def test_the_reserve_is_a_share_of_the_budget_with_a_maximum(budget_seconds, seconds):
    request = Request(preset="S", overrides={}, budget_seconds=budget_seconds)
    assert request.seconds_to_train == pytest.approx(seconds)


def test_the_rate_rises_at_first_and_falls_once_over_shared_start_and_networks(monkeypatch):
    rates = []
    monkeypatch.setattr("tabtreeformer.fitting.run.set_rate", lambda optimizer, share: rates.append(share))
    monkeypatch.setattr("tabtreeformer.fitting.run.WARMUP", 4)
    train(steps=40, patience=99, shared_share=0.5, matrix_rate=0.01)
    shared, first = rates[:20], rates[20:40]
    assert shared[:4] == pytest.approx([0.25, 0.4875, 0.7125, 0.925])
    assert shared[-1] == pytest.approx(0.525)
    assert first[0] == pytest.approx(0.25 * 0.5)
    assert first[4:] == pytest.approx(np.linspace(0.4, 0.025, 16))


def test_validation_can_be_limited_to_some_rows(monkeypatch):
    seen = []
    original = Validation.read
    monkeypatch.setattr(
        Validation, "read", lambda validation, step: seen.append(len(validation.others)) or original(validation, step)
    )
    train(validation_rows=7)
    assert set(seen) == {7}


def test_orders_keep_the_slots_of_a_column_together():
    orders = draw_orders(200, LAYOUT, np.random.default_rng(0))
    assert {tuple(order) for order in orders.tolist()} == {(0, 1, 2), (2, 0, 1)}


def test_a_share_of_the_rows_keeps_the_order_of_the_table():
    orders = draw_orders(2000, LAYOUT, np.random.default_rng(0), table_orders=0.6)
    kept = (orders == [0, 1, 2]).all(1).mean()
    assert kept == pytest.approx(0.6 + 0.4 / 2, abs=0.03)  # of two columns, half of the shuffled rows have it too


def test_training_draws_orders_by_its_settings(monkeypatch):
    seen = []
    monkeypatch.setattr(
        preparation,
        "draw_orders",
        lambda n, layout, rng, share: seen.append(share) or draw_orders(n, layout, rng, share),
    )
    train(steps=2, table_orders=0.25, model=dataclasses.replace(MODEL, softmax="allowed"))
    assert set(seen) == {0.25}


def test_training_lowers_the_loss():
    history = train(steps=150, n=60, validate_every=10, learning_rate=5e-3, patience=99).histories[1]
    assert history.validations[-1][1] < history.validations[0][1] - 0.3


def test_each_network_sees_its_own_half_and_is_validated_on_the_other(monkeypatch):
    seen: list[tuple[str, torch.Tensor]] = []
    original = Run._prepare
    monkeypatch.setattr(
        Run,
        "_prepare",
        lambda run, batch, rng: seen.append((run.history.name, batch)) or original(run, batch, rng),
    )
    trained = train(steps=40, validate_every=100)
    tokens = torch.from_numpy(rows())
    for j, name in enumerate(("network 1", "network 2")):
        validation, *batches = [batch for run, batch in seen if run == name]
        own = {tuple(r) for r in tokens[trained.parts[j][0]].tolist()}
        assert {tuple(r) for batch in batches for r in batch.tolist()} == own
        assert torch.equal(validation, tokens[trained.parts[j][1]])


def test_validation_always_uses_the_same_masks(monkeypatch):
    monkeypatch.setattr(Updater, "_step", lambda updater, batch, prepared: 1.0)  # weights never change
    losses = [v[2] for v in train(steps=30).histories[1].validations]
    assert len(losses) > 2
    assert len(set(losses)) == 1


def fake_losses(monkeypatch, losses):
    """Replace the validation loss by a script and note the weights at each."""
    script, weights = iter(losses), []

    def losses(validation):
        weights.append(validation.network.embedding.weight.detach().clone())
        return np.full(len(validation.others), next(script))

    monkeypatch.setattr(Validation, "losses_of_others", losses)
    return weights


def test_best_weights_are_kept_and_training_stops_early(monkeypatch):
    weights = fake_losses(monkeypatch, [3.0, 1.0, 2.0, 2.0, 2.0] * 2)
    trained = train(steps=1000, validate_every=2, patience=3)
    assert trained.histories[1].steps == 10
    assert trained.histories[1].best_step == 4
    assert torch.equal(trained.models[0].embedding.weight, weights[1])
    assert torch.equal(trained.models[1].embedding.weight, weights[6])


def test_last_weights_are_kept_when_asked_for(monkeypatch):
    weights = fake_losses(monkeypatch, [1.0, 2.0, 3.0, 4.0, 5.0] * 2)
    trained = train(steps=10, validate_every=2, patience=100, restore_best=False)
    assert trained.histories[1].best_step is None
    assert torch.equal(trained.models[0].embedding.weight, weights[4])


def test_the_learning_rate_falls_in_a_line_to_zero(monkeypatch):
    rates = []
    original = Updater._step
    monkeypatch.setattr(
        Updater,
        "_step",
        lambda updater, *rest: rates.append(updater.optimizer.param_groups[0]["lr"]) or original(updater, *rest),
    )
    train(steps=5, shared_share=0.0, learning_rate=1.0)
    assert rates[:5] == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2])
    assert rates[5:] == rates[:5]  # a new schedule for each half


def test_out_of_memory_halves_the_batch_and_goes_on(monkeypatch):
    original, notes = Updater._step, []

    def step(updater, batch, prepared):
        if len(batch) > 3:
            raise torch.OutOfMemoryError("full")
        return original(updater, batch, prepared)

    class Notes(Silent):
        def note(self, message):
            notes.append(message)

    monkeypatch.setattr(Updater, "_step", step)
    trained = train(progress=Notes(), steps=20)
    assert [h.batch_size for h in trained.histories] == [2, 2, 2]
    assert trained.histories[1].steps == 18
    assert notes[0] == "shared start: out of memory, continuing with batches of 4"


def test_no_memory_for_a_single_row_is_an_error(monkeypatch):
    def step(*_):
        raise torch.OutOfMemoryError("full")

    monkeypatch.setattr(Updater, "_step", step)
    with pytest.raises(TabTreeFormerError, match="no memory for a single row; choose a smaller model"):
        train()


def test_a_loss_that_is_no_number_is_an_error(monkeypatch):
    monkeypatch.setattr(RowLoss, "forward", lambda self, hidden, *rest: hidden.sum() * float("nan"))
    with pytest.raises(TabTreeFormerError, match=r"shared start: the loss became nan; lower train\.learning_rate"):
        train()


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_mixed_precision_trains(precision):
    config = {"steps": 60, "validate_every": 15, "learning_rate": 5e-3, "shared_share": 0.0}
    half = train(precision=precision, **config)
    full = train(precision="fp32", **config)
    assert all(p.dtype == torch.float32 for p in half.models[0].parameters())
    first, *_, last = [v[2] for v in half.histories[0].validations]
    assert last < first
    assert last == pytest.approx(full.histories[0].validations[-1][2], rel=0.1)
    assert last != full.histories[0].validations[-1][2]
