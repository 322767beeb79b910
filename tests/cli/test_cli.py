import json
import resource
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch

from tabtreeformer import TabTreeFormer
from tabtreeformer._runtime.progress import Console
from tabtreeformer._runtime.seeds import seed_sequence
from tabtreeformer.config.override import parse_settings
from tabtreeformer.fitting.holdout import set_aside

TINY = [
    "tree.trials=0", "tree.params.n_estimators=4", "tokens.quantiles=20", "model.width=16", "model.heads=2",
    "model.feed_forward=32", "model.layers=1", "train.steps=6", "train.batch_size=16", "train.validate_every=3",
]  # fmt: skip
SETTINGS = [word for setting in TINY for word in ("--set", setting)]


@pytest.fixture
def table(tmp_path, mixed):
    path = tmp_path / "people.csv"
    mixed.to_csv(path, index=False)
    return path


@pytest.fixture
def model(run, table, tmp_path):
    code, _, err = run("fit", table, "--target", "income", "-o", "model.tabtree", "--seed", 1, "-q", *SETTINGS)
    assert (code, err) == (0, "")
    return tmp_path / "model.tabtree"


def test_fit_sample_and_inspect_from_files(run, table, tmp_path, monkeypatch):
    monkeypatch.setattr(Console, "worth_keeping_seconds", 0.0)
    code, out, err = run("fit", table, "--target", "income", *SETTINGS)
    assert code == 0
    assert "learned 60 rows × 6 columns" in out
    assert "wrote people.tabtree; sample from it with: ttf sample people.tabtree" in out
    assert "network 1" in err
    assert "loss" in err
    assert "rows/s" in err
    code, out, _ = run("sample", "people.tabtree", "-n", 33, "-o", "new.csv")
    assert code == 0
    assert "wrote 33 rows × 6 columns to new.csv" in out
    rows = pd.read_csv(tmp_path / "new.csv")
    assert rows.shape == (33, 6)
    assert (rows.dtypes == pd.read_csv(table).dtypes).all()
    code, out, _ = run("inspect", "people.tabtree")
    assert code == 0
    for fact in ("preset auto", "60 rows", "4 trees predicting 'income'", "stadt", "categorical", "network 2: 6 steps"):
        assert fact in out, fact


def test_quiet_prints_nothing(run, model):
    assert run("sample", model, "-n", 3, "-o", "new.csv", "--quiet") == (0, "", "")


def test_the_same_seed_writes_the_same_file(run, model, tmp_path):
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        run("sample", model, "-n", 40, "-o", f"{name}.csv", "--seed", seed, "-q")
    a, b, c = ((tmp_path / f"{name}.csv").read_bytes() for name in "abc")
    assert a == b != c


def test_sampling_settings_can_be_changed_without_fitting_anew(run, model, tmp_path):
    for name, words in (("a", ()), ("b", ("--set", "sampling.temperature_category=50"))):
        assert run("sample", model, "-n", 40, "-o", f"{name}.csv", "--seed", 5, "-q", *words)[0] == 0
    assert (tmp_path / "a.csv").read_bytes() != (tmp_path / "b.csv").read_bytes()
    code, _, err = run("sample", model, "-n", 40, "-o", "c.csv", "--set", "train.steps=3")
    assert code == 2
    assert "only sampling settings can change after fitting, got train" in err


def test_no_seed_writes_different_files(run, model, tmp_path):
    for name in "ab":
        run("sample", model, "-n", 40, "-o", f"{name}.csv", "-q")
    assert (tmp_path / "a.csv").read_bytes() != (tmp_path / "b.csv").read_bytes()


def test_parquet_in_and_out_keeps_dtypes(run, mixed, tmp_path):
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    mixed.to_parquet(tmp_path / "people.parquet")
    assert run("fit", "people.parquet", "-o", "m.tabtree", "-q", *SETTINGS)[0] == 0
    assert run("sample", "m.tabtree", "-n", 20, "-o", "new.parquet", "-q")[0] == 0
    assert (pd.read_parquet(tmp_path / "new.parquet").dtypes == mixed.dtypes).all()


