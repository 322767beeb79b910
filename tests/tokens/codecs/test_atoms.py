import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.data.schema import Column
from tabtreeformer.tokens.codecs.atoms import AtomCodec


def rng():
    return np.random.default_rng(0)


def learn(values, **config):
    return AtomCodec.learn(pd.Series(values), Column("x", "numeric", "float64"), TokenConfig(scheme="atoms", **config))


def test_columns_of_few_values_come_back_exactly():
    values = pd.Series(rng().choice([0.0, 0.5, 2.25, 7.0], 200))
    codec = learn(values, quantiles=20)
    assert len(codec.lows) == 4
    assert np.array_equal(codec.decode(codec.encode(values), rng()), values)


def test_a_value_that_many_rows_have_is_an_atom_among_intervals():
    values = pd.Series(np.concatenate([np.zeros(400), rng().normal(10, 2, 600).round(4)]))
    codec = learn(values, quantiles=20)
    zero = codec.encode(pd.Series([0.0]))[0, -1]
    assert codec.lows[zero] == codec.highs[zero] == 0
    counts = np.bincount(codec.encode(values)[:, -1])
    assert counts[zero] == 400
    others = np.delete(counts, zero)
    assert others.min() > 30  # about 1000 / 20 rows each
    assert others.max() < 75
    decoded = codec.decode(codec.encode(values), rng())
    assert (decoded[:400] == 0).all()
    assert (decoded[400:] != 0).all()


def test_drawn_values_keep_the_decimals_and_fill_the_interval():
    values = pd.Series(rng().uniform(0, 50, 400).round(2))
    codec = learn(values, quantiles=10)
    drawn = codec.decode(np.tile(codec.encode(values), (5, 1)), rng())
    assert np.array_equal(np.round(drawn, 2), drawn)
    assert len(set(drawn)) > 800


@pytest.mark.parametrize(("value", "place"), [(-9.0, 0), (99.0, -1), (4.9, 1), (5.2, 1)])
def test_a_value_never_seen_takes_the_nearest_id(value, place):
    codec = learn([0.0, 5.0, 10.0])
    assert codec.encode(pd.Series([value]))[0, -1] == range(3)[place]


column = st.one_of(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=80),
    st.lists(st.integers(-(2**62), 2**62), min_size=2, max_size=60),
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60),
    st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=40),
    st.lists(st.sampled_from([0.0, 2.5, 1e9 + 0.25]), min_size=2, max_size=40),
)


@settings(max_examples=200, deadline=None)
@given(column, st.integers(2, 30))
def test_every_id_decodes_into_the_range_and_encodes_back(values, n_quantiles):
    codec = learn(values, quantiles=n_quantiles)
    codec = AtomCodec.from_json(json.loads(json.dumps(codec.to_json())))
    assert len(codec.lows) <= 2 * n_quantiles + 1
    seen = codec.encode(pd.Series(values))
    assert set(seen[:, -1]) == set(range(len(codec.lows)))  # no id that no row has
    decoded = codec.decode(seen, rng())
    assert min(values) <= decoded.min()
    assert decoded.max() <= max(values)
    assert np.issubdtype(decoded.dtype, np.integer) == isinstance(values[0], int)
    if isinstance(values[0], float) or max(abs(v) for v in values) < 2**52:
        assert np.array_equal(codec.encode(pd.Series(decoded)), seen)


def test_a_file_with_bins_before_ids_is_refused_with_the_way_out():
    data = learn([0.0, 5.0, 10.0]).to_json()
    with pytest.raises(ValueError, match="fit the table again"):
        AtomCodec.from_json({**data, "bin_starts": [0, 2]})
    assert AtomCodec.from_json({**data, "bin_starts": []}).lows.tolist() == [0.0, 5.0, 10.0]
