"""One fitted model answers every question about its table; what it has learned does not matter here."""

import copy
import itertools

import hypothesis
import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

import tabtreeformer as ttf
from tabtreeformer import ConditionError, ConfigError, SchemaError, TabTreeFormer

TINY = {
    "tree": {"trials": 0, "params": {"n_estimators": 3, "num_leaves": 5}},
    "tokens": {
        "quantiles": 20,
        "rare_floor": 0,
    },  # any value that a row has can be given; the floor has tests of its own
    "model": {"width": 16, "feed_forward": 32, "heads": 2, "layers": 1},
    "train": {"steps": 4, "batch_size": 32, "validate_every": 2},
}
N = 240


def table():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, N)
    start = pd.Timestamp("2023-01-02") + pd.to_timedelta(rng.integers(0, 400, N), unit="D")
    return pd.DataFrame(
        {
            "id": [f"P-{i:04d}" for i in rng.permutation(N)],
            "age": age,
            "height": rng.normal(1.7, 0.1, N).round(2),
            "weight": pd.Series(rng.normal(70, 9, N)).mask(rng.random(N) < 0.2),
            "town": pd.Series(rng.choice(["Bern", "Köln", "Ulm"], N), dtype=object).mask(rng.random(N) < 0.1),
            "size": pd.Categorical(rng.choice(["S", "L"], N), categories=["S", "M", "L"], ordered=True),
            "smoker": rng.random(N) < 0.3,
            "seen": pd.Series(start).dt.tz_localize("Europe/Zurich"),
            "stay": pd.to_timedelta(rng.integers(1, 90, N) * 30, unit="min"),
            "unit": "kg",
            "income": np.where(age > 45, ">50K", "<=50K"),
        }
    )


DF = table()


@pytest.fixture(scope="module")
def model():
    return TabTreeFormer(target="income", **TINY, constraints=None, random_state=0, verbose=False).fit(DF)


def valid(rows, n):
    assert len(rows) == n
    assert list(rows.columns) == list(DF.columns)
    assert (rows.dtypes == DF.dtypes).all()
    for name in DF.columns:
        if not DF[name].isna().any():
            assert rows[name].notna().all(), name
    for name in ("town", "size", "income", "unit"):
        assert set(rows[name].dropna()) <= set(DF[name].dropna())
    for name in ("age", "height", "weight", "seen", "stay"):
        assert rows[name].dropna().between(DF[name].min(), DF[name].max()).all(), name


# ---- sample(given=…)


def test_conditions_of_all_kinds_at_once(model):
    given = {
        "age": (30, 40), "town": ["Ulm", "Bern"], "income": ">50K", "smoker": True, "size": ttf.ge("M"),
        "weight": ttf.missing(), "seen": ttf.lt("2023-06-01"), "stay": ttf.gt("5h"), "unit": "kg",
    }  # fmt: skip
    rows = model.sample(101, given=given, random_state=0)
    valid(rows, 101)
    assert rows["age"].between(30, 40).all()
    assert rows["town"].isin(["Ulm", "Bern"]).all()
    assert (rows["income"] == ">50K").all()
    assert rows["smoker"].all()
    assert (rows["size"] == "L").all()
    assert rows["weight"].isna().all()
    assert (rows["seen"] < pd.Timestamp("2023-06-01", tz="Europe/Zurich")).all()
    assert (rows["stay"] > pd.Timedelta("5h")).all()
    assert rows["id"].is_unique


@pytest.mark.parametrize("n", [1, 2, 7])
def test_few_rows_under_several_limits(model, n):
    rows = model.sample(n, given={"age": (30, 60), "height": ttf.ge(1.7), "town": ttf.ne("Ulm")}, random_state=0)
    valid(rows, n)


