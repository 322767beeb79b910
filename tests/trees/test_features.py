from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.data.schema import Schema
from tabtreeformer.errors import SchemaError
from tabtreeformer.trees import FeatureEncoder, Features, Target, choose_target


@pytest.fixture
def df() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "colour": ["red", "blue", "red", "green"],
            "height": [1.5, 2.5, 3.5, 4.5],
            "young": [True, False, True, True],
            "count": pd.array([10, 20, 30, 40], dtype="Int64"),
        }
    )


def test_every_column_but_the_target_becomes_a_column_and_categories_are_marked(df):
    features = FeatureEncoder.learn(df, Schema.infer(df), "height").features(df)
    np.testing.assert_array_equal(features.matrix, [[2, 1, 10], [0, 0, 20], [2, 1, 30], [1, 1, 40]])
    assert features.matrix.dtype == np.float64
    assert features.categorical == (0, 1)
    assert features.n_rows == 4


def test_a_categorical_target_is_codes_and_a_numeric_one_numbers(df):
    schema = Schema.infer(df)
    colour = FeatureEncoder.learn(df, schema, "colour").target(df)
    np.testing.assert_array_equal(colour.values, [2, 0, 2, 1])
    assert (colour.n_classes, colour.values.dtype) == (3, np.int64)
    count = FeatureEncoder.learn(df, schema, "count").target(df)
    np.testing.assert_array_equal(count.values, [10.0, 20.0, 30.0, 40.0])
    assert (count.n_classes, count.values.dtype) == (None, np.float64)


def test_numbers_declared_categorical_are_codes(df):
    schema = Schema.infer(df).with_kind("count", "categorical")
    target = FeatureEncoder.learn(df, schema, "count").target(df)
    np.testing.assert_array_equal(target.values, [0, 1, 2, 3])
    assert target.n_classes == 4


def test_codes_are_those_of_the_table_learned_from_not_of_the_one_encoded(df):
    encoder = FeatureEncoder.learn(df, Schema.infer(df), "height")
    np.testing.assert_array_equal(encoder.features(df.iloc[[3]]).matrix, [[1, 1, 40]])
    assert FeatureEncoder.learn(df, Schema.infer(df), "colour").target(df.iloc[[3]]).n_classes == 3


def test_features_need_no_target_column(df):
    encoder = FeatureEncoder.learn(df, Schema.infer(df), "height")
    assert encoder.features(df.drop(columns="height")).n_rows == 4


def test_a_category_never_seen_is_named(df):
    encoder = FeatureEncoder.learn(df, Schema.infer(df), "height")
    with pytest.raises(SchemaError, match=r"'colour' holds 'mauve'"):
        encoder.features(df.assign(colour="mauve"))


def test_numbers_beyond_what_tree_libraries_hold_are_brought_within(df):
    df["height"] = [1e300, -1e300, 0.0, 1.0]
    schema = Schema.infer(df)
    for values in (
        FeatureEncoder.learn(df, schema, "colour").features(df).matrix[:, 0],
        FeatureEncoder.learn(df, schema, "height").target(df).values,
    ):
        assert np.isfinite(values.astype(np.float32)).all()
        np.testing.assert_array_equal(np.argsort(values), [1, 2, 3, 0])


@pytest.mark.parametrize("target", ["colour", "height", "count"])
def test_an_encoder_comes_back_from_json_text(df, target):
    encoder = FeatureEncoder.learn(df, Schema.infer(df), target)
    again = FeatureEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert again == encoder
    assert again.target_name == target
    np.testing.assert_array_equal(again.features(df).matrix, encoder.features(df).matrix)


def test_rows_are_taken_in_the_order_asked_for():
    rows = np.array([2, 0])
    features = Features(np.arange(6.0).reshape(3, 2), categorical=(1,)).take(rows)
    np.testing.assert_array_equal(features.matrix, [[4, 5], [0, 1]])
    assert features.categorical == (1,)
    target = Target(np.array([0, 1, 1]), 2).take(rows)
    assert (target.values.tolist(), target.n_classes) == ([1, 0], 2)