def test_compressed_csv_in_and_out(run, table, tmp_path, mixed):
    mixed.to_csv(tmp_path / "people.csv.gz", index=False)
    assert run("fit", "people.csv.gz", "-o", "m.tabtree", "-q", *SETTINGS)[0] == 0
    assert run("sample", "m.tabtree", "-n", 20, "-o", "new.csv.gz", "-q")[0] == 0
    assert pd.read_csv(tmp_path / "new.csv.gz").shape == (20, 6)


def test_preset_tree_categories_and_settings_reach_the_model(run, table, tmp_path):
    code, _, _ = run(
        "fit", table, "-o", "m.tabtree", "--preset", "NM", "--tree", "decision_tree", "--categorical", "age", "-q",
        *SETTINGS, "--set", 'tree.params={"max_depth": 2}', "--set", "model.layers=2",
    )  # fmt: skip
    assert code == 0
    _, out, _ = run("inspect", "m.tabtree", "--json")
    summary = json.loads(out)
    assert summary["preset"] == "NM"
    assert summary["config"]["sampling"]["temperature_category"] == 0.2
    assert summary["config"]["model"]["layers"] == 2
    assert (summary["tree_model"], summary["trees"]) == ("decision_tree", 1)
    assert summary["columns"][0]["kind"] == "categorical"


def test_rows_with_missing_values_are_learned_or_dropped(run, mixed, tmp_path):
    mixed.loc[::2, "stadt"] = None
    mixed.to_csv(tmp_path / "gaps.csv", index=False)
    assert run("fit", "gaps.csv", "-o", "m.tabtree", *SETTINGS)[0] == 0
    assert run("sample", "m.tabtree", "-n", "60", "-o", "new.csv")[0] == 0
    assert pd.read_csv(tmp_path / "new.csv")["stadt"].isna().any()
    code, _, err = run("fit", "gaps.csv", "-o", "m.tabtree", "--drop-missing", "--overwrite", *SETTINGS)
    assert code == 0
    assert "dropped 30 of 60 rows with missing values" in err
    assert "index" not in err


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "none.csv"], "there is no file none.csv"),
        (["fit", "peple.csv"], "there is no file peple.csv; did you mean people.csv?"),
        (["fit", "people.csv", "--target", "y"], "there is no column 'y'; the table has 'age'"),
        (["fit", "people.csv", "--preset", "XL"], "preset must be one of auto, trees, S, L, NM, got 'XL'"),
        (["fit", "people.csv", "--set", "train.stepps=3"], "there is no setting train.stepps"),
        (["fit", "people.csv", "--set", "steps"], "is not of the form section.field=value"),
        (["fit", "people.csv", "--tree", "oak"], "tree.model must be one of lightgbm"),
        (["fit", "people.csv", "--device", "abacus"], "device 'abacus' cannot be used here"),
        (["fit", "people.csv", "-o", "no/such/folder/m.tabtree"], "the folder no/such/folder does not exist"),
        (["fit", "people.csv", "-o", "."], "it is a folder; name a file in it"),
        (["fit", "people.csv", "--seed", "-1"], "random_state must be a whole number from 0"),
        (["fit", "people.csv", "--colour", "red"], "No such option"),
        (["fit", "people.txt"], "people.txt: the ending must be one of .csv, .tsv"),
        (["fit", "empty.csv"], "empty.csv is empty"),
        (["fit", "twice.csv"], "twice.csv: column name 'a' occurs more than once"),
        (["fit", "header.csv"], "header.csv has 2 columns and no rows"),
        (["fit", "onerow.csv"], "the table has 1 row"),
        (["fit", "ragged.csv"], "ragged.csv, line 3 has 3 fields but the header has 2"),
        (["fit", "binary.csv"], "binary.csv is not a text file: line 1 holds a zero byte"),
        (["fit", "broken.parquet"], "broken.parquet cannot be read as parquet"),
        (["sample", "none.tabtree", "-n", "3", "-o", "new.csv"], "there is no model file none.tabtree"),
        (["sample", "people.csv", "-n", "3", "-o", "new.csv"], "people.csv is not a tabtreeformer model"),
        (["sample", "people.csv", "-n", "three", "-o", "new.csv"], "-n takes a whole number, got 'three'"),
        (["sample", "people.csv", "-n", "3", "-o", "new.txt"], "new.txt: the ending must be one of"),
        (["sample", "people.csv", "-o", "new.csv"], "give the number of rows with -n"),
        (["sample", "people.csv", "-n", "3"], "Missing option '--output'"),
        (["inspect", "people.csv"], "people.csv is not a tabtreeformer model"),
        (["dance"], "No such command 'dance'"),
    ],
)  # fmt: skip
def test_a_foreseen_failure_is_one_line_on_stderr_and_exit_code_2(run, table, tmp_path, arguments, message):
    write(tmp_path / "people.txt", "a\n1\n")
    write(tmp_path / "empty.csv", "")
    write(tmp_path / "twice.csv", "a,a\n1,2\n3,4\n")
    write(tmp_path / "header.csv", "a,b\n")
    write(tmp_path / "onerow.csv", "a,b\n1,2\n")
    write(tmp_path / "ragged.csv", "a,b\n1,2\n1,2,3\n")
    write(tmp_path / "binary.csv", bytes(range(256)) * 3)
    write(tmp_path / "broken.parquet", b"PAR1 and then nothing")
    before = sorted(p.name for p in tmp_path.iterdir())
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("ttf: ")
    assert message in err
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_rows_to_sample_must_be_positive(run, model):
    for n in ("0", "-5"):
        code, _, err = run("sample", model, "-n", n, "-o", "new.csv")
        assert code == 2
        assert f"n must be at least 1, got {n}" in err