def test_the_same_seed_gives_the_same_rows(model):
    given = {"age": ttf.ge(40), "town": ttf.ne("Ulm")}
    first, again, other = (model.sample(40, given=given, random_state=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


def conditions():
    """Any operator on any column, with operands that some row has."""

    def of(name):
        known = DF[name].dropna()
        value = st.sampled_from(sorted(known.unique(), key=str))
        if name in ("age", "height", "weight", "seen", "stay"):
            return st.one_of(
                value.map(ttf.eq), value.map(ttf.ne), value.map(ttf.ge), value.map(ttf.le),
                value.filter(lambda v: v < known.max()).map(ttf.gt),
                value.filter(lambda v: v > known.min()).map(ttf.lt),
                st.tuples(value, value).map(lambda pair: tuple(sorted(pair))), st.lists(value, min_size=1, max_size=4),
            )  # fmt: skip
        return st.one_of(value, st.lists(value, min_size=1, max_size=3), *(value.map(ttf.ne),) * (name != "unit"))

    names = st.lists(st.sampled_from([c for c in DF.columns if c != "id"]), min_size=1, max_size=4, unique=True)
    chosen = names.flatmap(lambda some: st.fixed_dictionaries({name: of(name) for name in some}))
    gaps = st.dictionaries(st.sampled_from(["weight", "town"]), st.sampled_from([ttf.missing(), ttf.present()]))
    return st.builds(lambda a, b: {**a, **b}, chosen, gaps)


def meets(series, value):
    if isinstance(value, tuple):
        value = ttf.between(*value)
    if isinstance(value, list):
        return series.isin(value)
    if not hasattr(value, "operator"):
        return series == value
    tests = {
        "eq": lambda a: series == a, "ne": lambda a: (series != a) & series.notna(), "lt": lambda a: series < a,
        "le": lambda a: series <= a, "gt": lambda a: series > a, "ge": lambda a: series >= a,
        "between": series.between, "missing": series.isna, "present": series.notna,
    }  # fmt: skip
    return tests[value.operator](*value.operands)


@hypothesis.settings(max_examples=30, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(conditions(), st.integers(1, 30))
def test_any_condition_is_met_by_all_of_exactly_n_rows(model, given, n):
    rows = model.sample(n, given=given, random_state=0)
    valid(rows, n)
    for name, value in given.items():
        assert meets(rows[name], value).all(), (name, value)


@st.composite
def partial_tables(draw):
    """Some columns of some rows, with gaps anywhere."""
    names = draw(st.lists(st.sampled_from(list(DF.columns)), min_size=1, max_size=len(DF.columns), unique=True))
    picked = draw(st.lists(st.integers(0, N - 1), min_size=1, max_size=12, unique=True))
    part = DF.iloc[picked][names].astype(object)
    gaps = draw(st.lists(st.booleans(), min_size=part.size, max_size=part.size))
    part = part.mask(np.array(gaps).reshape(part.shape))
    dtypes = {**DF.dtypes, "age": float, "smoker": object}  # theirs do not take gaps
    return pd.DataFrame({name: part[name].astype(dtypes[name]) for name in names})


@hypothesis.settings(max_examples=25, deadline=60_000, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(partial_tables(), st.integers(1, 30))
def test_any_partial_rows_are_completed_to_exactly_n_valid_rows(model, partial, n):
    rows = model.sample(n, given=partial, random_state=0)
    valid(rows, n)
    same_cells(partial.iloc[np.arange(n) % len(partial)].reset_index(drop=True), rows.reset_index(drop=True))
    filled = model.impute(partial, random_state=0)
    valid(filled, len(partial))
    assert not filled.isna().any().any()
    same_cells(partial, filled)


@hypothesis.settings(max_examples=15, deadline=60_000, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(
    st.sampled_from(["town", "size", "smoker", "income"]), st.lists(st.floats(0.01, 9), min_size=3), st.integers(1, 40)
)
def test_any_shares_are_kept_by_exactly_n_valid_rows(model, name, weights, n):
    classes = sorted(DF[name].dropna().unique(), key=str)
    mix = dict(zip(classes, weights, strict=False))
    for asked, shares in (({"mix": {name: mix}}, mix), ({"balance": name}, dict.fromkeys(classes, 1))):
        rows = model.sample(n, **asked, random_state=0)
        valid(rows, n)
        for value, share in shares.items():
            assert abs((rows[name] == value).sum() - n * share / sum(shares.values())) <= 1, (value, asked)


def test_relations_between_columns_and_conditions_hold_together():
    rng = np.random.default_rng(0)
    net, tax = rng.integers(1, 50, N), rng.integers(1, 9, N)
    df = pd.DataFrame({"net": net, "tax": tax, "total": net + tax, "kind": pd.Categorical(rng.choice(["a", "b"], N))})
    rules = ["total = net + tax"]
    fitted = TabTreeFormer(**TINY, constraints=rules, random_state=0, verbose=False).fit(df)
    rows = fitted.sample(60, given={"total": (20, 40), "kind": "a"}, random_state=0)
    assert (rows.dtypes == df.dtypes).all()
    assert rows["total"].between(20, 40).all()
    assert (rows["total"] == rows["net"] + rows["tax"]).all()
    with pytest.raises(ConditionError, match="keep the laws total = net \\+ tax"):
        fitted.sample(20, given={"total": (55, 57), "net": 1}, random_state=0)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"town": "Rom"}, ConditionError, "column 'town' never was 'Rom'; known: 'Bern', 'Köln', 'Ulm'"),
        ({"twon": "Ulm"}, SchemaError, "there is no column 'twon'"),
        ({"id": "P-0001"}, ConditionError, "column 'id' is an identifier"),
        ({"age": ttf.gt(200)}, ConditionError, "column 'age': no value that was learned is gt\\(200\\)"),
        ({"age": None}, ConditionError, "column 'age' had no missing values"),
        ({"unit": "lb"}, ConditionError, "column 'unit' is always 'kg'"),
        ({"income": 3}, ConditionError, "column 'income' never was 3"),
        (pd.DataFrame({"twon": ["Ulm"]}), SchemaError, "there is no column 'twon'"),
        (pd.DataFrame({"town": ["Rom"]}), SchemaError, "'town'.*'Rom'"),
        (pd.DataFrame({"town": []}), ConfigError, "given has no rows"),
        ("town", ConfigError, "given must be a dict of conditions or a table of partial rows"),
    ],
)
def test_what_cannot_be_given_is_named(model, given, error, message):
    with pytest.raises(error, match=message):
        model.sample(5, given=given)


def test_models_trained_in_table_order_say_that_they_cannot(mixed, tiny):
    fitted = TabTreeFormer("S", "income", **tiny, random_state=0, verbose=False).fit(mixed)
    for ask in (
        lambda: fitted.sample(5, given={"stadt": "Ulm"}),
        lambda: fitted.impute(mixed),
    ):
        with pytest.raises(ConfigError, match="model.softmax='allowed'"):
            ask()
    with pytest.raises(ConfigError, match="model.softmax='allowed'"):
        fitted.log_prob(mixed, order=list(mixed.columns)[::-1])


# ---- partial rows and gaps


def same_cells(partial, rows):
    """What was given is there, to the bit."""
    for name in partial.columns:
        there = partial[name].notna()
        assert rows[name][there].tolist() == partial[name][there].tolist(), name


def test_partial_rows_keep_their_index_and_cells(model):
    partial = DF[["height", "weight", "town", "size", "seen"]].iloc[:30].copy()
    partial.loc[::3, "height"] = np.nan
    partial.loc[::4, "size"] = None
    partial["height"] += 1e-9  # not a value of the grid, and yet kept
    partial.index = [f"row {i}" for i in range(30)]
    rows = model.sample(30, given=partial, random_state=0)
    assert rows.index.equals(partial.index)
    assert list(rows.columns) == list(DF.columns)
    assert (rows.dtypes == DF.dtypes).all()
    same_cells(partial, rows)


def test_more_rows_than_partial_ones_take_them_in_turn(model):
    rows = model.sample(5, given=pd.DataFrame({"town": ["Ulm", "Bern"]}), random_state=0)
    assert rows["town"].tolist() == ["Ulm", "Bern", "Ulm", "Bern", "Ulm"]
    valid(rows, 5)


def test_gaps_are_filled_and_all_else_stays(model):
    rng = np.random.default_rng(1)
    gaps = DF.sample(80, random_state=0).astype({"age": float, "smoker": object})
    for some in (["age", "smoker", "id"], ["height", "seen", "stay", "size"], ["weight", "town", "unit", "income"]):
        gaps.loc[rng.random(80) < 0.4, some] = None
    filled = model.impute(gaps, random_state=0)
    assert filled.index.equals(gaps.index)
    assert not filled.isna().any().any()
    same_cells(gaps, filled)
    assert (filled.dtypes == DF.dtypes).all()
    valid(filled, 80)


def test_a_whole_table_comes_back_as_it_was(model):
    whole = DF.dropna().iloc[:20]
    pd.testing.assert_frame_equal(model.impute(whole, random_state=0), whole)


def test_several_draws_differ_where_there_were_gaps(model):
    draws = model.impute(DF.iloc[:40], n_draws=3, random_state=0)
    assert len(draws) == 3
    assert not draws[0].equals(draws[1])
    for filled in draws:
        same_cells(DF.iloc[:40], filled)
    again = model.impute(DF.iloc[:40], n_draws=3, random_state=0)
    pd.testing.assert_frame_equal(draws[2], again[2])
    with pytest.raises(ConfigError, match="n_draws must be at least 1"):
        model.impute(DF, n_draws=0)


def test_gaps_are_drawn_at_temperature_one(model):
    expected = model.impute(DF.iloc[:40], random_state=0)
    hot = copy.deepcopy(model).set_params(sampling={"temperature_category": 50.0, "temperature_numeric": 50.0})
    pd.testing.assert_frame_equal(hot.impute(DF.iloc[:40], random_state=0), expected)
    partial = DF.iloc[:40][["age"]]
    assert not hot.sample(40, given=partial, random_state=0).equals(model.sample(40, given=partial, random_state=0))


def test_gaps_need_columns_and_an_index_that_are_known(model):
    with pytest.raises(SchemaError, match="there is no column 'other'"):
        model.impute(DF.assign(other=1))
    with pytest.raises(ConfigError, match="reset_index"):
        model.impute(pd.concat([DF, DF]))


# ---- shares


def test_classes_come_equally_often(model):
    rows = model.sample(99, balance="town", random_state=0)
    assert rows["town"].value_counts().tolist() == [33, 33, 33]
    assert not rows["town"].is_monotonic_increasing
    valid(rows, 99)
    assert sorted(model.sample(7, balance="smoker")["smoker"].value_counts()) == [3, 4]


def test_classes_come_in_stated_shares(model):
    rows = model.sample(200, mix={"income": {">50K": 0.3, "<=50K": 0.7}}, random_state=0)
    assert rows["income"].value_counts().to_dict() == {"<=50K": 140, ">50K": 60}
    assert set(model.sample(9, mix={"town": {"Ulm": 2}})["town"]) == {"Ulm"}


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"balance": "age"}, ConditionError, "column 'age' is numeric and has no classes"),
        ({"balance": "twon"}, SchemaError, "there is no column 'twon'"),
        ({"mix": {"town": {"Rom": 1}}}, ConditionError, "column 'town' never was 'Rom'; known: 'Bern'"),
        ({"mix": {"town": {"Ulm": -1, "Bern": 2}}}, ConfigError, "shares of 'town' must be non-negative numbers"),
        ({"mix": {"town": {"Ulm": 0}}}, ConfigError, "shares of 'town'"),
        ({"mix": {"town": {}}}, ConfigError, "shares of 'town'"),
        ({"mix": {"town": {"Ulm": 1}, "size": {"S": 1}}}, ConfigError, "mix with one column"),
        ({"balance": "town", "mix": {"size": {"S": 1}}}, ConfigError, "one of given, balance, mix and leaf"),
        ({"balance": "town", "given": {"age": 30}}, ConfigError, "one of given, balance, mix and leaf"),
    ],
)
def test_shares_that_cannot_be_are_named(model, asked, error, message):
    with pytest.raises(error, match=message):
        model.sample(5, **asked)