def test_a_given_target_is_kept_and_an_unknown_one_refused(df):
    schema, rng = Schema.infer(df), np.random.default_rng(0)
    assert choose_target(schema, df, "young", rng) == "young"
    with pytest.raises(SchemaError, match="weight"):
        choose_target(schema, df, "weight", rng)


def test_without_a_target_any_column_that_varies_may_be_drawn_by_seed(df):
    df["flat"] = 1
    schema = Schema.infer(df)
    drawn = [choose_target(schema, df, None, np.random.default_rng(seed)) for seed in range(60)]
    assert set(drawn) == {"colour", "height", "young", "count"}
    assert drawn == [choose_target(schema, df, None, np.random.default_rng(seed)) for seed in range(60)]


@pytest.mark.parametrize(
    ("columns", "target"),
    [
        ({"a": [1, 2]}, "a"),
        ({"a": [1, 2]}, None),
        ({"a": [1, 1], "b": [1, 2]}, "a"),
        ({"a": [1, 1], "b": [1, 2]}, "b"),
        ({"a": [1, 1], "b": [2, 2]}, None),
    ],
)
def test_there_is_no_target_where_there_is_nothing_to_learn(columns, target):
    df = pd.DataFrame(columns)
    assert choose_target(Schema.infer(df), df, target, np.random.default_rng(0)) is None


def test_a_column_of_many_categories_is_never_drawn():
    df = pd.DataFrame({"name": [f"n{i}" for i in range(40)], "a": [i * i for i in range(40)], "b": list("xy") * 20})
    schema = Schema.infer(df).with_kind("name", "categorical")
    drawn = {choose_target(schema, df, None, np.random.default_rng(seed)) for seed in range(40)}
    assert drawn == {"a", "b"}
    assert choose_target(schema, df, "name", np.random.default_rng(0)) == "name"
    names = df[["name"]].assign(other=[f"m{i}" for i in range(40)])
    assert choose_target(Schema.infer(names), names, None, np.random.default_rng(0)) is None


def test_missing_categories_are_one_more_code_and_missing_numbers_are_not_a_number():
    df = pd.DataFrame({"a": [1.5, None, 3.0], "b": ["x", None, "y"], "y": [True, False, True]})
    features = FeatureEncoder.learn(df, Schema.infer(df), "y").features(df)
    np.testing.assert_array_equal(features.matrix, [[1.5, 0], [np.nan, 2], [3.0, 1]])


def test_keys_text_and_constants_are_not_predicted_from_and_dates_are_numbers():
    n = 40
    df = pd.DataFrame(
        {
            "id": range(n),
            "name": [f"{i} {chr(65 + i % 26)} of x" for i in range(n)],
            "same": ["x"] * n,
            "when": pd.date_range("2024-01-01", periods=n),
            "y": [True, False] * (n // 2),
        }
    )
    schema = Schema.infer(df)
    assert FeatureEncoder.learn(df, schema, "y").features(df).matrix.shape == (n, 1)
    assert {choose_target(schema, df, None, np.random.default_rng(seed)) for seed in range(20)} == {"when", "y"}
    assert choose_target(schema, df, "name", np.random.default_rng(0)) is None


def test_a_target_is_chosen_by_its_name_then_by_its_kind():
    df = pd.DataFrame({"class": ["a", "b"] * 9, "x": np.arange(18.0), "town": ["u", "v", "w"] * 6, "z": np.arange(18)})
    rng = np.random.default_rng(0)
    assert choose_target(Schema.infer(df), df, None, rng, drawn=False) == "class"
    df = df.rename(columns={"class": "k"})
    assert choose_target(Schema.infer(df), df, None, rng, drawn=False) == "town"
    df = df[["x", "z"]].assign(z=df["x"] ** 2)
    assert choose_target(Schema.infer(df), df, None, rng, drawn=False) == "z"
