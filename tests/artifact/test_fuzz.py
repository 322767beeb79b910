"""Files from strangers: whatever their bytes, they load as they were or raise our error, in bounded time and memory."""

from __future__ import annotations

import contextlib
import copy
import json
import resource
import struct
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tabtreeformer import TabTreeFormer
from tabtreeformer.artifact.archive import read_archive, write_archive
from tabtreeformer.artifact.limits import MEMBERS
from tabtreeformer.cli import app
from tabtreeformer.errors import ArchiveError, TabTreeFormerError

MOST_SECONDS, MOST_MEGABYTES = 20, 1500
"""For a single file, on a busy machine; and by how much the process may grow over all of them."""
TINY = {
    "tree": {"trials": 0, "params": {"n_estimators": 4, "num_leaves": 5}},
    "tokens": {"quantiles": 20, "bins": 4},
    "model": {"width": 16, "feed_forward": 32, "heads": 2, "layers": 1},
    "train": {"steps": 4, "batch_size": 16, "validate_every": 2},
}
NASTY = [
    None, True, False, -1, 0, 1, 2, 7, 255, 2**31, 2**31 - 1, 2**63, 10**12, 10**30, -(10**18), 0.5, 1e308, -1e308,
    1e-308, "", "x", "x" * 5000, "U1000000", "S99999999", "datetime64[ns]", "object", "float128", "category",
    "hf:gpt2", "hf:t5", "../../etc/passwd", "NM", "\x00", [], {}, [[]], [0], [1, 2, 3], {"a": 1}, [10**9] * 50,
    [[0, 10**9]],
]  # fmt: skip


def people() -> pd.DataFrame:
    """Sixty rows of every kind of column."""
    rng, n = np.random.default_rng(0), 60
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "height": np.round(rng.normal(1.7, 0.1, n), 2),
            "town": rng.choice(["Köln", "Ulm", "Bern"], n),
            "size": pd.Categorical(rng.choice(["S", "L"], n), categories=["S", "M", "L"], ordered=True),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D"),
            "key": [f"AB-{k:04d}" for k in rng.permutation(n)],
            "note": [f"met {k} on the way home" for k in rng.permutation(n)],
            "pay": np.where(rng.random(n) < 0.2, np.nan, np.round(rng.normal(9, 2, n), 1)),
        }
    )


@pytest.fixture(scope="module", params=["auto", "S"])
def saved(request, tmp_path_factory):
    """A small model file of each kind of network, and its members."""
    path = tmp_path_factory.mktemp("saved") / "model.tabtree"
    model = TabTreeFormer(request.param, target="town", **TINY, random_state=0, verbose=False, device="cpu")
    model.fit(people()).save(path)
    return path, read_archive(path)


def load(path) -> TabTreeFormer | None:
    """Load, or None where our error says no; anything else fails the test, and so does one that takes too long."""
    started = time.perf_counter()
    try:
        return TabTreeFormer.load(path, device="cpu", verbose=False)
    except TabTreeFormerError:
        return None
    finally:
        assert time.perf_counter() - started < MOST_SECONDS


@pytest.fixture
def bounded():
    """The process grows by no more than so many megabytes, and by no more than one of these files should cost."""
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


def twisted(content, rng: np.random.Generator):
    """Plain data with one of its parts replaced, removed, repeated, or moved to where another was."""
    content = copy.deepcopy(content)
    places = list(walk(content))
    if not places:
        return NASTY[int(rng.integers(len(NASTY)))]
    holder, key = places[int(rng.integers(len(places)))]
    way = rng.integers(5)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, list):
        holder[key:key] = [copy.deepcopy(holder[key])] * int(rng.choice([1, 3, 1000]))
    elif way == 2:
        other, there = places[int(rng.integers(len(places)))]
        holder[key] = copy.deepcopy(other[there])
    elif way == 3 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        holder[key] = holder[key] * float(rng.choice([-1, 0.5, 2, 1000])) + float(rng.choice([0, 1]))
        holder[key] = int(holder[key]) if rng.random() < 0.7 else holder[key]
    else:
        holder[key] = copy.deepcopy(NASTY[int(rng.integers(len(NASTY)))])
    return content


