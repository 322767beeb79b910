"""Numbers come back with the digits that people gave them, as shares and not as copies."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.data.schema import Column
from tabtreeformer.tokens.codecs.atoms import AtomCodec
from tabtreeformer.tokens.codecs.grain import Grain

CONFIG = TokenConfig(scheme="atoms", quantiles=128, bins=1, rare_floor=5)


def back(values, config=CONFIG, seed=0):
    """A column after tokens, drawn twice over."""
    series = pd.Series(values)
    codec = AtomCodec.learn(series, Column("x", "numeric", "float64"), config)
    codec = AtomCodec.from_json(json.loads(json.dumps(codec.to_json())))
    return codec, np.asarray(codec.decode(codec.encode(series), np.random.default_rng(seed)))


def multiples(values, step):
    """The share of values that are multiples of a step, to a millionth of it."""
    return float(np.mean(np.abs(values / step - np.rint(values / step)) < 1e-6))


def rounded(values, steps, shares, rng):
    chosen = rng.choice(len(steps), size=len(values), p=shares)
    return np.choose(chosen, [np.rint(values / step) * step for step in steps])


@pytest.mark.parametrize(
    ("steps", "shares", "scale"),
    [
        ((1000, 1), (0.79, 0.21), 5e5),
        ((1000, 500, 100, 1), (0.5, 0.2, 0.2, 0.1), 5e5),
        ((0.5, 0.01), (0.99, 0.01), 30),
        ((1, 0.1), (0.965, 0.035), 40),
        ((10, 1), (0.97, 0.03), 2000),
        ((300, 60), (0.8, 0.2), 40_000),
        ((0.25, 0.01), (0.6, 0.4), 300),
    ],
)
@pytest.mark.parametrize("floor", [0, 5])
def test_shares_of_steps_come_back(steps, shares, scale, floor):
    rng = np.random.default_rng(7)
    values = np.round(rounded(rng.gamma(4, scale / 4, 6000), steps, shares, rng), 2)
    values = values.astype(np.int64) if min(steps) >= 1 else values
    _, drawn = back(values, TokenConfig(scheme="atoms", quantiles=128, bins=1, rare_floor=floor))
    for step in steps:
        assert multiples(drawn, step) == pytest.approx(multiples(values, step), abs=0.02)


def test_prices_keep_their_endings_and_no_value_is_needed_for_them():
    rng = np.random.default_rng(1)
    values = np.floor(rng.gamma(3, 80, 8000)) + rng.choice([0.99, 0.49, 0.0], 8000, p=[0.7, 0.1, 0.2])
    codec, drawn = back(np.round(values, 2))
    cents = np.rint(drawn * 100) % 100
    assert np.mean(cents == 99) == pytest.approx(0.7, abs=0.02)
    assert np.mean(cents == 49) == pytest.approx(0.1, abs=0.02)
    assert (100, 99) in zip(codec.grain.steps, codec.grain.offsets, strict=True)


def test_grain_differs_by_range():
    rng = np.random.default_rng(2)
    low, high = rng.integers(1_000, 10_000, 4000), rng.integers(100, 1000, 4000) * 1000
    values = np.concatenate([low, high])
    _, drawn = back(values)
    assert multiples(drawn[4000:], 1000) > 0.97
    assert multiples(drawn[:4000], 1000) < 0.03


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), decimals=st.integers(0, 4))
def test_numbers_without_a_grain_have_none(seed, decimals):
    rng = np.random.default_rng(seed)
    codec, _ = back(np.round(rng.normal(500, 80, 3000), decimals) if decimals else rng.integers(0, 90_000, 3000))
    assert codec.grain is None


@pytest.mark.parametrize("step", [1, 1000, 250_000])
def test_whole_numbers_beyond_doubles_keep_their_grain_and_have_odd_digits_where_real_ones_do(step):
    rng = np.random.default_rng(3)
    values = 2**60 + rng.integers(0, 2**50, 5000) // step * step
    values -= values[0] % step
    _, drawn = back(values)
    assert drawn.dtype == np.int64
    assert np.mean(drawn % step == values[0] % step) > 0.98
    if step == 1:
        assert np.mean(drawn % 2) == pytest.approx(0.5, abs=0.05)


def test_floats_of_seven_digits_keep_theirs():
    rng = np.random.default_rng(4)
    values = rounded(rng.gamma(4, 30, 5000), (0.5, 0.001), (0.9, 0.1), rng).astype(np.float32)
    _, drawn = back(np.array([float(str(v)) for v in values]))
    assert multiples(drawn, 0.5) == pytest.approx(multiples(values.astype(np.float64), 0.5), abs=0.02)


def test_values_stay_inside_the_interval_of_their_id():
    rng = np.random.default_rng(5)
    values = pd.Series(rng.integers(100, 900, 4000) * 1000 + (rng.random(4000) < 0.3) * rng.integers(0, 999, 4000))
    codec, _ = back(values)
    ids = codec.encode(values)
    drawn = codec.decode(ids, rng)
    assert np.array_equal(codec.encode(pd.Series(drawn)), ids)


def test_a_stretch_without_any_multiple_still_gives_a_number():
    grain = Grain((1000,), (0,), (0,), ((1.0,),))
    drawn = grain.draw(np.zeros(50, dtype=np.int64), np.full(50, 3), np.full(50, 9), np.random.default_rng(0))
    assert set(drawn.tolist()) <= set(range(3, 10))


@pytest.mark.parametrize("change", [{"steps": [0]}, {"shares": [[2.0]]}, {"starts": [1]}, {"offsets": []}])
def test_a_grain_that_cannot_be_drawn_from_is_refused(change):
    state = Grain((1000,), (0,), (0,), ((1.0,),)).to_json()
    with pytest.raises(ValueError, match="grain"):
        Grain.from_json({**state, **change})
