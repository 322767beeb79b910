from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.data.schema import Column, Schema
from tabtreeformer.errors import SchemaError
from tabtreeformer.evaluation.encoding import LARGEST, MISSING, encode


def codes_of(train: list, other: list, dtype: object = object) -> tuple[list[int], list[int], tuple[str, ...]]:
    """Encode one categorical column of two tables."""
    schema = Schema((Column("x", "categorical", "object"),))
    frames = {"training": pd.DataFrame({"x": pd.Series(train, dtype=dtype)}), "synthetic": pd.DataFrame({"x": other})}
    tables = encode(frames, schema)
    columns = [table.columns[0].tolist() for table in tables.values()]
    return columns[0], columns[1], tables["training"].features[0].labels


@pytest.mark.parametrize(
    "other",
    [
        [1, 2, 10],
        [1.0, 2.0, 10.0],
        ["1", "2", "10"],
        ["1.0", "2.0", "10.0"],
        pd.Categorical([1, 2, 10]),
        pd.array([1, 2, 10], dtype="Int64"),
        np.array([1, 2, 10], dtype=np.float32),
    ],
    ids=lambda values: f"{type(values).__name__} of {type(values[0]).__name__}",
)
@pytest.mark.parametrize("train", [[10, 1, 2, 2], ["10", "1", "2", "2"], [10.0, 1.0, 2.0, 2.0]])
def test_a_category_is_the_same_whatever_its_type(train, other):
    assert codes_of(train, other) == ([3, 1, 2, 2], [1, 2, 3], ("1", "2", "10"))


@pytest.mark.parametrize("other", [[True, False], ["True", "False"], ["true", "false"], [1, 0], [1.0, 0.0]])
def test_truth_values_come_as_words_or_as_numbers(other):
    assert codes_of([True, False, True], other, dtype=bool) == ([2, 1, 2], [2, 1], ("False", "True"))


def test_text_that_spells_the_same_number_stays_apart_where_the_training_rows_keep_it_apart():
    assert codes_of(["1", "01", "1.0"], ["01", "1", "1.0", 1]) == ([2, 1, 3], [1, 2, 3, 2], ("01", "1", "1.0"))


def test_leading_zeros_that_a_tool_has_dropped_are_found_again():
    assert codes_of(["0815", "4711"], [815, 4711])[1] == [1, 2]


def test_missing_is_a_category_and_unseen_values_come_after_the_known_ones():
    train, other, labels = codes_of(["b", None, "a"], ["z", None, np.nan, "a", "y", "z"])
    assert train == [2, MISSING, 1]
    assert other == [3, MISSING, MISSING, 1, 4, 3]
    assert labels == ("a", "b", "z", "y")


def test_categories_keep_the_order_of_their_dtype():
    train = pd.Categorical(["M", "S", "L"], categories=["S", "M", "L", "XL"], ordered=True)
    schema = Schema.infer(pd.DataFrame({"x": train}))
    table = encode({"training": pd.DataFrame({"x": train})}, schema)["training"]
    assert table.features[0].labels == ("S", "M", "L")
    assert table.columns[0].tolist() == [2, 1, 3]


def numbers_of(train: object, other: object) -> list[float]:
    schema = Schema((Column("x", "numeric", "float64"),))
    frames = {"training": pd.DataFrame({"x": train}), "synthetic": pd.DataFrame({"x": other})}
    return encode(frames, schema)["synthetic"].columns[0].tolist()


@pytest.mark.parametrize(
    "other",
    [
        np.array([0.1, 0.7, np.nan]),
        ["0.1", "0.7", None],
        pd.array([0.1, 0.7, None], dtype="Float64"),
        pd.Categorical([0.1, 0.7, None]),
        np.array([0.1, 0.7, np.nan], dtype=np.float32),
        pd.array([0.1, 0.7, None], dtype="Float32"),
    ],
    ids=["numpy", "text", "Float64", "category", "float32", "Float32"],
)
def test_a_number_is_the_same_whatever_its_type(other):
    np.testing.assert_array_equal(numbers_of([0.7, 0.1, 0.1], other), [0.1, 0.7, np.nan])


def test_a_coarse_number_that_no_training_row_has_stays_what_it_is():
    coarse = np.array([0.3, 5.0], dtype=np.float32)
    assert numbers_of([0.1, 0.7], coarse) == coarse.astype(float).tolist()


def test_numbers_too_large_to_sum_are_taken_for_the_largest():
    assert numbers_of([1.0, 2.0], [1e305, -1.7e308]) == [LARGEST, -LARGEST]


def test_columns_are_found_by_name_in_any_order_and_as_text():
    train = pd.DataFrame({0: [1, 2], "b": ["x", "y"]})
    other = pd.DataFrame({"more": [0, 0], "b": ["y", "x"], "0": [5, 6]})
    tables = encode({"training": train, "synthetic": other}, Schema.infer(train))
    assert [column.tolist() for column in tables["synthetic"].columns] == [[5.0, 6.0], [2, 1]]


def test_the_table_that_lacks_a_column_is_named():
    train = pd.DataFrame({"a": [1, 2]})
    with pytest.raises(SchemaError, match="the training table lacks column 'b'; it has 'a'"):
        encode({"training": train}, Schema((Column("b", "numeric", "int64"),)))


@pytest.mark.parametrize(
    "other",
    [
        pd.to_datetime(["2024-01-02", None]),
        ["2024-01-02", None],
        pd.Series(["2024-01-02", None]).astype("datetime64[s]"),
        pd.to_datetime(["2024-01-02 00:00", None]).tz_localize("UTC"),
    ],
    ids=["datetime", "text", "seconds", "zone"],
)
@pytest.mark.parametrize("train", [["2024-01-01", "2024-01-03"], pd.to_datetime(["2024-01-01", "2024-01-03"])])
def test_a_date_is_the_same_whatever_its_type(train, other):
    train = pd.DataFrame({"x": train})
    tables = encode({"training": train, "synthetic": pd.DataFrame({"x": other})}, Schema.infer(train))
    np.testing.assert_array_equal(tables["synthetic"].columns[0], [1704153600.0, np.nan])
    assert tables["training"].features[0].unit == "time"


@pytest.mark.parametrize("other", [["$1,250.00", None], [1250.0, None], ["$1,250.00", "$2.00"]])
def test_money_is_a_number_whatever_its_type(other):
    train = pd.DataFrame({"x": ["$1,000.00", "$2.50"]})
    tables = encode({"training": train, "synthetic": pd.DataFrame({"x": other})}, Schema.infer(train))
    assert tables["synthetic"].columns[0][0] == 1250.0


def test_keys_and_text_are_left_out():
    train = pd.DataFrame({"id": range(30), "x": [1.5, 2.5] * 15})
    table = encode({"training": train}, Schema.infer(train))["training"]
    assert [feature.name for feature in table.features] == ["x"]
    with pytest.raises(SchemaError, match=r"no column can be compared: 'id' \(a key has no distribution\)"):
        encode({"training": train[["id"]]}, Schema.infer(train[["id"]]))


def test_numbers_next_to_nothing_are_zero_so_that_slopes_stay_finite():
    tiny = pd.DataFrame({"a": [0.0, 0.0, 1.0, 1e-300, 2.3e-311]})
    table = encode({"training": tiny}, Schema.infer(tiny))["training"]
    assert table.columns[0].tolist() == [0, 0, 1, 0, 0]