# ---- likelihoods and predictions


def test_chances_of_all_possible_rows_add_up_to_one():
    rng = np.random.default_rng(0)
    df = pd.DataFrame({name: rng.choice(list("abcd")[:k], 90) for name, k in (("x", 2), ("y", 3), ("z", 4))})
    df["z"] = df["z"].astype(object).mask(rng.random(90) < 0.2)
    fitted = TabTreeFormer(target="x", **TINY, constraints=None, random_state=0, verbose=False).fit(df)
    every = pd.DataFrame(itertools.product("ab", "abc", [*"abcd", None]), columns=list("xyz"))
    logs = fitted.log_prob(every)
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-5)
    parts = fitted.log_prob(every, by_column=True)
    np.testing.assert_allclose(parts.sum(axis=1), logs, atol=1e-6)
    # The part of the first column is that column's own chances.
    first = np.exp(parts["x"].groupby(every["x"]).first())
    assert first.sum() == pytest.approx(1, abs=1e-5)


def test_likelihoods_have_the_rows_index_and_columns(model):
    some = DF.iloc[10:30]
    logs, parts = model.log_prob(some), model.log_prob(some, by_column=True)
    assert logs.index.equals(some.index)
    assert list(parts.columns) == list(DF.columns)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(parts.sum(axis=1), logs)
    assert (parts["unit"] == 0).all()


