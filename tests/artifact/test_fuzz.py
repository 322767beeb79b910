"""Files from strangers: whatever their bytes, they load as they were or raise our error, in bounded time and memory."""

from __future__ import annotations

import json
import resource
import struct
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from tabtreeformer import TabTreeFormer
from tabtreeformer.artifact.archive import read_archive, write_archive
from tabtreeformer.artifact.limits import MEMBERS
from tabtreeformer.cli import app
from tabtreeformer.errors import ArchiveError, TabTreeFormerError

from .fuzz_archives import made_of, run
from .hostile import changed_member
from .hostile_models import QUIET, TINY, people

MOST_SECONDS, MOST_MEGABYTES = 20, 1500
"""For a single file, on a busy machine; and by how much the process may grow over all of them."""


@pytest.fixture(scope="module", params=["auto", "S"])
def saved(request, tmp_path_factory):
    """A small model file of each kind of network, and its members."""
    path = tmp_path_factory.mktemp("saved") / "model.tabtree"
    model = TabTreeFormer(request.param, target="town", **TINY, **QUIET)
    model.fit(people()).save(path)
    return path, read_archive(path)


def load(path) -> TabTreeFormer | None:
    """Load, or None where our error says no; anything else fails the test, and so does one that takes too long."""
    started = time.process_time()
    try:
        return TabTreeFormer.load(path, device="cpu", verbose=False)
    except TabTreeFormerError:
        return None
    finally:
        assert time.process_time() - started < MOST_SECONDS


