"""What enough rows support: every id stands for so many rows, and no end is the value of a row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtreeformer.data.rare import intervals, kept_labels, likely_range, slice_means, supported_range

FLOOR = 5


@pytest.mark.parametrize(
    ("counts", "kept", "other"),
    [
        ([9, 7, 5], [0, 1, 2], None),
        ([9, 4, 7, 1], [0, 2], 2),  # five rare rows: a group of their own
        ([6, 4, 7], [0, 2], 1),  # four: they count as the commonest
        ([4, 3, 2], [], None),
    ],
)
def test_labels_that_enough_rows_have_are_kept(counts, kept, other):
    found = kept_labels(np.array(counts), FLOOR)
    assert (found[0].tolist(), found[1]) == (kept, other)


def counted(values):
    return np.unique(np.asarray(values, dtype=np.float64), return_counts=True)


def test_how_far_out_the_outermost_rows_lie_does_not_matter():
    values = np.arange(100.0)
    far = values.copy()
    far[-4:], far[:4] = 1e9, -1e9
    assert supported_range(*counted(values), FLOOR) == supported_range(*counted(far), FLOOR) == (6.0, 93.0)
    assert likely_range(*counted(values), FLOOR) == likely_range(*counted(far), FLOOR)


@pytest.mark.parametrize("draw", ["normal", "exponential", "uniform"])
def test_a_range_probably_reaches_farther_than_the_rows_that_tell_it(draw):
    rng = np.random.default_rng(0)
    misses = {"supported": [], "likely": []}
    for _ in range(50):
        values = 10 + getattr(rng, draw)(size=600)
        counts = counted(values)
        misses["supported"].append(supported_range(*counts, FLOOR)[1] - values.max())
        misses["likely"].append(likely_range(*counts, FLOOR)[1] - values.max())
    assert abs(np.mean(misses["likely"])) < 0.8 * abs(np.mean(misses["supported"]))


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 0.0), (1.0, 100.0)])
def test_a_range_does_not_cross_where_shares_and_percentages_end(low, high):
    values = low + (high - low) * np.random.default_rng(0).beta(0.9, 0.9, 300)
    reach = likely_range(*counted(values), FLOOR)
    assert low <= reach[0] < reach[1] <= high


def test_few_rows_reach_no_farther_than_they_tell():
    values = np.arange(40.0)
    assert likely_range(*counted(values), FLOOR) == supported_range(*counted(values), FLOOR)


@settings(max_examples=200, deadline=None)
@given(
    values=st.lists(st.integers(-60, 60), min_size=FLOOR, max_size=150),
    decimals=st.sampled_from([0, 1, None]),
    most=st.integers(2, 40),
)
def test_every_interval_has_enough_rows_and_no_end_is_a_rare_value(values, decimals, most):
    numbers = np.array(values, dtype=np.float64) / (10.0 ** (decimals or 0))
    if decimals is None:
        numbers = numbers + np.random.default_rng(0).random(len(numbers))
    distinct, counts = counted(numbers)
    lows, highs = intervals(distinct, counts, floor=FLOOR, most=most, decimals=decimals)
    assert (lows <= highs).all()
    assert (highs[:-1] <= lows[1:]).all()
    assert (np.diff(lows) > 0).all()
    ids = np.searchsorted(highs[:-1] / 2 + lows[1:] / 2, numbers, side="left")
    assert np.bincount(ids, minlength=len(lows)).min() >= FLOOR
    assert not {*lows.tolist(), *highs.tolist()} & set(distinct[counts < FLOOR].tolist())
    if len(numbers) >= 3 * FLOOR - 2:  # else there is one interval, about the middle
        assert (numbers <= highs[0]).sum() >= FLOOR
        assert (numbers >= lows[-1]).sum() >= FLOOR


def test_values_that_enough_rows_have_come_back_exactly():
    distinct, counts = counted([0] * 9 + [99] * 6 + list(range(40, 60)))
    lows, highs = intervals(distinct, counts, floor=FLOOR, most=10, decimals=0)
    assert (lows[0], highs[0], lows[-1], highs[-1]) == (0, 0, 99, 99)


def test_counts_of_large_whole_numbers_have_ends_beside_them_too():
    days = 1_700_000_000 * 10**9 + np.arange(60) * 86_400 * 10**9
    distinct, counts = counted(days)
    lows, highs = intervals(distinct, counts, floor=FLOOR, most=20, decimals=0)
    assert len(lows) > 3
    assert not {*lows.tolist(), *highs.tolist()} & set(distinct.tolist())


def test_slices_are_means_of_enough_rows():
    means = slice_means(np.append(np.arange(99.0), 1e6), FLOOR, 101)
    assert len(means) == 20
    assert means[-1] < 99


@pytest.mark.parametrize("decimals", [None, 2])
def test_a_long_tail_keeps_its_spread(decimals):
    """Values spread evenly over the ids that they fall into deviate as the column does, however long its tail is."""
    rng = np.random.default_rng(0)
    values = np.exp(rng.normal(size=20_000) * 1.5)
    values = values if decimals is None else np.round(values, decimals)
    for sign in (1, -1):
        distinct, counts = np.unique(sign * values, return_counts=True)
        lows, highs = intervals(distinct, counts, floor=5, most=128, decimals=decimals)
        ids = np.searchsorted(highs[:-1] / 2 + lows[1:] / 2, sign * values)
        even = lows[ids] + rng.random(len(ids)) * (highs - lows)[ids]
        assert even.std() == pytest.approx(values.std(), rel=0.1)
        assert np.bincount(ids).min() >= 5
        assert len(lows) < 128 + 2 * 8
