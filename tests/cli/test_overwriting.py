"""A file that a command reads is never written, and an existing file only with --overwrite."""

import contextlib
import os
import sqlite3

import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer, write_table

TINY = [
    "tree.trials=0", "tree.params.n_estimators=2", "tokens.quantiles=10", "model.width=8", "model.heads=2",
    "model.feed_forward=8", "model.layers=1", "train.steps=2", "train.batch_size=16", "train.validate_every=2",
]  # fmt: skip
SETTINGS = [word for setting in TINY for word in ("--set", setting)]


@pytest.fixture
def folder(tmp_path, mixed):
    """A table, new rows and a model."""
    mixed.to_csv(tmp_path / "people.csv", index=False)
    mixed.to_csv(tmp_path / "new.csv", index=False)
    sections = {"tree": {"trials": 0, "params": {"n_estimators": 2}}, "model": {"width": 8, "heads": 2, "layers": 1}}
    model = TabTreeFormer("auto", "income", **sections, train={"steps": 2}, privacy="off", verbose=False)
    model.fit(mixed).save(tmp_path / "m.tabtree")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "target"),
    [
        (["fit", "people.csv", "-o", "people.csv"], "people.csv"),
        (["fit", "people.train.csv", "-o", "people.tabtree", "--holdout", "0.2"], "people.train.csv"),
        (["fit", "people.csv", "--schema", "s.json", "-o", "s.json"], "s.json"),
        (["sample", "m.tabtree", "-n", "5", "-o", "m.tabtree", "--format", "csv"], "m.tabtree"),
        (["sample", "m.tabtree", "-n", "5", "-o", "m.tabtree", "--format", "csv", "--workers", "2"], "m.tabtree"),
        (["impute", "m.tabtree", "people.csv", "-o", "people.csv"], "people.csv"),
        (["impute", "m.tabtree", "people.csv", "-o", "link.csv"], "link.csv"),
        (["score", "m.tabtree", "people.csv", "-o", "./people.csv"], "people.csv"),
        (["predict", "m.tabtree", "people.csv", "-o", "people.csv"], "people.csv"),
        (["evaluate", "people.csv", "new.csv", "--html", "new.csv"], "new.csv"),
        (["evaluate", "people.csv", "new.csv", "--holdout", "people.train.csv", "--json", "people.train.csv"], "train"),
        (["benchmark", "people.csv", "--target", "income", "-o", "people.csv"], "people.csv"),
        (["benchmark", "people.csv", "--target", "income", "--results", "people.csv"], "people.csv"),
        (["schema", "people.csv", "-o", "people.csv"], "people.csv"),
        (["card", "m.tabtree", "-o", "m.tabtree"], "m.tabtree"),
        (["fit", "symbolic.csv", "-o", "people.csv"], "people.csv"),
        (["fit", "people.csv", "-o", "symbolic.csv"], "symbolic.csv"),
        (["fit", "people.csv", "-o", "here/people.csv"], "people.csv"),
        (["fit", "parts", "-o", "parts/a.csv"], "a.csv"),
        (["fit", "parts", "-o", "here/parts/b.csv"], "b.csv"),
        (["fit", "tables", "-o", "tables/parent.csv"], "parent.csv"),
        (["fit", "tables", "-o", "here/tables/child.csv"], "child.csv"),
        (["fit", "sqlite:///shop.db#people", "-o", "shop.db"], "shop.db"),
        (["score", "m.tabtree", "parts", "-o", "parts/a.csv"], "a.csv"),
        (["schema", "tables", "-o", "tables/parent.csv"], "parent.csv"),
        (["evaluate", "sqlite:///shop.db#people", "new.csv", "--json", "shop.db"], "shop.db"),
        (["sample", "m.tabtree", "-n", "5", "-o", "new.csv", "--keys", "income=new.csv"], "new.csv"),
        (["benchmark", "people.csv", "--target", "income", "--generators", "auto,new.py", "-o", "new.py"], "new.py"),
        (["fit", "duckdb:", "--query", "select * from 'parts/*.csv'", "-o", "parts/b.csv"], "b.csv"),
        (["schema", "duckdb:", "--query", 'select * from "people.csv"', "-o", "people.csv"], "people.csv"),
        (["fit", "parts", "--checkpoint", "parts", "-o", "p.tabtree"], "parts"),
        (["score", "m.tabtree", "sqlite:///shop.db#people", "-o", "sqlite:///shop.db#People"], "'People'"),
        (["score", "m.tabtree", "sqlite:///shop.db#people", "-o", "sqlite:///shop.db#main.people"], "main.people"),
        (["score", "m.tabtree", "sqlite:///shop.db#seen", "-o", "sqlite:///shop.db#people"], "'people'"),
    ],
)
def test_what_is_read_is_never_written(run, folder, words, target):
    """By its name, another path to it, or a link; a file, a part of a folder, or a database."""
    if "shop.db" in "".join(words):
        pytest.importorskip("sqlalchemy")
    run("schema", "people.csv", "-o", "s.json", "-q")
    beside(folder)
    before = contents(folder)
    code, _, err = run(*words, "--overwrite")
    assert code == 2
    assert "it is an input of this command; name another" in err
    assert target in err
    assert contents(folder) == before


