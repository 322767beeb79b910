"""What a model has never learned is surprising, by how far, with a reason; it ends no question but in strict mode."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import SchemaError, TabTreeFormer

TINY = {
    "tree": {"trials": 0, "params": {"n_estimators": 3, "num_leaves": 5}},
    "tokens": {"quantiles": 20},
    "model": {"width": 16, "feed_forward": 32, "heads": 2, "layers": 1},
    "train": {"steps": 4, "batch_size": 32, "validate_every": 2},
}
N = 300


def table():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, N)
    return pd.DataFrame(
        {
            "age": age,
            "fare": rng.lognormal(3, 1, N).round(2),
            "town": rng.choice(["Bern", "Köln", "Ulm"], N),
            "level": rng.choice([1, 2, 3], N, p=[0.2, 0.3, 0.5]),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 200, N), unit="D"),
            "income": np.where(age > 45, "high", "low"),
        }
    )


DF = table()


@pytest.fixture(scope="module", params=["auto", "trees"])
def model(request):
    settings = TINY if request.param == "auto" else {}
    made = TabTreeFormer(request.param, target="income", **settings, constraints=None, random_state=0, verbose=False)
    return made.fit(DF)


@pytest.fixture(scope="module")
def networks():
    return TabTreeFormer(target="income", **TINY, constraints=None, random_state=0, verbose=False).fit(DF)


def with_cell(name, value, row=7):
    changed = DF.copy()
    changed[name] = changed[name].astype(object)
    changed.loc[row, name] = value
    return changed.infer_objects()


@pytest.mark.parametrize("name", ["age", "fare", "seen"])
def test_the_further_beyond_the_range_the_less_likely(model, name):
    far = {"age": [90, 500, 10**9], "fare": [5e3, 1e5, 1e12], "seen": ["2025-01-01", "2040-01-01", "2200-01-01"]}[name]
    values = [pd.Timestamp(v) for v in far] if name == "seen" else far
    logs = [model.log_prob(with_cell(name, value))[7] for value in [DF[name].median(), *values]]
    assert logs == sorted(logs, reverse=True)
    assert len(set(logs)) == len(logs)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("age", 999, "age = 999 is above all that was learned"),
        ("fare", -50.0, "fare = -50.0 is below all that was learned"),
        ("town", "Rom", "town = 'Rom' was never seen"),
        ("town", None, "town is missing"),
        ("seen", pd.Timestamp("2199-01-01"), "above all that was learned"),
    ],
)
def test_what_was_never_learned_is_the_most_surprising_and_says_why(model, name, value, words):
    first = model.outliers(with_cell(name, value), n=N // 20)
    assert 7 in first.index
    assert words in first.loc[7, "reason"]
    assert first.loc[7, "columns"][0] == name
    if name in ("age", "fare"):
        assert first.index[0] == 7


def test_a_strict_question_names_what_is_new(model):
    for ask in (model.log_prob, model.outliers):
        with pytest.raises(SchemaError, match=r"row 7: town = 'Rom' was never seen"):
            ask(with_cell("town", "Rom"), strict=True)
    with pytest.raises(SchemaError, match="'Rom'"):
        model.predict(with_cell("town", "Rom"), target="age", strict=True)
    with pytest.raises(SchemaError, match="'Rom'"):
        model.impute(with_cell("town", "Rom"), strict=True)


def test_an_unseen_category_is_unknown_to_a_prediction(model):
    rows = with_cell("town", "Rom").head(10)
    unknown = rows.assign(town=rows["town"].where(rows["town"] != "Rom"))
    pd.testing.assert_series_equal(model.predict(rows, target="income"), model.predict(unknown, target="income"))
    assert model.predict_proba(rows, target="income").sum(axis=1).round(9).eq(1).all()


def test_an_unseen_category_stays_where_gaps_are_filled(model):
    rows = with_cell("town", "Rom")
    rows.loc[[3, 7], "income"] = None
    filled = model.impute(rows, random_state=0)
    assert filled.loc[7, "town"] == "Rom"
    assert filled["income"].notna().all()


def test_only_the_columns_asked_for_are_filled(networks):
    rows = DF.copy()
    rows.loc[[1, 2], "town"] = None
    rows.loc[[2, 3], "income"] = None
    filled = networks.impute(rows, columns=["town"], random_state=0)
    assert filled["town"].notna().all()
    assert filled["income"].isna().sum() == 2
    with pytest.raises(SchemaError, match="no column 'city'"):
        networks.impute(rows, columns=["city"])


def test_whole_numbers_with_few_values_are_classes(model):
    said = model.predict(DF.drop(columns="level").head(30), target="level")
    assert said.dtype == DF["level"].dtype
    assert set(said) <= {1, 2, 3}
    assert list(model.predict_proba(DF.head(2), target="level").columns) == [1, 2, 3]
    counts = model.sample(60, balance="level", random_state=0)["level"].value_counts()
    assert counts.to_dict() == {1: 20, 2: 20, 3: 20}
    shares = model.sample(10, mix={"level": {1: 0.9, 3: 0.1}}, random_state=0)["level"].value_counts()
    assert shares.to_dict() == {1: 9, 3: 1}


def test_a_gap_is_never_filled_by_a_group_of_rare_values():
    rng = np.random.default_rng(1)
    deck = np.where(rng.random(400) < 0.5, "A", "B").astype(object)
    level = np.where(deck == "A", "first", "third")
    deck[:40] = [f"rare {k}" for k in range(40)]  # one group, without a name, only in first
    level[:40] = "first"
    df = pd.DataFrame({"deck": pd.Series(deck, dtype="category").astype(object), "level": level})
    from tabtreeformer import Schema

    schema = Schema.infer(df).with_kind("deck", "categorical")
    made = TabTreeFormer("trees", constraints=None, random_state=0, verbose=False).fit(df, schema=schema)
    gaps = pd.DataFrame({"deck": None, "level": ["first"] * 200})
    filled = made.impute(gaps, random_state=0)["deck"].value_counts(normalize=True)
    assert filled["A"] > 0.95  # by the shares of all rows, half of the group would have been B
