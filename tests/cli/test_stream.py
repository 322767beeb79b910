import json

import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer, open_chunks, read_table
from tabtreeformer.sampling.streaming import run as streaming_run
from tabtreeformer.sampling.streaming import work


@pytest.fixture
def model(run, tmp_path, mixed, tiny):
    settings = {name: tiny[name] for name in ("tree", "model", "train", "sampling")}
    TabTreeFormer(target="income", **settings, random_state=0, verbose=False).fit(mixed).save(tmp_path / "m.tabtree")
    return tmp_path / "m.tabtree"


def test_many_rows_are_streamed_and_are_the_same_rows(run, model, tmp_path, monkeypatch):
    run("sample", model, "-n", 5000, "-o", "few.csv", "--seed", 3)
    monkeypatch.setattr(streaming_run, "MANY", 4999)
    streamed = []
    write = work.PartWriter.write
    monkeypatch.setattr(work.PartWriter, "write", lambda self, k: streamed.append(k) or write(self, k))
    code, out, _ = run("sample", model, "-n", 5000, "-o", "many.csv", "--seed", 3)
    assert code == 0
    assert "wrote 5,000 rows × 6 columns to many.csv (" in out
    assert streamed == [0, 1]
    assert (tmp_path / "many.csv").read_bytes() == (tmp_path / "few.csv").read_bytes()
    code, out, _ = run("sample", model, "-n", 5000, "-o", "book.xlsx", "-q")
    assert code == 0
    assert streamed == [0, 1]  # what cannot be streamed is written as before


def test_a_run_that_ended_early_is_taken_up(run, model, tmp_path, monkeypatch):
    command = ["sample", model, "-n", 9000, "-o", "rows.parquet", "--batch-size", 4096]
    with monkeypatch.context() as patch:
        write = work.PartWriter.write

        def stop(self, number):
            if number == 1:
                raise KeyboardInterrupt
            return write(self, number)

        patch.setattr(work.PartWriter, "write", stop)
        code, _, _ = run(*command, "-q")
    assert code == 130
    code, _, err = run(*command, "-q")
    assert code == 2
    assert "an unfinished run to rows.parquet is there; continue it with resume=True (--resume)" in err
    state = json.loads((tmp_path / ".rows.parquet.parts" / "run.json").read_text())
    assert state["n"] == 9000
    code, out, _ = run(*command, "--resume")
    assert code == 0
    assert "wrote 9,000 rows" in out
    assert len(read_table(tmp_path / "rows.parquet")) == 9000
    assert not (tmp_path / ".rows.parquet.parts").exists()


def test_a_folder_takes_parts_from_two_processes(run, model, tmp_path):
    code, _, err = run(
        "sample", model, "-n", 9000, "-o", "rows/", "--seed", 3, "--workers", 2, "--balance", "income", "-q"
    )
    assert (code, err) == (0, "")
    parts = sorted((tmp_path / "rows").glob("part*"))
    assert [part.name for part in parts] == [f"part-0000{k}.parquet" for k in range(3)]
    rows = pd.concat([read_table(part) for part in parts])
    assert rows["income"].value_counts().tolist() == [4500, 4500]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["-o", "a.xlsx", "--workers", "2"], "can be streamed to parquet, csv, jsonl, not to excel"),
        (["-o", "a.csv", "--engine", "spark"], "engine must be one of processes, ray"),
        (["-o", "a.csv", "--workers", "0"], "workers must be a whole number of at least 1"),
        (["-o", "a.csv", "--batch-size", "0"], "batch_size must be at least 1"),
    ],
)
def test_what_cannot_be_is_one_line(run, model, words, fault):
    code, _, err = run("sample", model, "-n", 10, *words)
    assert code == 2
    assert fault in err
    assert err.count("\n") == 1


def test_a_finished_folder_that_is_asked_for_again_says_so(run, model, tmp_path):
    command = ["sample", model, "-n", 9000, "-o", "rows/", "--batch-size", 4096]
    assert run(*command)[0] == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "rows").iterdir()}
    for words in ([], ["--resume"]):  # no seed was chosen: any seed is the same request
        code, out, err = run(*command, *words)
        assert (code, out) == (0, "")
        assert "rows is complete: all 9,000 rows are there, nothing to do" in err
    for other in (["--seed", 4], ["-n", 9001]):
        code, _, err = run(*command, *other)
        assert (code, "cannot write rows: the folder holds rows of another run" in err) == (2, True)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "rows").iterdir()} == before
    assert sum(len(part) for part in open_chunks(tmp_path / "rows")) == 9000  # the note of the run is no part


def test_a_finished_file_that_is_resumed_says_so(run, model, tmp_path):
    command = ["sample", model, "-n", 10, "-o", "rows.csv", "--resume"]
    assert run(*command)[0] == 0
    before = (tmp_path / "rows.csv").read_bytes()
    code, out, _ = run(*command)
    assert (code, out) == (0, "rows.csv is complete, nothing to continue; write it again with --overwrite\n")
    assert (tmp_path / "rows.csv").read_bytes() == before
