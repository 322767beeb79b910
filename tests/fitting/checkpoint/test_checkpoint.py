import dataclasses
import errno
import os
import signal
import threading
import zipfile

import numpy as np
import pandas as pd
import pytest
import torch

from tabtreeformer import TabTreeFormer
from tabtreeformer._runtime.progress import Silent
from tabtreeformer.config.settings import Config, ModelConfig, TrainConfig
from tabtreeformer.errors import ConfigError, EndedEarlyWarning, OutputError
from tabtreeformer.fitting import Resources
from tabtreeformer.fitting.batches import Batches
from tabtreeformer.fitting.checkpoint import folder as checkpoint
from tabtreeformer.fitting.checkpoint.folder import RunFolder
from tabtreeformer.fitting.checkpoint.resuming import fingerprint
from tabtreeformer.fitting.interrupt import ending_on_interrupt
from tabtreeformer.fitting.run import Run
from tabtreeformer.fitting.stopping import Allowance
from tabtreeformer.fitting.trainer import train_networks
from tabtreeformer.fitting.validation import Validation
from tabtreeformer.tokens import Slot, SlotKind, TokenLayout

LAYOUT = TokenLayout.build(
    [3, 2], [Slot(SlotKind.BIN, 0, 4), Slot(SlotKind.QUANTILE, 0, 9), Slot(SlotKind.CATEGORY, 1, 5)]
)
MODEL = ModelConfig(width=16, feed_forward=32, heads=2, layers=1)


class Notes(Silent):
    def __init__(self):
        self.notes = []

    def note(self, message):
        self.notes.append(message)


def train(folder=None, model=MODEL, side_by_side=None, **config):
    rng = np.random.default_rng(0)
    local = np.stack([rng.integers(slot.size, size=41) for slot in LAYOUT.slots], axis=1)
    tokens = LAYOUT.to_tokens(local[:, :2], local[:, 2:])
    config = TrainConfig(**{"steps": 24, "batch_size": 8, "validate_every": 4, "patience": 3, **config})
    resources = Resources(device=torch.device("cpu"), folder=folder or RunFolder(), side_by_side=side_by_side)
    return train_networks(LAYOUT, tokens, Config(model=model, train=config), np.random.SeedSequence(0), resources)


def same(one, other):
    for a, b in zip(one.models, other.models, strict=True):
        assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    without = [{**h.to_json(), "seconds": 0} for h in one.histories]
    assert without == [{**h.to_json(), "seconds": 0} for h in other.histories]


class Killed(BaseException):
    """What no code of ours catches."""


def killing_after(monkeypatch, n_steps):
    """Let so many steps pass, over all stages, then fall dead."""
    update, count = Run.update, iter(range(10**6))

    def mortal(run):
        if next(count) >= n_steps:
            raise Killed
        return update(run)

    monkeypatch.setattr(Run, "update", mortal)


@pytest.mark.parametrize("n_steps", [1, 6, 27])
@pytest.mark.parametrize(
    "config",
    [
        {},
        {"matrix_rate": 0.1, "side_by_side": True},
        {"precision": "fp16"},
        {"restore_best": False, "shared_share": 0.5},
    ],
    ids=["plain", "Muon side by side", "half precision", "last weights"],
)
def test_a_run_cut_after_any_step_ends_as_if_it_had_not_been(tmp_path, monkeypatch, n_steps, config):
    model = dataclasses.replace(MODEL, dropout=0.0 if "side_by_side" in config else 0.1)
    whole = train(model=model, **config)
    with monkeypatch.context() as patch:
        killing_after(patch, n_steps)
        with pytest.raises(Killed):
            train(RunFolder.at(tmp_path / "run", 0.0), model=model, **config)
    same(train(RunFolder.at(tmp_path / "run", 0.0), model=model, **config), whole)


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path, monkeypatch):
    whole, notes = train(), Notes()
    with monkeypatch.context() as patch:
        killing_after(patch, 9)
        with pytest.raises(Killed):
            train(RunFolder.at(tmp_path / "run", 0.0))
    newest = tmp_path / "run" / "network_1.checkpoint"
    newest.write_bytes(newest.read_bytes()[:-200])
    same(train(RunFolder.at(tmp_path / "run", 0.0, notes.note)), whole)
    assert any("left out a damaged checkpoint" in note for note in notes.notes)