def walk(content):
    """Every part of plain data as (holder, key)."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield content, key
        yield from walk(value)


def twisted_member(name: str, data: bytes, rng: np.random.Generator) -> bytes:
    """A member whose JSON, or whose header of tensors, says something else."""
    if name.endswith(".json"):
        return json.dumps(twisted(json.loads(data), rng)).encode()
    if name.endswith(".safetensors") and rng.random() < 0.7:
        (length,) = struct.unpack_from("<Q", data)
        header = json.dumps(twisted(json.loads(data[8 : 8 + length]), rng)).encode()
        return struct.pack("<Q", len(header)) + header + data[8 + length :]
    return damaged(data, rng)


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
            changed[name] = twisted_member(name, members[name], rng)
        write_archive(tmp_path / "m", changed)
        model = load(tmp_path / "m")
        if model is not None:
            loaded += 1
            assert model.summary()["rows"] is not Ellipsis
    return loaded


def check_asked(members, tmp_path, n: int, seed: int) -> int:
    """Twist plain data and trees; whatever loads answers every question or raises our error, and says what it is."""
    rng, rows = np.random.default_rng(seed), people().head(9)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    names = sorted(name for name in members if not name.endswith(".safetensors"))
    asked = (
        lambda model: model.sample(20, random_state=0),
        lambda model: model.sample(5, given={"age": (30, 50)}, random_state=0),
        lambda model: model.log_prob(rows),
        lambda model: model.predict(rows.drop(columns="town"), target="town"),
        lambda model: model.impute(rows),
        lambda model: model.rules(),
        lambda model: shown("inspect", tmp_path / "m"),
        lambda model: shown("card", tmp_path / "m"),
        lambda model: shown("audit", tmp_path / "m", tmp_path / "rows.csv"),
    )
    loaded = 0
    for _ in range(n):
        name = names[int(rng.integers(len(names)))]
        write_archive(tmp_path / "m", {**members, name: twisted_member(name, members[name], rng)})
        model = load(tmp_path / "m")
        if model is None:
            continue
        loaded += 1
        for ask in asked:
            started = time.perf_counter()
            with contextlib.suppress(TabTreeFormerError):
                ask(model)
            assert time.perf_counter() - started < MOST_SECONDS
    return loaded


def shown(*words) -> None:
    """Run a command; what it raises is raised here."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception


@pytest.mark.usefixtures("bounded")
@pytest.mark.filterwarnings("ignore")
def test_hostile_files_that_load_answer_or_raise_our_error(saved, tmp_path):
    assert check_asked(saved[1], tmp_path, 25, seed=3) > 0


@pytest.mark.long
@pytest.mark.usefixtures("bounded")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(30, 50))
def test_thousands_of_hostile_files_that_load_answer_or_raise_our_error(saved, tmp_path, seed):
    check_asked(saved[1], tmp_path, 250, seed)


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
        ({"codec": lambda c: c["columns"][5]["key"]["pattern"].update(width=10**9)}, "texts of absurd length"),
    ],
)  # fmt: skip
def test_absurd_sizes_and_settings_are_refused_before_they_cost_anything(saved, tmp_path, changes, message):
    started = time.perf_counter()
    with pytest.raises(ArchiveError, match=message):
        TabTreeFormer.load(hostile(saved[1], tmp_path, **changes), device="cpu", verbose=False)
    assert time.perf_counter() - started < MOST_SECONDS


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
        schema[5]["name"] = "\x1b[2Jk\u202eey\x9b"

    path = hostile(saved[1], tmp_path, schema=rename)
    for command in ("inspect", "card"):
        for words in ([], ["--json"]):
            output = CliRunner().invoke(app, [command, str(path), *words]).output
            assert "[2Jk" in output
            assert not {"\x1b", "\u202e", "\x9b"} & set(output)
