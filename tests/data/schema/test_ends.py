"""Values at the ends of their types come back in range, or are refused before training with column and value."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import Schema, SchemaError, TabTreeFormer

TOP, BIG = 2**63 - 1, 2**64 - 1
SETTINGS = {
    "tree": {"trials": 0, "params": {"n_estimators": 2}},
    "model": {"width": 8, "feed_forward": 8, "heads": 2, "layers": 1},
    "train": {"steps": 2, "batch_size": 32},
}


def spread(dtype):
    limits = np.iinfo(dtype)
    return pd.Series(np.random.default_rng(0).integers(limits.min, limits.max, 60, dtype=dtype, endpoint=True))


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([-TOP - 1, TOP, 0] * 20),
        pd.Series([0, BIG, 5] * 20, dtype="uint64"),
        pd.Series([TOP - TOP % 1024, None, 4] * 20, dtype="Int64"),
        spread("int64"),
        spread("uint64"),
        pd.Series(pd.to_timedelta([TOP, -TOP, 0] * 20)),
        pd.Series(pd.Categorical([True, False] * 4)),
        pd.Series([1e300, -1e300, 2.5] * 20),
    ],
)
def test_values_at_the_ends_come_back_in_range(values, tmp_path):
    df = pd.DataFrame({"a": values, "b": list("xy") * (len(values) // 2)})
    codes = values.dtype.kind in "iu" and values.nunique() < 10
    schema = Schema.infer(df).with_kind("a", "categorical") if codes else None
    model = TabTreeFormer(target="b", **SETTINGS, privacy="off", random_state=0, verbose=False).fit(df, schema=schema)
    model.save(tmp_path / "m.tabtree")
    rows = TabTreeFormer.load(tmp_path / "m.tabtree", verbose=False).sample(60)["a"]
    assert rows.dtype == values.dtype
    known = rows.dropna()
    assert set(rows.isna()) <= set(values.isna()) | {False}
    if values.dtype == "category":
        assert set(known) <= {True, False}
    elif values.dtype.kind == "m":
        assert known.abs().max() <= values.abs().max()
    else:  # a protected end lies between real values or just beyond the last; wrapped numbers would be far outside
        low, high = float(values.min()), float(values.max())
        spare = 0.05 * (high / 2 - low / 2)
        assert low - spare <= float(known.min())
        assert float(known.max()) <= high + spare


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.Series([TOP - i for i in range(60)]), f"column 'a' holds {TOP - 59}, and numbers beyond 2\\*\\*53"),
        (pd.Series([BIG - i for i in range(60)], dtype="uint64"), "column 'a' holds 184467440737095515.., and numbers"),
        (pd.Series([2**53 + 1, 7, 2**60] * 20), "column 'a' holds 9007199254740993, and numbers beyond"),
        (pd.Series([1e307, 2.0, 3.0] * 20), r"column 'a' holds 1e\+307 in row 0; scale the column to below 1e\+300"),
        (pd.Series([1.0, -np.inf, 3.0] * 20), "column 'a' holds -inf in row 1; replace infinities"),
        (pd.Series(["a\ud800", "b"] * 30, dtype=object), "column 'a' holds 'a.ud800', which is not valid text"),
        (pd.Series([f"n{i}\udfff" for i in range(60)], dtype=object), "column 'a' holds 'n0.udfff', which is not"),
    ],
)
def test_values_that_cannot_be_kept_are_refused_with_column_and_value(values, message):
    df = pd.DataFrame({"a": values, "b": list("xy") * 30})
    with pytest.raises(SchemaError, match=message):
        Schema.infer(df).validate(df)


def test_a_name_that_is_no_text_is_refused():
    with pytest.raises(SchemaError, match="column '.udc00' holds"):
        Schema.infer(pd.DataFrame([[1, 2], [3, 4]], columns=pd.Index(["\udc00", "b"], dtype=object)))


@pytest.mark.parametrize("kind", ["categorical", "identifier"])
def test_codes_beyond_what_floats_hold_are_exact_as_a_kind_that_does_not_compute(kind):
    df = pd.DataFrame({"a": [TOP - 7 * (i % 3) for i in range(60)], "b": list("xy") * 30})
    schema = Schema.infer(df).with_kind("a", kind)
    model = TabTreeFormer(target="b", **SETTINGS, privacy="off", random_state=0, verbose=False).fit(df, schema=schema)
    rows = model.sample(40)["a"]
    assert rows.dtype == "int64"
    if kind == "categorical":
        assert set(rows) <= set(df["a"])


def test_a_table_of_too_many_columns_is_refused_at_once(monkeypatch):
    df = pd.DataFrame(np.zeros((30, 100_000)))
    monkeypatch.setattr("tabtreeformer.data.schema.table.describe", None)  # nothing is looked at
    with pytest.raises(SchemaError, match="the table has 100,000 columns, more than 10,000; choose those that matter"):
        TabTreeFormer(verbose=False).fit(df)


@pytest.mark.parametrize("preset", ["auto", "S"])
def test_a_column_of_too_many_categories_is_refused_before_training(monkeypatch, preset):
    monkeypatch.setattr("tabtreeformer.data.schema.labels.MAX_LEARNED", 20)
    df = pd.DataFrame({"a": pd.Categorical(np.repeat([f"v{i}" for i in range(21)], 6)), "b": list("xy") * 63})
    with pytest.raises(SchemaError, match="column 'a' has 21 categories, more than 20; group its values"):
        TabTreeFormer(preset, "b", tree="none", verbose=False).fit(df)


def test_dates_at_the_ends_are_searched_for_parts_in_any_zone():
    ends = [pd.Timestamp.min.ceil("s"), pd.Timestamp.max.floor("s"), pd.Timestamp("2020-01-01")]
    df = pd.DataFrame({"a": pd.to_datetime(ends * 40), "b": [0, 1, 0, 1] * 30})
    rows = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(df).sample(60)
    assert rows["a"].between(df["a"].min(), df["a"].max()).all()