def test_a_killed_run_takes_up_its_work_and_does_not_start_again(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        killing_after(patch, 20)
        with pytest.raises(Killed):
            train(RunFolder.at(tmp_path / "run", 0.0), shared_share=0.5, side_by_side=False)
    taken, update = [], Run.update
    monkeypatch.setattr(Run, "update", lambda run: taken.append(1) or update(run))
    trained = train(RunFolder.at(tmp_path / "run", 0.0), shared_share=0.5, side_by_side=False)
    assert len(taken) == sum(history.steps for history in trained.histories) - 20


def interrupting_after(monkeypatch, n_steps, name="network 1"):
    update = Run.update

    def interrupted(run):
        if run.history.name == name and run.history.steps == n_steps:
            signal.raise_signal(signal.SIGINT)
        return update(run)

    monkeypatch.setattr(Run, "update", interrupted)


@pytest.mark.parametrize("name", ["shared start", "network 1", "network 2"])
def test_an_interrupt_ends_with_the_best_so_far_and_the_run_can_go_on(tmp_path, monkeypatch, name):
    config = {"shared_share": 0.3, "side_by_side": False}
    whole = train(**config)
    with monkeypatch.context() as patch:
        interrupting_after(patch, 5, name)
        ended = train(RunFolder.at(tmp_path / "run"), **config)
    assert ended.interrupted
    assert not whole.interrupted
    assert sum(h.steps for h in ended.histories) < sum(h.steps for h in whole.histories)
    same(train(RunFolder.at(tmp_path / "run"), **config), whole)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_stops_at_once(monkeypatch):
    monkeypatch.setattr(Validation, "read", lambda *_: signal.raise_signal(signal.SIGINT))
    interrupting_after(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        train(side_by_side=False)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_program_with_its_own_handler_keeps_it():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        with ending_on_interrupt(threading.Event(), Silent()):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [1]


def test_a_job_in_the_background_whose_ctrl_c_is_ignored_still_ends_on_sigterm():
    asked = threading.Event()
    before = [signal.signal(signal.SIGINT, signal.SIG_IGN), signal.signal(signal.SIGTERM, signal.default_int_handler)]
    try:
        with ending_on_interrupt(asked, Silent()):
            signal.raise_signal(signal.SIGINT)
            assert not asked.is_set()
            signal.raise_signal(signal.SIGTERM)
            assert asked.is_set()
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])


def test_a_full_disk_costs_a_checkpoint_and_not_the_run(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    notes = Notes()
    same(train(RunFolder.at(tmp_path / "run", 0.0, notes.note)), train())
    assert "No space left on device" in notes.notes[0]
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["clock.json"]


def test_too_little_room_for_checkpoints_is_said_before_training(tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 10_000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(OutputError, match="checkpoints in .*run.*MiB free; make room"):
        train(RunFolder.at(tmp_path / "run"))


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    with pytest.raises(OutputError, match="cannot make the checkpoint folder"):
        RunFolder.at(tmp_path / "none" / "run")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot make the checkpoint folder"):
        RunFolder.at(tmp_path / "file")


@pytest.mark.parametrize("name", ["clock.json", "run.json", "net.checkpoint"])
def test_a_folder_with_files_of_somebody_else_that_have_our_names_is_refused(tmp_path, name):
    (tmp_path / name).write_text("[]")
    with pytest.raises(ConfigError, match=f"{name} is not of a fit"):
        RunFolder.at(tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "[]")]


def test_checkpoints_grow_rarer_where_writing_is_slow(tmp_path, monkeypatch):
    now = iter(np.arange(0, 10_000, 4.0))  # every look at the clock is four seconds later
    stage = RunFolder.at(tmp_path / "run", 60.0).stage("shared")
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: next(now))
    stage._last = 0.0
    stage.save({})
    looks = next(i for i in range(10_000) if stage.due)
    assert looks * 4 >= 4 / checkpoint.MAX_SHARE - 8