def test_models_of_the_paper_know_likelihoods_too(mixed, tiny):
    model = TabTreeFormer("S", "income", **tiny, random_state=0, verbose=False).fit(mixed)
    logs, parts = model.log_prob(mixed), model.log_prob(mixed, by_column=True)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(parts.sum(axis=1), logs)
    assert logs.nunique() > len(mixed) // 2


def test_chances_of_all_rows_of_a_paper_model_without_trees_add_up_to_one(tiny):
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"a": rng.choice(["x", "y", "z"], 80), "b": rng.choice(["p", "q"], 80)})
    settings = {**tiny, "tree": {"model": "none"}}
    model = TabTreeFormer("S", **settings, random_state=0, verbose=False).fit(df)
    every = pd.DataFrame([(a, b) for a in "xyz" for b in "pq"], columns=["a", "b"])
    assert float(np.exp(model.log_prob(every)).sum()) == pytest.approx(1.0, abs=1e-6)


def total_chance(model, name, values, sizes):
    """Of all values that a column can hold, each with how much it stands for; the column comes first in the order."""
    rows = pd.concat([DF.iloc[:1]] * len(values), ignore_index=True)
    rows[name] = values
    order = [name, *(other for other in DF.columns if other != name)]
    logs = model.log_prob(rows, by_column=True, order=order)[name]
    return float((np.exp(logs) * sizes).sum())


