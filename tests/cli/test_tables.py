"""Tables from anywhere on the command line: the same options for every command."""

import pandas as pd
import pytest

from tabtreeformer import read_table, write_table

SETTINGS = [
    word
    for setting in (
        "tree.trials=0", "tree.params.n_estimators=4", "model.width=16", "model.heads=2", "model.feed_forward=32",
        "model.layers=1", "train.steps=4", "train.batch_size=16",
    )
    for word in ("--set", setting)
]  # fmt: skip


@pytest.fixture
def people(mixed):
    """People of three towns, whose zip codes start with zeros."""
    return mixed.drop(columns="size").assign(zip=mixed["stadt"].map({"Köln": "01234", "Ulm": "00777", "Bern": "89073"}))


def test_a_database_is_learned_by_a_query_and_written_to_a_table(run, people, tmp_path):
    pytest.importorskip("sqlalchemy")
    write_table(people, f"sqlite:///{tmp_path}/shop.db", table="people")
    query = "select stadt, zip, age from people where age > 20"
    code, out, err = run("fit", "sqlite:///shop.db", "--query", query, *SETTINGS)
    assert (code, err.count("ttf:")) == (0, 0), err
    assert "wrote shop.tabtree" in out
    to = ("sample", "shop.tabtree", "-n", 12, "-o", "sqlite:///shop.db", "--table", "new")
    code, out, _ = run(*to)
    assert code == 0
    assert "wrote 12 rows × 3 columns to sqlite:///shop.db" in out
    new = read_table("sqlite:///shop.db", table="new")
    assert new["zip"].isin(people["zip"]).all()
    code, _, err = run(*to)
    assert code == 2
    assert "has a table 'new' already; name another, or replace it with --overwrite" in err
    assert run(*to, "--overwrite", "-q") == (0, "", "")


def test_semicolons_latin_1_and_zip_codes_survive_fit_and_sample(run, people, tmp_path):
    write_table(people, tmp_path / "people.csv", sep=";", encoding="latin-1", decimal=",")
    code, _, err = run("fit", "people.csv", "-o", "m.tabtree", *SETTINGS)
    assert code == 0
    assert err.count("ttf: people.csv is not UTF-8 and was read as cp1252") == 1
    words = ("fit", "people.csv", "-o", "m.tabtree", "--overwrite", "-q", *SETTINGS)
    assert run(*words) == (0, "", "")
    assert run(*words, "--encoding", "latin-1") == (0, "", "")
    assert run("sample", "m.tabtree", "-n", 30, "-o", "new.csv", "--sep", "tab", "--encoding", "utf-16", "-q")[0] == 0
    new = read_table(tmp_path / "new.csv")
    assert new["zip"].isin(people["zip"]).all()
    assert new["stadt"].isin(people["stadt"]).all()
    assert new["height in m"].dtype == "float64"


def test_tables_of_every_kind_are_judged_against_each_other(run, people, tmp_path):
    for extra in ("duckdb", "openpyxl", "pyarrow"):
        pytest.importorskip(extra)
    write_table(people.iloc[:30], tmp_path / "shop.duckdb", table="train")
    write_table(people.iloc[30:45], tmp_path / "shop.duckdb", table="new")
    write_table(people.iloc[45:], tmp_path / "test.xlsx")
    code, out, err = run(
        "evaluate", "shop.duckdb#train", "shop.duckdb#new", "--holdout", "test.xlsx", "--metric", "shape", "--html",
        "r.html",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "shape" in out
    assert "shop.duckdb#new against shop.duckdb#train" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_rows_of_a_database_are_set_aside_in_files_that_keep_types(run, people, tmp_path):
    pytest.importorskip("duckdb")
    write_table(people, tmp_path / "shop.duckdb", table="people")
    assert run("fit", "shop.duckdb", "-o", "m.tabtree", "--holdout", 0.25, "-q", *SETTINGS) == (0, "", "")
    parts = [read_table(tmp_path / f"m.{part}.parquet") for part in ("train", "holdout")]
    assert [len(part) for part in parts] == [45, 15]
    assert pd.concat(parts)["zip"].isin(people["zip"]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "people.csv", "--query", "select 1"], "--query is for duckdb and sql; people.csv is read as csv"),
        (["fit", "people.csv", "--sep", ";;"], "sep must be a single character, got ';;'"),
        (["fit", "people.csv", "--sep", ";"], "there is no column 'age'; the table has"),
        (["fit", "shop.db", "--table", "x"], "name an SQLite file as sqlite:///FILE"),
        (["fit", "sqlite:///shpo.db", "--table", "x"], "there is no file shpo.db; did you mean shop.db?"),
        (["fit", "nosql://me:hunter2@host/db", "--table", "x"], "nosql://***@host/db: no database is known as 'nosql'"),
        (["sample", "m.tabtree", "-n", "3", "-o", "new.duckdb"], "name the table of new.duckdb to write with --table"),
        (["evaluate", "people.csv", "people.cvs"], "people.cvs: the ending must be one of"),
    ],
)  # fmt: skip
def test_a_foreseen_failure_is_one_line_and_leaves_no_file(run, people, tmp_path, arguments, message):
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("duckdb")
    write_table(people, tmp_path / "people.csv")
    (tmp_path / "shop.db").write_bytes(b"")
    before = sorted(p.name for p in tmp_path.iterdir())
    target = ["--target", "age"] if arguments[0] == "fit" else []
    code, out, err = run(*arguments, *target)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err
    assert "hunter2" not in err
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_the_options_are_the_same_for_every_command(run):
    shared = ["--sep", "--encoding", "--quote", "--decimal", "--format"]
    for command, words in {
        "fit": [*shared, "--missing", "--query", "--table", "--sheet"],
        "sample": [*shared, "--table", "--sheet", "--overwrite"],
        "evaluate": [*shared, "--missing"],
    }.items():
        _, out, _ = run(command, "--help")
        for word in words:
            assert word in out, (command, word)


def test_a_folder_is_one_table_and_read_in_parts(run, people, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "people").mkdir()
    (tmp_path / "cache").mkdir()
    for i in range(2):
        write_table(people.iloc[i::2], tmp_path / "people" / f"{i}.parquet")
    arguments = ("--categorical", "age", "--cache-dir", "cache", *SETTINGS)
    code, out, err = run("fit", "people", *arguments)
    assert code == 0, err
    assert f"learned {len(people)} rows × {people.shape[1]} columns" in out
    assert "wrote people.tabtree" in out
    assert not list((tmp_path / "cache").iterdir())
    assert (
        run("fit", "people", "--no-stream", "--overwrite", *SETTINGS)[2].count("read in parts; leave --no-stream out")
        == 1
    )


def test_a_file_is_read_in_parts_when_asked_and_then_not_split(run, people, tmp_path):
    write_table(people, tmp_path / "people.csv")
    assert run("fit", "people.csv", "--stream", "-q", *SETTINGS)[:2] == (0, "")
    code, _, err = run("fit", "people.csv", "--stream", "--holdout", 0.2, "--overwrite", *SETTINGS)
    assert code == 2
    assert "--holdout needs the whole table in memory, and people.csv is read in parts" in err
    code, _, err = run("fit", "people.csv", "--stream", "--cache-dir", "nowhere", "--overwrite", *SETTINGS)
    assert code == 2
    assert "--cache-dir nowhere is not a folder" in err