def beside(folder):
    """Links, a table in parts, tables that belong together, and a database, beside the files of `folder`."""
    people = (folder / "people.csv").read_bytes()
    (folder / "people.train.csv").write_bytes(people)
    os.link(folder / "people.csv", folder / "link.csv")
    (folder / "new.py").write_text("class Generator: ...")
    (folder / "symbolic.csv").symlink_to("people.csv")
    (folder / "here").symlink_to(".")
    for name in ("parts", "tables"):
        (folder / name).mkdir()
    for name in ("a.csv", "b.csv"):
        (folder / "parts" / name).write_bytes(people)
    pd.DataFrame({"id": range(40), "kind": ["a", "b"] * 20}).to_csv(folder / "tables" / "parent.csv", index=False)
    child = pd.DataFrame({"id": range(60), "parent": [k % 40 for k in range(60)], "size": range(60)})
    child.to_csv(folder / "tables" / "child.csv", index=False)
    with contextlib.closing(sqlite3.connect(folder / "shop.db")) as database:
        pd.read_csv(folder / "people.csv").to_sql("people", database, index=False)
        database.execute("CREATE VIEW seen AS SELECT * FROM people")


def contents(folder):
    """The bytes of every file."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "here" not in path.parts}


@pytest.mark.parametrize(
    ("words", "target"),
    [
        (["fit", "people.csv", "-o", "old.tabtree", *SETTINGS], "old.tabtree"),
        (["fit", "people.csv", "-o", "old.x", "--holdout", "0.5", *SETTINGS], "old.x.holdout.csv"),
        (["sample", "m.tabtree", "-n", "5", "-o", "old.csv"], "old.csv"),
        (["sample", "m.tabtree", "-n", "5", "-o", "old.csv", "--batch-size", "5"], "old.csv"),
        (["impute", "m.tabtree", "people.csv", "-o", "old.csv"], "old.csv"),
        (["score", "m.tabtree", "people.csv", "-o", "old.csv"], "old.csv"),
        (["predict", "m.tabtree", "people.csv", "-o", "old.csv"], "old.csv"),
        (["evaluate", "people.csv", "new.csv", "--metric", "shape", "--json", "old.json"], "old.json"),
        (["schema", "people.csv", "-o", "old.json"], "old.json"),
        (["card", "m.tabtree", "-o", "old.md"], "old.md"),
    ],
)
def test_an_existing_file_is_replaced_only_when_asked(run, folder, words, target):
    (folder / target).write_text("of somebody else")
    code, _, err = run(*words)
    assert (code, f"cannot write {target}: it already exists" in err) == (2, True)
    assert (folder / target).read_text() == "of somebody else"
    assert run(*words, "--overwrite")[0] == 0
    assert (folder / target).read_bytes() != b"of somebody else"


def test_two_outputs_are_two_files(run, folder):
    code, _, err = run("evaluate", "people.csv", "new.csv", "--json", "x", "--html", "./x")
    assert (code, "cannot write x twice" in err) == (2, True)
    assert not (folder / "x").exists()


def test_a_table_that_is_read_is_not_replaced_and_another_of_the_same_database_is_written(run, folder):
    pytest.importorskip("sqlalchemy")
    write_table(pd.read_csv(folder / "people.csv"), f"sqlite:///{folder}/shop.db#people")
    words = ("score", "m.tabtree", "sqlite:///shop.db#people", "--overwrite")
    code, _, err = run(*words, "-o", "sqlite:///shop.db#people")
    assert (code, "cannot write table 'people' of sqlite:///shop.db: it is an input of this command" in err) == (
        2,
        True,
    )
    assert run(*words, "-o", "sqlite:///shop.db#scored")[0] == 0


def test_the_same_split_comes_from_the_command_and_from_python(run, folder, mixed):
    words = ("fit", "people.csv", "--target", "income", "--holdout", "0.25", "--seed", 7, "--privacy", "off")
    assert run(*words, *SETTINGS)[0] == 0
    table = pd.read_csv(folder / "people.csv")
    sections = {"tree": {"trials": 0, "params": {"n_estimators": 2}}, "model": {"width": 8, "heads": 2, "layers": 1}}
    model = TabTreeFormer("auto", "income", **sections, train={"steps": 2}, privacy="off", verbose=False)
    seen = []
    model.set_params(random_state=7, constraints=None)
    from tabtreeformer import synthesizer

    take = synthesizer.set_aside
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthesizer, "set_aside", lambda *a: seen.append(take(*a)) or seen[0])
        model.fit(table, holdout=0.25)
    pd.testing.assert_frame_equal(seen[0][0], pd.read_csv(folder / "people.train.csv"))
