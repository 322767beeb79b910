"""Questions from the command line."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import between, eq, ge, gt, isin, le, lt, missing, ne, present
from tabtreeformer.cli.conditions import read_conditions, read_mix
from tabtreeformer.synthesizer import TabTreeFormer

TINY = {
    "tree": {"trials": 0, "params": {"n_estimators": 3, "num_leaves": 5}},
    "tokens": {"quantiles": 20},
    "model": {"width": 16, "feed_forward": 32, "heads": 2, "layers": 1},
    "train": {"steps": 4, "batch_size": 32, "validate_every": 2},
}


@pytest.fixture(scope="module")
def df():
    rng = np.random.default_rng(0)
    n = 120
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "a=b": rng.normal(size=n).round(2),
            "town": pd.Series(rng.choice(["Bern", "Paris, Texas", "missing"], n)).mask(rng.random(n) < 0.2),
            "smoker": rng.random(n) < 0.4,
            "paid": [f"${v:,.2f}" for v in rng.lognormal(7, 1, n)],
            "day": (pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")).strftime(
                "%Y-%m-%d"
            ),
            "income": rng.choice([">50K", "<=50K"], n),
        }
    )


@pytest.fixture(scope="module")
def model(df, tmp_path_factory):
    path = tmp_path_factory.mktemp("ask") / "m.tabtree"
    settings = {**TINY, "constraints": None, "privacy": "off", "random_state": 0, "verbose": False}
    TabTreeFormer(target="income", **settings).fit(df).save(path)
    return path


@pytest.fixture
def run(run, df):
    """The same, with a file of rows in the folder."""
    df.to_csv("rows.csv", index=False)
    return run


@pytest.mark.parametrize(
    ("text", "name", "condition"),
    [
        ("age=30", "age", eq(30)),
        ("age=30..40", "age", between(30, 40)),
        ("age=30, 31,32", "age", isin([30, 31, 32])),
        ("age=>=40", "age", ge(40)),
        ("age=>40", "age", gt(40)),
        ("age=<=40.5", "age", le(40.5)),
        ("age=< 40", "age", lt(40)),
        ("age=!=40", "age", ne(40)),
        ("a=b=-1..0.5", "a=b", between(-1, 0.5)),
        ("town=Bern", "town", eq("Bern")),
        ("town=Paris, Texas", "town", eq("Paris, Texas")),
        ('town=Bern,"Paris, Texas"', "town", isin(["Bern", "Paris, Texas"])),
        ("town=missing", "town", missing()),
        ('town="missing"', "town", eq("missing")),
        ("town=present", "town", present()),
        ("smoker=true", "smoker", eq(True)),
        ("paid=$1,200.50", "paid", eq("$1,200.50")),
        ("paid=>$1,200.50", "paid", gt("$1,200.50")),
        ("day=2024-02-01..2024-03-01", "day", between("2024-02-01", "2024-03-01")),
        ("income=>50K", "income", eq(">50K")),
        ("income=!=>50K", "income", ne(">50K")),
    ],
)
def test_conditions_are_read_as_they_are_meant(model, text, name, condition):
    codec = TabTreeFormer.load(model, verbose=False).fitted_.codec
    assert read_conditions([text], codec) == {name: condition}


def test_shares_are_read(model):
    codec = TabTreeFormer.load(model, verbose=False).fitted_.codec
    assert read_mix("income=>50K:0.3, <=50K:0.7", codec) == {"income": {">50K": 0.3, "<=50K": 0.7}}
    assert read_mix("smoker=True:1,false:0", codec) == {"smoker": {True: 1.0, False: 0.0}}


def test_rows_under_conditions(run, model):
    words = [
        "--given",
        "age=30..40",
        "--given",
        "income=>50K",
        "--given",
        "day=>=2024-03-01",
        "--given",
        "town=missing",
    ]
    code, out, _ = run("sample", model, "-n", 30, "-o", "new.csv", *words)
    assert code == 0
    assert "wrote 30 rows × 7 columns" in out
    new = pd.read_csv("new.csv", keep_default_na=False)
    assert new["age"].between(30, 40).all()
    assert (new["income"] == ">50K").all()
    assert (new["day"] >= "2024-03-01").all()
    assert (new["town"] == "").all()


def test_rows_in_shares(run, model):
    assert run("sample", model, "-n", 30, "-o", "a.csv", "--balance", "smoker", "-q") == (0, "", "")
    assert pd.read_csv("a.csv")["smoker"].sum() == 15
    assert run("sample", model, "-n", 30, "-o", "b.csv", "--mix", "income=>50K:0.3,<=50K:0.7", "-q") == (0, "", "")
    assert (pd.read_csv("b.csv")["income"] == ">50K").sum() == 9


def test_gaps_are_filled(run, model, df):
    gaps = df.assign(age=df["age"].astype("Int64").mask(df.index % 3 == 0))
    gaps.to_csv("gaps.csv", index=False)
    code, out, _ = run("impute", model, "gaps.csv", "-o", "filled.csv", "--seed", 1)
    assert code == 0
    assert f"filled {40 + df['town'].isna().sum()} missing values in 120 rows, written to filled.csv" in out
    filled = pd.read_csv("filled.csv", keep_default_na=False)
    assert filled.shape == df.shape
    assert (filled["town"] != "").all()
    assert filled["age"].dtype == "int64"
    assert filled["age"][gaps["age"].notna()].tolist() == gaps["age"].dropna().tolist()
    assert run("impute", model, "gaps.csv", "-o", "many.csv", "--draws", 3, "-q")[0] == 0
    assert pd.read_csv("many.csv")["draw"].value_counts().to_dict() == {1: 120, 2: 120, 3: 120}


def test_rows_are_scored(run, model):
    assert run("score", model, "rows.csv", "-o", "scored.csv", "--by-column", "-q") == (0, "", "")
    scored = pd.read_csv("scored.csv")
    parts = scored[[c for c in scored.columns if c.startswith("log_prob ")]]
    assert parts.shape[1] == 7
    np.testing.assert_allclose(parts.sum(axis=1), scored["log_prob"])


def test_columns_are_predicted(run, model):
    code, out, _ = run("predict", model, "rows.csv", "--target", "smoker", "--proba", "-o", "said.csv")
    assert code == 0
    assert "predicted 'smoker' for 120 rows, written to said.csv" in out
    said = pd.read_csv("said.csv")
    np.testing.assert_allclose(said[["smoker = False", "smoker = True"]].sum(axis=1), 1)
    assert (said["predicted smoker"] == (said["smoker = True"] > 0.5)).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--given", "town"], "--given 'town' is not of the form COLUMN=…"),
        (["--given", "twon=Bern"], "there is no column 'twon'"),
        (["--given", "town=Rom"], "column 'town' never was 'Rom'; known: 'Bern'"),
        (["--given", "age=old"], "column 'age' is numeric and cannot be 'old'"),
        (["--given", "age=>3", "--given", "age=<9"], "column 'age' more than once"),
        (["--mix", "income=>50K"], "'>50K' is not of the form CLASS:SHARE"),
        (["--balance", "age"], "column 'age' is numeric and has no classes"),
        (["--balance", "town", "--given", "age=30"], "one of given, balance, mix and leaf"),
    ],
)
def test_mistakes_are_one_line(run, model, words, message):
    code, _, err = run("sample", model, "-n", 3, "-o", "new.csv", *words)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "command", ["fit", "sample", "impute", "score", "predict", "schema", "evaluate", "audit", "card"]
)
def test_examples_in_help_stand_one_to_a_line(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert "\\b" not in out
    examples = [line for line in out.splitlines() if line.startswith(f"    ttf {command} ")]
    assert examples