def test_batches_go_on_where_they_were():
    one, other = (Batches(10, np.random.default_rng(0)) for _ in range(2))
    taken = [one.take(4) for _ in range(5)]
    assert [len(batch) for batch in taken] == [4, 4, 2, 4, 4]
    assert sorted(np.concatenate(taken[:3])) == list(range(10))
    other.go_on(one.to_json())
    for _ in range(4):
        assert np.array_equal(one.take(3), other.take(3))


def test_time_of_an_earlier_life_counts():
    allowance = Allowance(100.0).after(50.0)
    assert allowance.elapsed == pytest.approx(50, abs=1)
    assert allowance.used == pytest.approx(1 / 3, abs=0.02)


def test_a_fingerprint_follows_values_order_names_and_dtypes(mixed):
    assert fingerprint(mixed) == fingerprint(mixed.copy())
    changed = mixed.copy()
    changed.loc[3, "age"] += 1
    others = [changed, mixed[::-1], mixed.rename(columns={"age": "years"}), mixed.astype({"age": "int32"})]
    assert len({fingerprint(frame) for frame in [mixed, *others]}) == 5


@pytest.fixture
def stopped(tmp_path, tiny, mixed):
    """A run of fit that was interrupted, its settings and its folder."""
    patch = pytest.MonkeyPatch()
    interrupting_after(patch, 1)
    model = TabTreeFormer("S", "income", **tiny, privacy="off", device="cpu", random_state=0, verbose=False)
    with pytest.warns(EndedEarlyWarning, match="fit again with the same checkpoint_dir to be able to continue"):
        model.fit(mixed, checkpoint_dir=tmp_path / "run")
    patch.undo()
    assert model.fitted_.record["interrupted"]
    assert len(model.sample(5)) == 5
    return model, tmp_path / "run"


def test_a_run_goes_on_only_as_it_was_started(stopped, mixed):
    model, run = stopped
    steps = model.train["steps"]
    model.set_params(train={**model.train, "steps": 7})
    with pytest.raises(ConfigError, match=rf"cannot be continued: train\.steps was {steps} and is 7; fit as"):
        model.fit(mixed, checkpoint_dir=run)
    model.set_params(train={**model.train, "steps": steps}, random_state=1)
    with pytest.raises(ConfigError, match="seed was '0' and is '1'"):
        model.fit(mixed, checkpoint_dir=run)
    model.set_params(random_state=0)
    with pytest.raises(ConfigError, match="the table is another one"):
        model.fit(pd.concat([mixed, mixed[:1]]), checkpoint_dir=run)


@pytest.mark.parametrize("keep", [False, True])
def test_a_run_that_ended_well_leaves_nothing_unless_asked(stopped, mixed, keep):
    model, run = stopped
    model.set_params(random_state=None).fit(mixed, checkpoint_dir=run, keep_checkpoint=keep)
    assert model.fitted_.record["seed"] == "0"  # that of the run
    assert "interrupted" not in model.fitted_.record
    assert run.exists() == keep


def test_the_checkpoint_folder_is_for_its_owner_only_and_files_of_others_in_it_stay(stopped, mixed):
    model, run = stopped
    assert run.stat().st_mode & 0o077 == 0
    (run / "mine.txt").write_text("x")
    model.fit(mixed, checkpoint_dir=run)
    assert [file.name for file in run.iterdir()] == ["mine.txt"]
