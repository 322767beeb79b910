"""Runs of `ttf fit` that end early, go on, or have no room."""

import errno
import os
import signal
import zipfile

import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.fitting.run import Run

TINY = [
    "tree.trials=0", "tree.params.n_estimators=4", "tokens.quantiles=20", "model.width=16", "model.heads=2",
    "model.feed_forward=32", "model.layers=1", "train.steps=6", "train.batch_size=16", "train.validate_every=3",
]  # fmt: skip
SETTINGS = [word for setting in TINY for word in ("--set", setting)]


@pytest.fixture
def fit(run, tmp_path, mixed):
    mixed.to_csv(tmp_path / "people.csv", index=False)
    return lambda *words: run(
        "fit", "people.csv", "--target", "income", "-o", "m.tabtree", "--privacy", "off", *SETTINGS, *words
    )


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def interrupted(monkeypatch, request):
    """Ctrl-C, or a polite request to end, in the second step of the first network."""
    update = Run.update

    def pressing(run):
        if run.history.name == "network 1" and run.history.steps == 1:
            signal.raise_signal(request.param)
        return update(run)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "update", pressing)
        yield patch


def test_an_interrupted_fit_writes_the_best_so_far_and_goes_on(fit, interrupted, tmp_path):
    code, _, err = fit("--resume")  # no seed: that of the run
    assert code == 130
    assert "stopped early; wrote the best so far to m.tabtree; fit with the same command and --resume" in err
    early = TabTreeFormer.load(tmp_path / "m.tabtree", verbose=False).fitted_.record
    assert early["interrupted"]
    assert (tmp_path / "m.tabtree.run").is_dir()
    interrupted.undo()
    code, _, err = fit("--resume")
    assert (code, "continuing the run in m.tabtree.run" in err) == (0, True)
    record = TabTreeFormer.load(tmp_path / "m.tabtree", verbose=False).fitted_.record
    assert record["seed"] == early["seed"]
    assert "interrupted" not in record
    assert not (tmp_path / "m.tabtree.run").exists()


def test_an_interrupted_fit_without_checkpoints_says_how_to_have_them(fit, interrupted, tmp_path):
    code, _, err = fit()
    assert code == 130
    assert "fit with --resume from the start, to be able to continue next time" in err
    assert (tmp_path / "m.tabtree").exists()


def test_an_unfinished_run_is_not_thrown_away(fit, interrupted, tmp_path):
    assert fit("--checkpoint", "run")[0] == 130
    interrupted.undo()
    code, _, err = fit("--checkpoint", "run")
    assert (code, "run holds an unfinished run; continue it with --resume, or delete it" in err) == (2, True)
    assert fit("--checkpoint", "run", "--resume", "--keep-checkpoint")[0] == 0
    assert (tmp_path / "run" / "run.json").exists()


def test_a_full_disk_at_the_end_leaves_no_broken_model_and_the_run_can_go_on(fit, monkeypatch, tmp_path):
    write = zipfile.ZipFile.writestr

    def full(archive, member, *rest, **options):
        if member.filename == "weights_2.safetensors":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(archive, member, *rest, **options)

    (tmp_path / "m.tabtree").write_bytes(b"the one before")
    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "writestr", full)
        code, _, err = fit("--resume", "--overwrite", "--seed", 1)
    assert (code, "cannot write m.tabtree: No space left on device" in err) == (2, True)
    assert (tmp_path / "m.tabtree").read_bytes() == b"the one before"
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "m.tabtree", "m.tabtree.run"}
    monkeypatch.setattr(Run, "update", None)  # nothing is left to train
    assert fit("--resume", "--overwrite", "--seed", 1)[0] == 0
    TabTreeFormer.load(tmp_path / "m.tabtree", verbose=False)


def test_too_little_room_for_the_model_is_said_before_training(fit, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    monkeypatch.setattr(Run, "update", None)
    code, _, err = fit()
    assert (code, "cannot write m.tabtree: it needs about" in err) == (2, True)


def test_a_finished_fit_that_is_run_again_with_resume_says_so(fit, tmp_path):
    assert fit("--resume")[0] == 0
    before = (tmp_path / "m.tabtree").read_bytes()
    code, out, _ = fit("--resume")
    assert (code, "m.tabtree is finished, nothing to continue" in out) == (0, True)
    assert (tmp_path / "m.tabtree").read_bytes() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_training_leaves_no_files(run, tmp_path, mixed, monkeypatch, number):
    mixed.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "cache").mkdir()
    seen = []

    def stop(*rest, **options):
        seen.extend((tmp_path / "cache").iterdir())
        signal.raise_signal(number)

    monkeypatch.setattr("tabtreeformer.fitting.out_of_core.table.draw_sample", stop)
    handler = signal.getsignal(signal.SIGTERM)
    code, _, err = run("fit", "people.csv", "--stream", "--cache-dir", "cache", *SETTINGS)
    assert (code, "ttf: stopped" in err) == (130, True)
    assert len(seen) == 1
    assert not list((tmp_path / "cache").iterdir())
    assert signal.getsignal(signal.SIGTERM) is handler


def test_a_fit_of_trees_can_be_asked_to_resume(run, tmp_path, mixed):
    """There is hardly anything to continue, but nothing goes wrong either."""
    mixed.to_csv(tmp_path / "people.csv", index=False)
    words = ("fit", "people.csv", "--preset", "trees", "--privacy", "off", "-o", "p.tabtree", "--resume", "-q")
    assert run(*words)[0] == 0
    assert (tmp_path / "p.tabtree").exists()
    assert not (tmp_path / "p.tabtree.run").exists()