def test_chances_of_numbers_on_a_grid_add_up_to_one(model):
    """A number between atoms has a density: the chance of a step of the grid is the density times the step."""
    inner = model.fitted_.codec.columns[2].inner
    grid = np.round(np.arange(round(inner.low * 100), round(inner.high * 100) + 1) / 100, 2)
    inside = (grid[:, None] >= inner.lows - 1e-9) & (grid[:, None] <= inner.highs + 1e-9)  # (values, ids)
    grid, inside = grid[inside.any(1)], inside[inside.any(1)]
    atom = (inner.lows == inner.highs)[inside.argmax(1)]
    assert 0 < atom.sum() < len(atom)
    assert total_chance(model, "height", grid, np.where(atom, 1.0, 0.01)) == pytest.approx(1, abs=1e-4)


def test_densities_integrate_to_one_beside_the_chance_of_none(model):
    inner = model.fitted_.codec.columns[3].inner
    assert (inner.lows < inner.highs).any()
    middles, lengths = (inner.lows + inner.highs) / 2, np.where(inner.lows == inner.highs, 1, inner.highs - inner.lows)
    there = total_chance(model, "weight", middles, lengths)
    none = total_chance(model, "weight", [np.nan], 1.0)
    assert 0 < none < 1
    assert there + none == pytest.approx(1, abs=1e-4)


def test_chances_of_durations_add_up_to_one_over_the_steps_of_their_clock(model):
    steps = pd.to_timedelta(np.arange(DF["stay"].min().value, DF["stay"].max().value + 1, 30 * 60 * 10**9))
    inner = model.fitted_.codec.columns[8].inner
    ticks = steps.as_unit(model.fitted_.schema.column("stay").unit).asi8 // inner.step
    held = ((ticks[:, None] >= inner.ticks.lows) & (ticks[:, None] <= inner.ticks.highs)).any(1)
    assert (inner.ticks.lows < inner.ticks.highs).any()
    assert total_chance(model, "stay", steps[held].astype(DF["stay"].dtype), 1.0) == pytest.approx(1, abs=1e-4)


def test_chances_of_days_add_up_to_one(model):
    """Up to the days of the first and the last week that lie outside the range."""
    days = pd.date_range(DF["seen"].min(), DF["seen"].max(), freq="D").astype(DF["seen"].dtype)
    assert 0.85 < total_chance(model, "seen", days, 1.0) < 1 + 1e-4


def test_the_order_of_a_likelihood_names_every_column_once(model):
    parts = model.log_prob(DF.iloc[:9], by_column=True, order=list(DF.columns)[::-1])
    assert list(parts.columns) == list(DF.columns)
    assert not np.allclose(parts["age"], model.log_prob(DF.iloc[:9], by_column=True)["age"])
    with pytest.raises(ConfigError, match="order must name every column once"):
        model.log_prob(DF, order=["age", "age"])