def test_help_teaches(run):
    code, out, _ = run("--help")
    assert code == 0
    for word in ("fit", "sample", "inspect", "ttf fit data.csv --target y -o model.tabtree"):
        assert word in out
    code, out, _ = run("fit", "--help")
    assert code == 0
    for word in ("--target", "--preset", "--set", "train.steps=200", "--drop-missing", "Examples:"):
        assert word in out


def test_a_bare_command_shows_its_help(run):
    code, out, _ = run()
    assert code == 0
    assert "Commands:" in out
    code, out, _ = run("fit")
    assert code == 0
    assert "Examples:" in out


def test_help_answers_at_once_and_without_pytorch():
    script = (
        "import atexit, sys; from tabtreeformer.cli import main; "
        "atexit.register(lambda: print(*sys.modules)); main(['--help'])"
    )
    seconds = []
    for _ in range(3):
        started = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])  # its own time, not that of a busy machine
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        seconds.append(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - started)
    assert not {"torch", "lightgbm", "optuna", "sklearn", "pandas"} & set(done.stdout.split())
    assert min(seconds) < 0.5


def test_python_dash_m_is_the_same_command():
    done = subprocess.run(
        [sys.executable, "-m", "tabtreeformer", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("ttf ")


def test_what_the_command_line_writes_the_library_loads(model, mixed):
    assert np.isin(TabTreeFormer.load(model, verbose=False).sample(10)["stadt"], mixed["stadt"]).all()


@pytest.fixture
def judged(tmp_path, mixed):
    """Training rows, new rows and held-out rows as files."""
    parts = {"train": mixed.iloc[:25], "new": mixed.iloc[25:45], "test": mixed.iloc[45:]}
    for name, part in parts.items():
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    return ("evaluate", "train.csv", "new.csv")


def test_evaluate_prints_and_writes_scores_and_a_report(run, judged, tmp_path):
    code, out, _ = run(*judged, "--holdout", "test.csv", "--target", "income", "--json", "s.json", "--html", "r.html")
    assert code == 0
    for fact in ("utility", "dcr", "real held-out", "Useful?", "Safe?", "wrote s.json", "wrote r.html"):
        assert fact in out, fact
    scores = json.loads((tmp_path / "s.json").read_text())["scores"]
    assert set(scores) == {
        "utility", "shape", "trend", "detection", "laws", "grain", "detection_derived",
        "dcr", "copies", "membership", "neighbour_ratio",
        "singling_out", "linkability", "inference",
        "shape_unseen", "trend_unseen", "detection_unseen", "membership_density",
    }  # fmt: skip
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "new.csv against train.csv" in page
    assert "the closest pairs" in page


def test_evaluate_without_a_holdout_says_what_it_left_out(run, judged):
    code, out, err = run(*judged)
    assert code == 0
    assert "dcr is left out: it needs real rows that the model never saw" in err
    assert "utility is left out" in err
    code, _, err = run(*judged, "--holdout", "test.csv")
    assert err == "utility is left out: it needs a column to predict; name it as target\n"
    assert "Safe? not measured" in out


def test_evaluate_takes_chosen_metrics_and_hides_rows(run, judged, tmp_path):
    words = ("--holdout", "test.csv", "--metric", "shape", "--metric", "dcr", "--html", "r.html", "--hide-rows", "-q")
    assert run(*judged, *words) == (0, "", "")
    assert "the closest pairs" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_evaluate_refuses_what_it_cannot_do(run, judged, tmp_path):
    for words, message in {
        ("--metric", "beauty"): "there is no metric 'beauty'; known metrics: utility",
        ("--html", "no/r.html"): "the folder no does not exist",
        ("--holdout", "none.csv"): "there is no file none.csv",
        ("--target", "y"): "there is no column 'y'",
    }.items():
        code, _, err = run(*judged, *words)
        assert code == 2
        assert message in err


def test_a_holdout_is_set_aside_and_never_learned(run, table, tmp_path, mixed):
    code, out, err = run(
        "fit", table, "--target", "income", "-o", "m.tabtree", "--holdout", 0.25, "--seed", 1, *SETTINGS
    )
    assert code == 0
    assert "index" not in err
    train, aside = (pd.read_csv(tmp_path / f"m.{part}.csv") for part in ("train", "holdout"))
    assert (len(train), len(aside)) == (45, 15)
    both = pd.concat([train, aside]).sort_values(list(train.columns)).reset_index(drop=True)
    pd.testing.assert_frame_equal(both, pd.read_csv(table).sort_values(list(train.columns)).reset_index(drop=True))
    assert TabTreeFormer.load(tmp_path / "m.tabtree").summary()["rows"] == 45
    command = next(line for line in out.splitlines() if line.startswith("ttf evaluate"))
    assert command == "ttf evaluate m.train.csv new.csv --holdout m.holdout.csv --target income --html report.html"
    run("sample", "m.tabtree", "-n", 45, "-o", "new.csv", "-q")
    assert run(*command.split()[1:])[0] == 0


def test_the_command_line_and_python_set_the_same_rows_aside_and_learn_the_same_model(run, table, tmp_path):
    common = ["--target", "income", "-o", "m.tabtree", "--holdout", 0.2, "--seed", 3, "--privacy", "off", *SETTINGS]
    assert run("fit", table, *common)[0] == 0
    command_line = TabTreeFormer.load(tmp_path / "m.tabtree", verbose=False)
    df = pd.read_csv(table)
    python = TabTreeFormer(target="income", **parse_settings(TINY), privacy="off", random_state=3, verbose=False)
    python.fit(df, holdout=0.2)
    _, held = set_aside(df, 0.2, seed_sequence(3))
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "m.holdout.csv"), held)
    for one, other in zip(command_line.fitted_.models, python.fitted_.models, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("share", ["0", "1", "-0.5", "0.999", "1.5"])
def test_a_holdout_must_leave_rows_on_both_sides(run, table, tmp_path, share):
    code, _, err = run("fit", table, "-o", "m.tabtree", "--holdout", share, *SETTINGS)
    assert code == 2
    assert "holdout must be a share between 0 and 1 that leaves rows on both sides" in err
    assert not list(tmp_path.glob("m.*"))


def orders(n=120):
    """A table as people have them: keys, names, dates, money, gaps, and an end after its start."""
    rng = np.random.default_rng(0)
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 200, n), unit="D")
    return pd.DataFrame(
        {
            "id": [f"A-{i:04d}" for i in range(n)],
            "name": [f"{a} {b}" for a, b in zip(rng.choice(list("ABCDEFG"), n), rng.permutation(n), strict=True)],
            "start": start.strftime("%Y-%m-%d"),
            "end": (start + pd.to_timedelta(rng.integers(0, 9, n), unit="D")).strftime("%Y-%m-%d"),
            "price": [f"${v:.2f}" for v in rng.lognormal(3, 1, n)],
            "score": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n).round(2)),
            "kind": rng.choice(["x", "y"], n),
        }
    )