@pytest.fixture
def bounded():
    """The process grows by at most `MOST_MEGABYTES`."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < MOST_MEGABYTES


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip, cut, splice, repeat or overwrite."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        # Half of the damage goes to the end of the file, where the zip keeps its list of members.
        start = max(len(changed) - 1200, 0) if rng.random() < 0.5 else 0
        a, b = sorted(rng.integers(start, max(len(changed), start + 1), 2).tolist())
        way = rng.integers(6)
        if way == 0:
            for place in rng.integers(start, max(len(changed), start + 1), 3).tolist():
                changed[place : place + 1] = bytes([int(rng.integers(256))])
        elif way == 1:
            del changed[a:]
        elif way == 2:
            del changed[a : a + int(rng.integers(1, 50))]
        elif way == 3:
            changed[a:a] = data[b : b + int(rng.integers(1, 400))]
        elif way == 4:
            changed[a : a + 4] = struct.pack("<L", int(rng.choice([0, 1, 2**31, 2**32 - 1])))
        else:
            changed[a : a + 1] = bytes([changed[a] ^ (1 << int(rng.integers(8)))]) if a < len(changed) else b""
    return bytes(changed)


def check_damaged(path, tmp_path, n: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    data, members = path.read_bytes(), read_archive(path)
    loaded = 0
    for _ in range(n):
        (tmp_path / "m").write_bytes(damaged(data, rng))
        if load(tmp_path / "m") is not None:
            loaded += 1
            assert read_archive(tmp_path / "m", MEMBERS) == members  # what still loads is what it was
    return loaded


def check_twisted(members, tmp_path, n: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    names, loaded = sorted(members), 0
    for _ in range(n):
        changed = dict(members)
        for name in rng.choice(names, int(rng.integers(1, 3)), replace=False).tolist():
            changed[name] = changed_member(name, members[name], rng)
        write_archive(tmp_path / "m", changed)
        model = load(tmp_path / "m")
        if model is not None:
            loaded += 1
            assert model.summary()["rows"] is not Ellipsis
    return loaded


FAST = ("S", "database", "decision tree", "private", "sequences", "trees", "xgboost")


@pytest.mark.filterwarnings("ignore")
def test_hostile_files_of_some_kinds_of_models_answer_or_raise_our_error(tmp_path):
    """A few of those that `make test-long` makes ten thousand of, of models that are fitted fast."""
    facts = run([k for k in range(200) if made_of(k)[0] in FAST][:28], tmp_path)
    assert len(facts) == 28
    assert sum(bool(fact["loaded"]) for fact in facts) > 3
    assert [fact for fact in facts if fact["broken"]] == []


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, 10_000, 500))
def test_ten_thousand_hostile_files_answer_or_raise_our_error(tmp_path, start):
    assert [fact for fact in run(range(start, start + 500), tmp_path) if fact["broken"]] == []


@pytest.mark.usefixtures("bounded")
def test_damaged_files_load_as_they_were_or_raise_our_error(saved, tmp_path):
    check_damaged(saved[0], tmp_path, 300, seed=1)


@pytest.mark.usefixtures("bounded")
def test_hostile_files_with_right_checksums_load_or_raise_our_error(saved, tmp_path):
    assert check_twisted(saved[1], tmp_path, 200, seed=2) > 0  # some changes mean nothing


@pytest.mark.long
@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("seed", range(10, 15))
def test_thousands_of_damaged_files(saved, tmp_path, seed):
    check_damaged(saved[0], tmp_path, 1000, seed)


@pytest.mark.long
@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("seed", range(20, 25))
def test_thousands_of_hostile_files(saved, tmp_path, seed):
    check_twisted(saved[1], tmp_path, 1000, seed)


# ---- the worst that we can think of


def hostile(members, tmp_path, **changes):
    """Write the model with parts of its JSON members changed by functions."""
    changed = dict(members)
    for name, change in changes.items():
        content = json.loads(changed[f"{name}.json"])
        changed[f"{name}.json"] = json.dumps(change(content) or content).encode()
    write_archive(tmp_path / "m", changed)
    return tmp_path / "m"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": lambda c: c["model"].update(layers=10**9)}, "model.layers"),
        ({"config": lambda c: c["model"].update(layers=900)}, "model.layers asks for"),
        ({"config": lambda c: c["model"].update(width=10**6, heads=1)}, "asks for"),
        ({"config": lambda c: c["model"].update(feed_forward=10**12)}, "model.layers asks for"),
        ({"config": lambda c: c["model"].update(backbone="hf:gpt2", width=10**6, heads=1)}, "asks for"),
        ({"config": lambda c: c["model"].update(backbone_options={"attn_implementation": "a/b"})}, "no model file"),
        ({"config": lambda c: c["model"].update(backbone_options={"n_ctx": 10**9})}, "no model file may set"),
        ({"config": lambda c: c["sampling"].update(batch_size=10**15)}, "sampling.batch_size"),
        ({"tree": lambda t: t.update(n_leaves=[10**12])}, "asks for|do not fit"),
        ({"tree": lambda t: t.update(n_leaves=[1] * 200_000)}, "trees"),
        ({"tree": lambda t: t.update(n_leaves=7)}, "do not fit together"),
        ({"tree": lambda t: t.update(n_leaves=[-5, 3, 3, 3])}, "has -5 ids"),
        ({"schema": lambda s: s[2].update(dtype="U100000000")}, "which no table has"),
        ({"schema": lambda s: s[1].update(name="age")}, "share them"),
        ({"record": lambda r: r.pop("preset") and r}, "record does not say preset"),
        ({"codec": lambda c: c["columns"][7]["key"]["pattern"].update(width=10**9)}, "texts of absurd length"),
    ],
)  # fmt: skip
def test_absurd_sizes_and_settings_are_refused_before_they_cost_anything(saved, tmp_path, changes, message):
    started = time.process_time()
    with pytest.raises(ArchiveError, match=message):
        TabTreeFormer.load(hostile(saved[1], tmp_path, **changes), device="cpu", verbose=False)
    assert time.process_time() - started < MOST_SECONDS


def test_weights_that_are_no_numbers_are_refused(saved, tmp_path):
    import safetensors.torch

    weights = safetensors.torch.load(saved[1]["weights_1.safetensors"])
    next(iter(weights.values())).view(-1)[0] = float("nan")
    write_archive(tmp_path / "m", {**saved[1], "weights_1.safetensors": safetensors.torch.save(weights)})
    with pytest.raises(ArchiveError, match="not all finite"):
        TabTreeFormer.load(tmp_path / "m", device="cpu", verbose=False)


@pytest.mark.parametrize("kind", [np.int64, np.float32])
def test_prompts_of_another_kind_or_of_other_leaves_are_refused(saved, tmp_path, kind):
    import safetensors.numpy

    prompts = safetensors.numpy.load(saved[1]["prompts.safetensors"])
    for change in (lambda ids: ids.astype(kind), lambda ids: ids + 99, lambda ids: ids[:, 1:].copy()):
        changed = {name: change(ids) for name, ids in prompts.items()}
        write_archive(tmp_path / "m", {**saved[1], "prompts.safetensors": safetensors.numpy.save(changed)})
        with pytest.raises(ArchiveError, match="its prompts"):
            TabTreeFormer.load(tmp_path / "m", device="cpu", verbose=False)


def test_no_control_character_of_a_file_reaches_a_terminal(saved, tmp_path):
    def rename(schema):
        schema[7]["name"] = "\x1b[2Jk\u202eey\x9b"

    path = hostile(saved[1], tmp_path, schema=rename)
    for command in ("inspect", "card"):
        for words in ([], ["--json"]):
            output = CliRunner().invoke(app, [command, str(path), *words]).output
            assert "[2Jk" in output
            assert not {"\x1b", "\u202e", "\x9b"} & set(output)


def test_trees_that_write_without_their_settings_are_refused(tmp_path):
    TabTreeFormer("trees", privacy="off", **QUIET).fit(people()[["age", "town"]]).save(tmp_path / "m")
    path = hostile(read_archive(tmp_path / "m"), tmp_path, config=lambda c: c.update(forest=None))
    with pytest.raises(ArchiveError, match="no settings of them"):
        TabTreeFormer.load(path, device="cpu", verbose=False)
