import ipaddress
import json
import uuid

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.data.schema import BOOLEAN, CATEGORICAL, NUMERIC, Labels, Schema
from tabtreeformer.data.schema import labels as labels_module
from tabtreeformer.data.schema.dtypes import dtype_of
from tabtreeformer.errors import ReadingWarning, SchemaError

N = 6
DTYPES = {
    **{
        name: pd.Series(range(N), dtype=name)
        for name in ("int8", "uint8", "int16", "int32", "int64", "uint64", "Int64")
    },
    **{name: pd.Series(np.arange(N) / 4, dtype=name) for name in ("float32", "float64", "Float64")},
    "int64[pyarrow]": pd.Series(range(N), dtype="int64[pyarrow]"),
    "bool": pd.Series([True, False] * 3),
    "boolean": pd.Series([True, False] * 3, dtype="boolean"),
    "object": pd.Series(list("abcabc"), dtype=object),
    "mixed object": pd.Series(["a", 1, 2.5, "a", 1, 2.5], dtype=object),
    "default text": pd.Series(list("abcabc")),
    "string[python]": pd.Series(list("abcabc"), dtype="string[python]"),
    "string[pyarrow]": pd.Series(list("abcabc"), dtype="string[pyarrow]"),
    "category": pd.Series(pd.Categorical(list("abcabc"))),
    "ordered category": pd.Series(pd.Categorical(list("abcabc"), categories=list("cbax"), ordered=True)),
    "category of numbers": pd.Series(pd.Categorical([3, 1, 2, 3, 1, 2])),
}


@pytest.mark.parametrize("name", DTYPES)
def test_values_come_back_in_the_very_same_dtype(name):
    df = pd.DataFrame({"x": DTYPES[name]})
    schema = Schema.from_json(json.loads(json.dumps(Schema.infer(df).to_json())))
    if schema.columns[0].kind == NUMERIC:
        values = df["x"].to_numpy(dtype=np.float64)
        values = values.astype(np.int64) if pd.api.types.is_integer_dtype(df["x"].dtype) else values
    else:
        labels = Labels.learn(df["x"])
        values = labels.decode(labels.encode(df["x"]))
    restored = schema.restore({"x": values})
    assert restored["x"].dtype == df["x"].dtype
    pd.testing.assert_frame_equal(restored, df)


def test_names_and_order_come_back():
    df = pd.DataFrame([[1, 2, 3, 4, 5]] * 2, columns=["b", "", 7, "ä ö", "a"])
    schema = Schema.infer(df)
    restored = schema.restore({name: np.arange(3) for name in schema.names})
    assert list(restored.columns) == ["b", "", 7, "ä ö", "a"]


@pytest.mark.parametrize(
    ("values", "target", "kind"),
    [
        ([0, 1, 1, 0], "y", CATEGORICAL),
        ([0, 1, 1, 0], None, NUMERIC),
        (list(range(30)), "y", NUMERIC),
        ([0.0, 1.0, 1.0, 0.0], "y", NUMERIC),
        ([True, False], None, BOOLEAN),
        (["a", "b"], None, CATEGORICAL),
    ],
)
def test_kind_follows_dtype_and_a_whole_number_target_of_few_values_is_a_class(values, target, kind):
    assert Schema.infer(pd.DataFrame({"y": values, "x": 0}), target).column("y").kind == kind


def test_kind_can_be_overridden():
    df = pd.DataFrame({"zip": [1, 2], "s": ["a", "b"]})
    assert Schema.infer(df).with_kind("zip", CATEGORICAL).column("zip").kind == CATEGORICAL
    with pytest.raises(SchemaError, match="column 's' .* cannot be numeric"):
        Schema.infer(df).with_kind("s", NUMERIC)
    with pytest.raises(SchemaError, match="kind 'txt'; known kinds: numeric, categorical"):
        Schema.infer(df).with_kind("s", "txt")