def test_a_table_as_people_have_them_goes_all_the_way(run, tmp_path):
    pytest.importorskip("jinja2", reason="needs the report extra")
    df = orders()
    df.to_csv(tmp_path / "orders.csv", index=False)
    code, out, _ = run("schema", "orders.csv", "-o", "schema.json")
    assert code == 0
    for words in (
        "identifier",
        "no value repeats",
        "dates written as text, %Y-%m-%d",
        "every row keeps: end >= start",
    ):
        assert words in out
    content = json.loads((tmp_path / "schema.json").read_text())
    content["columns"][1]["placeholder"] = "(withheld)"
    (tmp_path / "schema.json").write_text(json.dumps(content))
    fit = ("fit", "orders.csv", "-o", "m.tabtree", "--schema", "schema.json", "--target", "kind", "--holdout", "0.3")
    code, _, err = run(*fit, *SETTINGS)
    assert code == 0
    assert "'id': a key, made up for each row, e.g. A-" in err
    assert "every row keeps: end >= start" in err
    assert run("sample", "m.tabtree", "-n", "80", "-o", "new.csv", "--seed", "1")[0] == 0
    new = pd.read_csv(tmp_path / "new.csv")
    assert (new["end"] >= new["start"]).all()
    assert set(new["name"]) == {"(withheld)"}
    assert new["price"].str.fullmatch(r"\$[0-9.,]+").all()
    judged = (
        "evaluate",
        "m.train.csv",
        "new.csv",
        "--holdout",
        "m.holdout.csv",
        "--target",
        "kind",
        "--html",
        "r.html",
    )
    code, _, err = run(*judged, "--schema", "schema.json")
    assert code == 0, err
    assert "column 'id' is left out: a key has no distribution" in err
    page = (tmp_path / "r.html").read_text()
    assert "Not compared: name; free text is not compared" in page
    assert "2024-" in page
    assert "missing: " in page
    code, out, _ = run("inspect", "m.tabtree")
    assert "every row keeps: end >= start" in out


def test_no_control_character_of_a_table_reaches_a_terminal(run, tmp_path):
    """Column names and values of a stranger's table could clear the screen or forge lines."""
    rows = [[k % 9, k % 9 * 2, "p\x1b[31m" if k % 2 else "q\x9b"] for k in range(60)]
    pd.DataFrame(rows, columns=["a\x1b[2Jb", "same\x9b", "x\u202ey"]).to_csv(tmp_path / "t.csv", index=False)
    commands = (["fit", "t.csv", "--preset", "trees", "-o", "t.tabtree", "--privacy", "off"], ["schema", "t.csv"])
    for words in (*commands, ["explain", "t.tabtree"], ["explain", "t.tabtree", "--json"]):
        code, out, err = run(*words)
        assert code == 0
        assert "[2Jb" in out + err
        assert not {"\x1b", "\x9b", "\u202e"} & set(out + err)
