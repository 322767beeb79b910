import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import KBinsDiscretizer

from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.data.schema import Column
from tabtreeformer.data.schema.numbers import count_decimals
from tabtreeformer.tokens import NumericCodec


def rng():
    return np.random.default_rng(0)


def learn(values, **config):
    return NumericCodec.learn(pd.Series(values), Column("x", "numeric", "float64"), TokenConfig(**config))


@pytest.mark.parametrize("n_quantiles", [7, 1000])
def test_ids_and_midpoints_are_those_of_scikit_learn(n_quantiles):
    values = np.concatenate([rng().normal(size=300), rng().normal(8, 0.1, 200), np.zeros(50)])
    codec = learn(values, quantiles=n_quantiles)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bins = KBinsDiscretizer(10, encode="ordinal", strategy="kmeans", subsample=None, quantile_method="linear")
        quantiles = KBinsDiscretizer(
            n_quantiles, encode="ordinal", strategy="quantile", subsample=None, quantile_method="linear"
        )
        bin_ids = bins.fit_transform(values[:, None])
        quantile_ids = quantiles.fit_transform(values[:, None])
    ids = codec.encode(pd.Series(values))
    assert np.array_equal(ids, np.hstack([bin_ids, quantile_ids]))
    np.testing.assert_allclose(codec.decode(ids, rng()), quantiles.inverse_transform(quantile_ids)[:, 0], atol=1e-12)


def test_two_modes_fall_into_different_bins():
    codec = learn(np.concatenate([rng().normal(0, 0.1, 50), rng().normal(9, 0.1, 50)]), bins=2)
    assert codec.encode(pd.Series([0.1, -0.1, 8.9, 9.2]))[:, 0].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(("value", "place"), [(-9.0, 0), (0.0, 0), (99.0, -1)])
def test_value_outside_the_fitted_range_takes_the_nearest_ids(value, place):
    codec = learn(np.arange(10.0))
    ids = codec.encode(pd.Series([value]))[0]
    assert ids.tolist() == [0 if place == 0 else size - 1 for size in codec.sizes]


def test_a_constant_column_is_one_id_and_comes_back():
    codec = learn([7.5] * 5)
    assert codec.sizes == (1, 1)
    assert codec.decode(codec.encode(pd.Series([7.5] * 3)), rng()).tolist() == [7.5] * 3


def test_never_more_bins_than_distinct_values():
    assert learn([1.0, 2.0, 3.0, 3.0], bins=10).sizes[0] == 3


def test_midpoints_of_whole_numbers_are_whole():
    values = pd.Series(rng().integers(0, 100, 50))
    decoded = learn(values, quantiles=4).decode(np.array([[0, 0], [0, 3]]), rng())
    assert decoded.dtype == np.int64


@pytest.mark.parametrize(
    ("values", "decimals"), [([1.0, 2.0], 0), ([2.5, 3.25], 2), ([0.1, 1e-4], 4), ([np.pi, 1.0], 15), ([1e-20], None)]
)
def test_decimals_are_counted(values, decimals):
    assert count_decimals(np.array(values)) == decimals


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_the_ends_of_the_64_bit_types_do_not_overflow(dtype):
    info = np.iinfo(dtype)
    values = pd.Series([info.min, info.max, info.min + 5, info.max - 5], dtype=dtype)
    codec = learn(values)
    decoded = codec.decode(codec.encode(values), rng())
    assert decoded.min() >= info.min
    assert decoded.max() <= info.max
    middle = info.min // 2 + info.max // 2
    assert [bool(value > middle) for value in decoded] == [False, True, False, True]


column = st.one_of(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=40),
    st.lists(st.integers(-(2**62), 2**62), min_size=2, max_size=40),
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40),
    st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=40),
    st.lists(st.floats(-1e-12, 1e-12), min_size=2, max_size=40),
    st.lists(st.sampled_from([0.0, 2.5, 1e9 + 0.25]), min_size=2, max_size=40),
)


@settings(max_examples=150, deadline=None)
@given(column, st.integers(2, 30), st.data())
def test_a_row_of_any_allowed_ids_decodes_into_the_range(values, n_quantiles, data):
    codec = learn(values, quantiles=n_quantiles)
    codec = NumericCodec.from_json(json.loads(json.dumps(codec.to_json())))
    ids = np.array([[data.draw(st.integers(0, size - 1)) for size in codec.sizes] for _ in range(5)])
    decoded = codec.decode(ids, rng())
    assert min(values) <= decoded.min()
    assert decoded.max() <= max(values)
    assert np.issubdtype(decoded.dtype, np.integer) == isinstance(values[0], int)
    seen = codec.encode(pd.Series(values))
    assert (seen >= 0).all()
    assert (seen < np.array(codec.sizes)).all()


def test_edges_are_in_order_beside_a_number_of_another_order_of_magnitude():
    codec = learn([1.0, 2.0, 3.5762285882500486e17, 0.5], quantiles=2)
    assert (np.diff(codec.bin_edges) >= 0).all()
    assert NumericCodec.from_json(codec.to_json()).to_json() == codec.to_json()


def test_files_of_earlier_versions_load_unless_they_have_further_levels():
    plain = learn(np.arange(30.0)).to_json() | {"splits": [], "split_sizes": [], "decode_by": "midpoint"}
    assert NumericCodec.from_json(plain).sizes == (10, 1000)
    for change in ({"split_sizes": [3]}, {"decode_by": "draw"}):
        with pytest.raises(ValueError, match="no longer supported"):
            NumericCodec.from_json(plain | change)


@pytest.mark.parametrize("scale", [1e-12, 1e-2, 1e120])
def test_columns_of_extreme_scales_keep_their_quantiles(scale):
    values = rng().normal(size=200)
    plain, scaled = learn(values, quantiles=50), learn(values * scale, quantiles=50)
    assert np.array_equal(scaled.encode(pd.Series(values * scale)), plain.encode(pd.Series(values)))
