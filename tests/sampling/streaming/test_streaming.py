"""Rows in blocks: the same whatever the batch, the file, the process and the interruption."""

import datetime
import json
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from tabtreeformer import TabTreeFormer, ge, isin, read_table, write_table
from tabtreeformer.errors import ConfigError, OutputError
from tabtreeformer.sampling import BLOCK
from tabtreeformer.sampling.streaming import PartWork, SampleRequest, work

ROWS = 9_000


def test_a_table_of_several_blocks_is_whole(whole):
    assert len(whole) == ROWS
    assert whole.index.equals(pd.RangeIndex(ROWS))
    for key in ("id", "code", "customer"):
        assert whole[key].is_unique, key
    assert whole["id"].min() > 80
    assert (whole["id"].diff().iloc[1:] == 1).all()
    assert not whole["age"].iloc[:BLOCK].reset_index(drop=True).equals(whole["age"].iloc[BLOCK : 2 * BLOCK])


def test_whole_blocks_are_the_same_whatever_is_asked_for_after_them(streamed, whole):
    assert_frame_equal(streamed.sample(BLOCK, random_state=5), whole.iloc[:BLOCK])
    assert_frame_equal(streamed.sample(2 * BLOCK + 1, random_state=5).iloc[: 2 * BLOCK], whole.iloc[: 2 * BLOCK])


@pytest.mark.parametrize("batch_size", [700, BLOCK, ROWS, 20_000])
def test_batches_of_any_size_are_the_rows_of_sample(streamed, whole, batch_size):
    batches = list(streamed.iter_sample(ROWS, batch_size, random_state=5))
    assert [len(batch) for batch in batches[:-1]] == [batch_size] * (len(batches) - 1)
    assert_frame_equal(pd.concat(batches), whole)


def test_a_batch_is_written_before_the_next_is_asked_for(streamed):
    batches = streamed.iter_sample(10**9, 100, random_state=5)
    assert len(next(batches)) == 100
    batches.close()