def test_a_single_row_and_rows_that_all_lack_a_value_can_be_judged(model):
    some = DF[DF["weight"].isna()].iloc[:3]
    np.testing.assert_allclose(model.log_prob(some.iloc[:1]), model.log_prob(some).iloc[:1], rtol=1e-5)
    assert len(model.outliers(some)) == 3
    with pytest.raises(ConfigError, match="these lack 'age'"):
        model.log_prob(some.drop(columns="age"))
    assert (model.log_prob(some.assign(height=np.nan)) < model.log_prob(some)).all()
    with pytest.raises(SchemaError, match="height is missing, which was too rare to learn"):
        model.log_prob(some.assign(height=np.nan), strict=True)


def test_outliers_are_the_least_likely_rows(model):
    found = model.outliers(DF, n=5)
    logs = model.log_prob(DF)
    assert found["log_prob"].tolist() == sorted(logs)[:5]
    assert found["log_prob"].tolist() == logs[found.index].tolist()
    for columns in found["columns"]:
        assert len(set(columns)) == 3
        assert set(columns) <= set(DF.columns)


@pytest.mark.parametrize("target", ["income", "town", "size", "smoker"])
def test_chances_of_classes_add_up_to_one(model, target):
    chances = model.predict_proba(DF.iloc[5:25], target=target)
    assert chances.index.equals(DF.index[5:25])
    assert set(chances.columns) == set(DF[target].dropna())
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    said = model.predict(DF.iloc[5:25], target=target)
    assert said.tolist() == chances.idxmax(axis=1).tolist()
    assert said.dtype == DF[target].dtype
    assert said.name == target


def test_the_target_itself_says_nothing_and_gaps_are_no_obstacle(model):
    some = DF.iloc[:20]
    other = some.assign(income=some["income"].iloc[::-1].to_numpy())
    pd.testing.assert_frame_equal(model.predict_proba(some), model.predict_proba(other))
    pd.testing.assert_frame_equal(model.predict_proba(some), model.predict_proba(some.drop(columns="income")))
    assert np.isfinite(model.predict_proba(some[["age"]], target="income").to_numpy()).all()


@pytest.mark.parametrize("target", ["age", "height", "weight", "stay"])
def test_numbers_are_predicted_inside_their_range(model, target):
    said = model.predict(DF.iloc[:20], target=target)
    assert said.between(DF[target].min(), DF[target].max()).all()


@pytest.mark.parametrize("target", ["seen", "id", "unit"])
def test_what_cannot_be_predicted_is_named(model, target):
    with pytest.raises(ConditionError, match=f"'{target}'"):
        model.predict(DF, target=target)
    with pytest.raises(ConditionError, match="'age' is numeric and has no classes; use predict"):
        model.predict_proba(DF, target="age")


def test_answers_survive_the_file(model, tmp_path):
    model.save(tmp_path / "m.tabtree")
    loaded = TabTreeFormer.load(tmp_path / "m.tabtree", verbose=False)
    given = {"age": (30, 40), "town": "Ulm"}
    pd.testing.assert_frame_equal(
        loaded.sample(20, given=given, random_state=0), model.sample(20, given=given, random_state=0)
    )
    np.testing.assert_allclose(loaded.log_prob(DF), model.log_prob(DF))


def test_classes_that_a_law_computes_come_in_equal_and_stated_shares(tiny):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 200)
    df = pd.DataFrame({"age": age, "old": np.where(age > 60, "yes", "no"), "town": rng.choice(["Ulm", "Bern"], 200)})
    model = TabTreeFormer(random_state=0, verbose=False, **tiny).fit(df)
    assert model.fitted_.codec.place_of("old") is None
    rows = model.sample(60, balance="old", random_state=0)
    assert rows["old"].value_counts().to_dict() == {"yes": 30, "no": 30}
    assert ((rows["age"] > 60) == (rows["old"] == "yes")).all()
    rows = model.sample(40, mix={"old": {"yes": 3, "no": 1}}, random_state=0)
    assert rows["old"].value_counts().to_dict() == {"yes": 30, "no": 10}
    with pytest.raises(ConditionError, match="column 'old' never was 'maybe'"):
        model.sample(4, mix={"old": {"maybe": 1}})
    chances = model.predict_proba(df.head(5), target="old")
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert chances.idxmax(axis=1).tolist() == df["old"].head(5).tolist()
