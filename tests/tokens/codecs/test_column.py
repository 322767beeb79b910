"""Missing values are ids, in every way of coding."""

import json

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.data.schema import Column, Schema
from tabtreeformer.errors import SchemaError
from tabtreeformer.tokens import SlotKind
from tabtreeformer.tokens.codecs.column import ColumnCodec

N = 400
RNG = np.random.default_rng(0)
GAPS = RNG.random(N) < 0.3
COLUMNS = {
    "numbers": pd.Series(RNG.normal(size=N)),
    "few numbers": pd.Series(RNG.integers(0, 5, N), dtype="Int64"),
    "one number": pd.Series([3.0] * N),
    "labels": pd.Series(RNG.choice(list("abc"), N)),
    "dates": pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 10**8, N), unit="s")),
    "durations": pd.Series(pd.to_timedelta(RNG.integers(0, 10**6, N), unit="s")),
    "keys": pd.Series([f"K{i}" for i in RNG.permutation(N)]),
    "texts": pd.Series([f"{'often' if i % 2 else i} said" for i in range(N)]),
}


def learned(name, scheme="atoms", **config):
    series = COLUMNS[name].mask(GAPS).rename("x")
    column = Schema.infer(pd.DataFrame({"x": series})).columns[0]
    codec = ColumnCodec.learn(series, column, TokenConfig(scheme=scheme, quantiles=30, bins=5, **config))
    return ColumnCodec.from_json(json.loads(json.dumps(codec.to_json())), column), series


@pytest.mark.parametrize("scheme", ["atoms", "quantile"])
@pytest.mark.parametrize("name", COLUMNS)
def test_missing_values_come_back_where_they_were(name, scheme):
    codec, series = learned(name, scheme)
    ids = codec.encode(series)
    assert (ids < [slot.size for slot in codec.slots(0)]).all()
    assert (ids >= 0).all()
    _, gaps = codec.decode(ids, np.random.default_rng(0))
    assert np.array_equal(gaps, GAPS)


@pytest.mark.parametrize("scheme", ["atoms", "quantile"])
@pytest.mark.parametrize("name", COLUMNS)
def test_any_ids_decode(name, scheme):
    codec, series = learned(name, scheme)
    ids = np.column_stack([RNG.integers(0, slot.size, 500) for slot in codec.slots(0)])
    values, gaps = codec.decode(ids, np.random.default_rng(0))
    back = codec.column.write(values, gaps)
    assert back.dtype == series.dtype
    assert np.array_equal(back.isna(), gaps)
    assert 0 < gaps.mean() < 1


def test_a_missing_number_is_an_atom():
    for name in ("numbers", "few numbers"):
        (ids,) = learned(name)[0].slots(0)
        assert ids.size - 1 in ids.atoms


def test_the_paper_s_numbers_have_one_more_bin_and_the_same_quantiles():
    codec, series = learned("numbers", "quantile")
    whole = ColumnCodec.learn(series.dropna(), codec.column, TokenConfig(quantiles=30, bins=5))
    assert [slot.size for slot in codec.slots(0)] == [whole.slots(0)[0].size + 1, whole.slots(0)[1].size]


def test_a_key_that_may_be_missing_is_a_category_of_two():
    codec, _ = learned("keys")
    assert [(slot.kind, slot.size) for slot in codec.slots(0)] == [(SlotKind.CATEGORY, 2)]


def test_a_gap_where_there_was_none_is_an_error():
    codec = ColumnCodec.learn(pd.Series([1.0, 2.0]), Column("x", "numeric", "float64"), TokenConfig())
    with pytest.raises(SchemaError, match="column 'x' has no value in row 1, and had one in every row when fitting"):
        codec.encode(pd.Series([1.0, None]))


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("boolean", ["a", "b", "c"], "'x' is boolean in the schema and has 3 values"),
        ("constant", ["a", "b"], "'x' is constant in the schema, and holds 'a' and 'b'"),
        ("constant", ["a", None], "'x' is constant in the schema, and holds 'a' and missing values"),
    ],
)
def test_a_kind_that_the_values_belie_is_an_error(kind, values, message):
    with pytest.raises(SchemaError, match=message):
        ColumnCodec.learn(pd.Series(values, dtype=object), Column("x", kind, "object"), TokenConfig())
