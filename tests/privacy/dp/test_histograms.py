"""Counts, lists, ranges and intervals: what noise does to them, and what they become without much of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import Schema, SchemaError
from tabtreeformer.data.schema import IDENTIFIER, TEXT
from tabtreeformer.privacy.dp.budget import Plan
from tabtreeformer.privacy.dp.columns import check, histograms_of, learn_column
from tabtreeformer.privacy.dp.histograms import Histograms, Secret
from tabtreeformer.privacy.dp.noise import Noise
from tabtreeformer.privacy.dp.numbers import cells, find_range, learn_number
from tabtreeformer.tokens.codecs.atoms import AtomCodec


def histograms(noise: float = 0.01, n: int = 40, found: int = 20, seed: int = 0, n_rows: int = 0) -> Histograms:
    plan = Plan(1.0, 1e-5, n, found, noise, 1.0, 0.1, 10)
    return Histograms(plan, Noise(np.random.default_rng(seed)), n_rows)


def learned(series: pd.Series, noise: float = 0.01, **public):
    schema = Schema.infer(pd.DataFrame({"x": series}))
    if public:
        schema = schema.with_public("x", **public)
    return learn_column(series, schema.columns[0], 64, histograms(noise, n_rows=len(series)))


def test_noise_has_the_width_that_the_plan_says():
    make = histograms(noise=5.0, n=4)
    counts, _ = make.count(Secret(np.zeros(100, dtype=np.int64)), 20_000)
    assert np.std(counts[1:]) == pytest.approx(5.0 * 2, rel=0.03)  # √4 histograms
    assert abs(np.mean(counts[1:])) < 0.3
    assert np.array_equal(counts, np.rint(counts))


@pytest.mark.parametrize("seed", [None, 3])
def test_both_sources_of_noise_are_standard_normal(seed):
    noise = Noise(None if seed is None else np.random.default_rng(seed))
    drawn = noise.normal(20_000)
    assert abs(drawn.mean()) < 0.03
    assert drawn.std() == pytest.approx(1.0, abs=0.03)
    assert ((drawn > 1.96).mean() + (drawn < -1.96).mean()) == pytest.approx(0.05, abs=0.01)
    assert 0 < noise.uniform(1000).min() < noise.uniform(1000).max() < 1


def test_system_noise_differs_each_time_and_seeded_noise_does_not():
    assert not np.array_equal(Noise().normal(5), Noise().normal(5))
    first, second = (Noise(np.random.default_rng(1)).normal(5) for _ in range(2))
    assert np.array_equal(first, second)


def test_no_more_histograms_are_made_than_the_plan_has():
    make = histograms(n=1)
    make.count(Secret(np.zeros(3, dtype=np.int64)), 2)
    with pytest.raises(AssertionError, match="more histograms"):
        make.count(Secret(np.zeros(3, dtype=np.int64)), 2)


def test_a_value_of_one_row_is_not_found_and_frequent_ones_are():
    values = Secret(np.array(["often"] * 500 + ["canary"], dtype=object), 40)
    for seed in range(50):
        found, n_missing = histograms(noise=1.0, seed=seed).find(values)
        assert list(found) == ["often"]
        assert n_missing == pytest.approx(40, abs=40)


@pytest.mark.parametrize(
    ("values", "whole", "ends"),
    [
        ([3, 5, 17], True, (2, 31)),
        ([0, 1], True, (0, 1)),
        ([-5, 100], True, (-7, 127)),
        ([0.3, 0.9], False, (0.25, 1.0)),
        ([-0.3, -0.9], False, (-1.0, -0.25)),
        ([0.0, 0.0], False, (0.0, 0.0)),
    ],
)
def test_a_range_is_that_of_the_octaves_that_hold_rows(values, whole, ends):
    found = find_range(Secret(np.repeat(np.array(values, dtype=np.float64), 100)), whole, histograms())
    assert found == ends


def test_a_single_outlier_does_not_move_the_range():
    values = np.append(np.full(500, 20.0), 1e9)
    assert find_range(Secret(values), True, histograms(noise=1.0)) == (16, 31)


@pytest.mark.parametrize(
    ("low", "high", "decimals"), [(0, 9, 0), (0, 100_000, 0), (-3.5, 900.25, 2), (0.001, 7e5, None), (-5.0, 5.0, None)]
)
def test_cells_cover_the_range_in_order_without_gaps(low, high, decimals):
    lows, highs = cells(float(low), float(high), decimals)
    assert lows[0] == low
    assert highs[-1] == high
    assert (highs >= lows).all()
    step = 0 if decimals is None else 10.0**-decimals
    assert np.allclose(lows[1:] - highs[:-1], step)


def test_noise_hardly_ever_carries_a_range_away():
    """At one in a hundred columns three of these would reach to where nobody is."""
    values = np.repeat([-1.0, 180.0], 1000)
    ranges = {find_range(Secret(values), True, histograms(noise=2.0, seed=seed)) for seed in range(300)}
    assert ranges == {(-1.0, 255.0)}


def test_a_far_code_does_not_blur_the_values_near_zero():
    values = np.concatenate([np.repeat(np.arange(18.0, 80.0), 50), np.full(200, 9_999_999_999.0)])
    make, secret = histograms(noise=0.5, n_rows=len(values)), Secret(values)
    codec = learn_number(secret, None, find_range(secret, True, make), 0, True, 64, make).codec
    back = codec.decode(codec.encode(pd.Series(values)), np.random.default_rng(0))
    assert np.abs(back - values)[values < 100].max() < 8


def test_with_hardly_any_noise_numbers_are_cut_like_those_without():
    values = pd.Series(np.random.default_rng(0).poisson(4, 5000))
    column = learned(values)
    codec, counts = column.codec.inner, column.counts[0]
    assert isinstance(codec, AtomCodec)
    known = values.value_counts().sort_index()
    common = known[known >= 5000 / 64]
    assert set(common.index) <= set(codec.lows[codec.lows == codec.highs].astype(int))
    assert counts.sum() == pytest.approx(5000, abs=5)
    share = counts[np.searchsorted(codec.lows, 4)] / counts.sum()
    assert share == pytest.approx(known[4] / 5000, abs=0.01)


def test_intervals_hold_about_equal_shares():
    values = np.random.default_rng(1).lognormal(3, 1, 20_000)
    found = learn_number(Secret(values), None, (0.0, 2048.0), None, False, 32, histograms(n_rows=len(values)))
    share = found.mass / found.mass.sum()
    assert len(share) > 16
    assert share.max() < 0.15
    ids = found.codec.encode(pd.Series(values))[:, 0]
    assert np.bincount(ids, minlength=len(share)) == pytest.approx(found.mass, abs=60)


def test_much_noise_hides_what_the_counts_were():
    values = pd.Series(["a"] * 300 + ["b"] * 100)
    quiet = learned(values, values=["a", "b"]).counts[0]
    loud = learned(values, noise=1e4, values=["a", "b"]).counts[0]
    assert quiet == pytest.approx([300, 100], abs=2)
    assert np.abs(loud - [300, 100]).min() > 300


def test_given_values_and_ranges_cost_no_search():
    schema = Schema.infer(pd.DataFrame({"x": ["a", "b"] * 20, "n": [1.5, 2.25] * 20}))
    assert [histograms_of(c) for c in schema.columns] == [(1, 1), (3, 0)]
    schema = schema.with_public("x", values=["a", "b"]).with_public("n", low=0, high=10)
    assert [histograms_of(c) for c in schema.columns] == [(1, 0), (2, 0)]


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(["a", "b", None, "c"] * 100),
        pd.Series([1.25, None, 3.5, 0.0] * 100),
        pd.Series(pd.to_datetime(["2021-03-01", "2021-04-17", None, "2022-01-01"] * 100)),
        pd.Series(pd.to_datetime(["2021-03-01 10:30", "2021-04-17 11:00", "2022-01-01 23:15"] * 100)),
        pd.Series(pd.to_timedelta(["1h", "3h", "90min", None] * 100)),
        pd.Series([True, False, True, True] * 100),
        pd.Series(["same"] * 400),
        pd.Series([None] * 400, dtype=object),
    ],
)
def test_every_kind_makes_as_many_histograms_as_it_says_and_decodes_to_its_own_values(series):
    schema = Schema.infer(pd.DataFrame({"x": series}))
    n, found = histograms_of(schema.columns[0])
    plan = Plan(1.0, 1e-5, n, found, 0.01, 1.0, 0.1, 10)
    rng = np.random.default_rng(0)
    column = learn_column(series, schema.columns[0], 64, Histograms(plan, Noise(rng), len(series)))
    ids = column.encode(series, rng)
    assert [len(c) for c in column.counts] == [slot.size for slot in column.codec.slots(0)]
    values, gaps = column.codec.decode(ids, rng)
    back = schema.restore({"x": values}, {"x": gaps})["x"]
    assert back.dtype == series.dtype
    assert back.isna().tolist() == series.isna().tolist()
    if column.codec.column.kind in ("categorical", "boolean", "constant"):
        assert back.equals(series)


def test_a_value_that_is_not_on_the_list_is_encoded_as_one_that_is():
    series = pd.Series(["a"] * 50 + ["b"] * 50 + ["canary"])
    column = learned(series, noise=0.5)
    assert "canary" not in column.codec.inner.labels.values
    ids = column.encode(series, np.random.default_rng(0))
    assert ids.max() < len(column.codec.inner.labels.values)


def test_texts_and_keys_without_a_public_placeholder_are_refused():
    schema = Schema.infer(
        pd.DataFrame({"note": [f"word {k}" for k in range(60)], "key": [f"K-{k}" for k in range(60)]})
    )
    schema = schema.with_kind("note", TEXT).with_kind("key", IDENTIFIER)
    for column in schema.columns:
        with pytest.raises(SchemaError, match="placeholder"):
            check(column)
        check(schema.with_placeholder(column.name, "new {n}").column(column.name))


def test_a_column_without_any_frequent_value_says_what_to_do():
    with pytest.raises(SchemaError, match="list its values in the schema"):
        learned(pd.Series(["a", "b", "c"] * 30), noise=100.0)