def test_a_wrong_question_is_refused_before_the_first_batch(streamed):
    with pytest.raises(ConfigError, match="batch_size must be at least 1"):
        streamed.iter_sample(10, 0)
    with pytest.raises(ConfigError, match="give one of given, balance, mix and leaf"):
        streamed.iter_sample(10, given={}, balance="town")


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "rows.csv.gz", "rows.jsonl"])
def test_a_file_holds_the_rows_of_sample(streamed, whole, tmp_path, name):
    streamed.sample_to(tmp_path / name, ROWS, random_state=5, batch_size=BLOCK)
    write_table(whole, tmp_path / f"whole-{name}")
    assert_frame_equal(read_table(tmp_path / name), read_table(tmp_path / f"whole-{name}"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, f"whole-{name}"]


def test_a_folder_takes_parts(streamed, whole, tmp_path):
    streamed.sample_to(f"{tmp_path}/rows/", ROWS, random_state=5, batch_size=1)
    parts = sorted((tmp_path / "rows").glob("part*"))
    assert [part.name for part in parts] == [f"part-0000{k}.parquet" for k in range(3)]
    assert_frame_equal(pd.concat([read_table(part) for part in parts], ignore_index=True), whole)
    with pytest.raises(OutputError, match="the folder holds rows of another run"):
        streamed.sample_to(f"{tmp_path}/rows/", 10)
    streamed.sample_to(f"{tmp_path}/texts/", ROWS, random_state=5, batch_size=BLOCK, format="csv", sep=";")
    parts = sorted((tmp_path / "texts").glob("part*"))
    assert [len(read_table(part)) for part in parts] == [BLOCK, BLOCK, ROWS - 2 * BLOCK]  # each with its own header


def test_rows_without_a_seed_differ(streamed, tmp_path):
    for name in ("one.parquet", "two.parquet"):
        streamed.sample_to(tmp_path / name, 50)
    assert not read_table(tmp_path / "one.parquet").equals(read_table(tmp_path / "two.parquet"))


@pytest.mark.parametrize(
    "asked",
    [
        {"given": {"town": "Ulm", "age": (30, 50)}},
        {"given": {"since": ge(datetime.date(2024, 3, 1)), "note": None}},
        {"balance": "town"},
        {"mix": {"town": {"Ulm": 0.25, "Bern": 0.75}}},
    ],
)
def test_questions_stream_too(streamed, tmp_path, asked):
    streamed.sample_to(tmp_path / "rows.parquet", 5_000, random_state=5, **asked)
    rows = read_table(tmp_path / "rows.parquet")
    assert_frame_equal(rows, streamed.sample(5_000, random_state=5, **asked), check_dtype=False)
    for key in ("id", "code", "customer"):
        assert rows[key].is_unique
    counts = rows["town"].value_counts()
    if "balance" in asked:
        assert counts.max() - counts.min() <= 1
        first = rows["town"].iloc[:BLOCK].value_counts()
        assert first.max() - first.min() < 20  # every block has its share
    elif "mix" in asked:
        assert counts.to_dict() == {"Ulm": 1250, "Bern": 3750}
    elif "town" in asked["given"]:
        assert set(rows["town"]) == {"Ulm"}
        assert rows["age"].between(30, 50).all()
    else:
        assert (rows["since"] >= "2024-03-01").all()
        assert rows["note"].isna().all()


def test_partial_rows_are_completed_in_turn_over_blocks(streamed):
    partial = pd.DataFrame({"town": ["Ulm", "Bern", "Köln"]})
    rows = streamed.sample(5_000, random_state=5, given=partial)
    assert rows["town"].tolist() == (["Ulm", "Bern", "Köln"] * 1667)[:5_000]
    assert rows["id"].is_unique
    assert rows.index.equals(pd.RangeIndex(5_000))


def test_a_request_is_read_back_from_plain_data():
    asked = SampleRequest(
        n=7,
        seed=np.random.SeedSequence(2**70, spawn_key=(3,)),
        given={"a": (1, np.int64(2)), "b": isin(["x"]), 3: ge(pd.Timestamp("2024-01-01")), "d": pd.Timedelta("2h")},
    )
    again = SampleRequest.from_json(json.loads(json.dumps(asked.to_json())))
    assert again.given == asked.given
    assert again.seed.generate_state(2).tolist() == asked.seed.generate_state(2).tolist()
    mixed = SampleRequest(n=1, seed=asked.seed, mix={"c": {True: 0.5, False: 0.5}})
    assert SampleRequest.from_json(json.loads(json.dumps(mixed.to_json()))).mix == mixed.mix


def interrupted_after(parts, monkeypatch):
    """Let writing fail after so many parts, as Ctrl-C does."""
    write, written = work.PartWriter.write, []

    def stop(self, number):
        if len(written) == parts:
            raise KeyboardInterrupt
        written.append(number)
        return write(self, number)

    monkeypatch.setattr(work.PartWriter, "write", stop)
    return written


@pytest.mark.parametrize("target", ["rows.parquet", "rows.csv", "rows/"])
def test_an_interrupted_run_goes_on_after_its_whole_parts(streamed, tmp_path, monkeypatch, target):
    settings = {"n": ROWS, "random_state": 5, "batch_size": BLOCK}
    streamed.sample_to(tmp_path / "undisturbed.parquet", **settings)
    with monkeypatch.context() as patch:
        interrupted_after(2, patch)
        with pytest.raises(KeyboardInterrupt):
            streamed.sample_to(f"{tmp_path}/{target}", **settings)
    assert not (tmp_path / target).exists()
    with pytest.raises(OutputError, match="continue it with resume=True"):
        streamed.sample_to(f"{tmp_path}/{target}", **settings)
    with pytest.raises(ConfigError, match="has a different n, seed"):
        streamed.sample_to(f"{tmp_path}/{target}", resume=True, n=10, random_state=6)
    written = interrupted_after(99, monkeypatch)
    streamed.sample_to(f"{tmp_path}/{target}", resume=True, **settings)
    assert written == [2]
    path = tmp_path / target
    paths = sorted(path.glob("part*")) if path.is_dir() else [path]
    rows = pd.concat([read_table(p) for p in paths], ignore_index=True)
    expected = read_table(tmp_path / "undisturbed.parquet")
    assert rows.astype(str)["income"].equals(expected.astype(str)["income"])
    assert rows["code"].astype(str).equals(expected["code"].astype(str))


def test_another_model_does_not_go_on_with_a_run(streamed, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupted_after(1, patch)
        with pytest.raises(KeyboardInterrupt):
            streamed.sample_to(tmp_path / "rows.parquet", ROWS, batch_size=BLOCK)
    streamed.save(tmp_path / "model.tabtree")
    same = TabTreeFormer.load(tmp_path / "model.tabtree", verbose=False)
    same.set_params(sampling={"temperature_category": 3.0, "batch_size": 64})
    with pytest.raises(ConfigError, match="has a different model"):
        same.sample_to(tmp_path / "rows.parquet", ROWS, resume=True)
    same = TabTreeFormer.load(tmp_path / "model.tabtree", verbose=False)
    same.sample_to(tmp_path / "rows.parquet", ROWS, resume=True)  # nobody chose a seed: that of the run holds
    assert read_table(tmp_path / "rows.parquet")["code"].is_unique


def test_a_killed_process_leaves_what_another_can_go_on_with(streamed, whole, tmp_path):
    streamed.save(tmp_path / "model.tabtree")
    code = (
        "import sys; from tabtreeformer import TabTreeFormer; TabTreeFormer.load(sys.argv[1], verbose=False)"
        ".sample_to(sys.argv[2], 2_000_000, random_state=5, batch_size=4096)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, tmp_path / "model.tabtree", tmp_path / "rows.parquet"])
    parts = tmp_path / ".rows.parquet.parts"
    deadline = time.monotonic() + 900
    while not (parts / "part-00001.parquet").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert not (tmp_path / "rows.parquet").exists()
    for number in range(2):
        part = read_table(parts / f"part-{number:05d}.parquet")
        assert_frame_equal(part, whole.iloc[number * BLOCK : (number + 1) * BLOCK].reset_index(drop=True))


def test_what_cannot_be_streamed_to_is_said_before_rows_are_drawn(streamed, tmp_path):
    with pytest.raises(ConfigError, match="can be streamed to parquet, csv, jsonl, not to excel"):
        streamed.sample_to(tmp_path / "rows.xlsx", 10)
    with pytest.raises(OutputError, match="does not exist"):
        streamed.sample_to(tmp_path / "nowhere" / "rows.csv", 10)
    with pytest.raises(ConfigError, match="utf-16 cannot be joined"):
        streamed.sample_to(tmp_path / "rows.csv", 10, encoding="utf-16")


@pytest.mark.parametrize("workers", [2])
def test_worker_processes_write_the_same_rows(streamed, whole, tmp_path, workers):
    streamed.sample_to(tmp_path / "rows.parquet", ROWS, random_state=5, workers=workers, batch_size=BLOCK)
    assert_frame_equal(read_table(tmp_path / "rows.parquet"), whole)


def test_a_table_of_partial_rows_stays_in_one_process(streamed, tmp_path):
    with pytest.raises(ConfigError, match="in one process"):
        streamed.sample_to(tmp_path / "rows.parquet", 10, given=pd.DataFrame({"town": ["Ulm"]}), workers=2)


def test_the_name_by_which_engines_find_the_work_is_right():
    module, _, name = work.WORK.partition(":")
    assert getattr(sys.modules[module], name) is PartWork