@pytest.mark.parametrize(
    ("df", "message"),
    [
        ([1, 2], "a pandas DataFrame is needed, got list"),
        (pd.DataFrame(), "the table has no columns"),
        (pd.DataFrame({"a": []}), "the table has 0 rows; at least 2 are needed"),
        (pd.DataFrame({"a": [1]}), "the table has 1 row; at least 2 are needed"),
        (pd.DataFrame([[1, 2]] * 2, columns=["a", "a"]), "column name 'a' occurs more than once"),
        (pd.DataFrame({1.5: [1, 2]}), "column name 1.5 is neither text nor a whole number"),
        (pd.DataFrame({("a", "b"): [1, 2]}), "the columns have several levels"),
        (pd.DataFrame({"a": [1.0, np.inf]}), "column 'a' holds inf in row 1"),
        (pd.DataFrame({"a": [1j, 2j]}), "column 'a' holds complex numbers"),
        (pd.DataFrame({"a": ["x", [1]]}), r"column 'a' holds a list, \[1\]"),
        (pd.DataFrame({"a": [b"x", b"y"]}), "column 'a' holds b'x' of type bytes"),
        (pd.DataFrame({"a": [1j, None]}, dtype=object), "column 'a' holds 1j of type complex"),
    ],
)
def test_a_table_that_cannot_be_used_says_why(df, message):
    with pytest.raises(SchemaError, match=message):
        Schema.infer(df).validate(df)


def test_too_many_categories_are_refused(monkeypatch):
    monkeypatch.setattr(labels_module, "MAX_CATEGORIES", 3)
    with pytest.raises(SchemaError, match="column 'id' has 4 distinct values, more than 3; drop it"):
        Labels.learn(pd.Series(list("abcd"), name="id"))


def test_an_absent_column_lists_those_there_are():
    schema = Schema.infer(pd.DataFrame({"a": [1, 2], "b": [1, 2]}))
    with pytest.raises(SchemaError, match="the table lacks 'b'; it has 'a', 'c'"):
        schema.validate(pd.DataFrame({"a": [1, 2], "c": [1, 2]}))
    with pytest.raises(SchemaError, match="there is no column 'y'; the table has 'a', 'b'"):
        schema.column("y")


def test_labels_are_sorted_and_refuse_the_unseen():
    labels = Labels.learn(pd.Series(["b", "a", "b"]))
    assert labels.values == ("a", "b")
    with pytest.raises(SchemaError, match="column 'x' holds 'c', unseen when fitting"):
        labels.encode(pd.Series(["a", "c"], name="x"))


def test_labels_leave_out_categories_that_no_row_has():
    assert Labels.learn(pd.Series(pd.Categorical(["b", "b"], categories=["z", "b"]))).values == ("b",)


@pytest.mark.parametrize("zone", ["dateutil//etc/passwd", "/etc/passwd", "../../etc/passwd", "Mars/Olympus"])
@pytest.mark.parametrize("form", ["datetime64[ns, {}]", "arrow:timestamp[ns, tz={}]"])
def test_a_time_zone_that_is_none_opens_no_file(zone, form):
    with pytest.raises(SchemaError, match="there is no time zone"):
        dtype_of(form.format(zone))


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "UTC+01:00", "Etc/GMT+5"])
def test_time_zones_and_offsets_come_back(zone):
    assert dtype_of(str(pd.DatetimeTZDtype("ns", zone))) == pd.DatetimeTZDtype("ns", zone)


@pytest.mark.filterwarnings("ignore::tabtreeformer.errors.ReadingWarning")
def test_periods_intervals_and_lists_come_back():
    rng = np.random.default_rng(0)
    df = pd.DataFrame(
        {
            "month": pd.period_range("2020-01", periods=60, freq="M").take(rng.integers(0, 60, 100)),
            "cut": pd.cut(rng.normal(size=100), 4),
            "span": pd.arrays.IntervalArray(pd.cut(rng.normal(size=100), 4)),
        }
    )
    schema = Schema.infer(df)
    schema = Schema.from_json(json.loads(json.dumps(schema.to_json())))
    assert [column.kind for column in schema.columns] == ["datetime", "categorical", "categorical"]
    back = schema.restore({c.name: c.read(df[c.name]).to_numpy() for c in schema.columns})
    assert (back.dtypes == df.dtypes).all()
    assert (back == df).all().all()
    with pytest.warns(ReadingWarning, match="column 'tags' holds lists or dicts, kept as JSON text"):
        column = Schema.infer(pd.DataFrame({"tags": [["a", "b"], ["c"]] * 20})).column("tags")
    assert (column.kind, column.meaning) == ("text", "json")
    held = pd.DataFrame(
        {"key": [uuid.UUID(int=k) for k in range(40)], "ip": [ipaddress.ip_address(k) for k in range(40)]}
    )
    assert [column.meaning for column in Schema.infer(held).columns] == ["uuid", "ipv4"]
