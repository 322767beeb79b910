from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tabtreeformer.evaluation import evaluate
from tabtreeformer.evaluation.metrics.correlation import correlations
from tabtreeformer.evaluation.metrics.fidelity import binned, cramers_v, ks_complement, total_variation_complement

EXACT = 1e-12


def pairs(real: pd.DataFrame, synthetic: pd.DataFrame) -> dict[tuple[str, str], float | None]:
    breakdown = evaluate(real, None, synthetic, metrics=["trend"]).scores["trend"].breakdown
    return {tuple(pair["columns"]): pair["score"] for pair in breakdown["pairs"]}


@pytest.mark.parametrize("decimals", [0, 1, 12])
def test_the_distance_of_numbers_is_that_of_kolmogorov_and_smirnov(decimals):
    rng = np.random.default_rng(decimals)
    left, right = np.round(rng.normal(size=311), decimals), np.round(rng.normal(0.2, size=97), decimals)
    expected = 1 - stats.ks_2samp(left, right).statistic
    assert ks_complement(np.append(left, np.nan), right) == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize(
    ("real", "synthetic", "score"),
    [
        ([1, 1, 2, 2], [1, 2, 1, 2], 1.0),
        ([1, 1, 2, 2], [1, 1, 1, 2], 0.75),
        ([1, 1, 0, 0], [1, 0], 1.0),  # missing values are left out
        ([1, 1], [2, 2], 0.0),
        ([0, 0], [1, 1], np.nan),
    ],
)
def test_the_distance_of_categories_is_half_the_difference_of_their_shares(real, synthetic, score):
    result = total_variation_complement(np.array(real, dtype=np.int32), np.array(synthetic, dtype=np.int32))
    assert result == pytest.approx(score, abs=1e-6, nan_ok=True)


def test_correlations_are_pearsons_over_the_rows_that_both_columns_have():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(500, 5)) @ rng.normal(size=(5, 5)))
    table[1] += 1e9
    table[3] = table[3].mask(rng.random(500) < 0.3)
    table[4] = table[4].mask(rng.random(500) < 0.9)
    result = correlations([table[name].to_numpy() for name in table])
    np.testing.assert_allclose(result, table.corr(), atol=1e-6)
    both = table[[0, 3]].dropna()
    assert result[0, 3] == pytest.approx(stats.pearsonr(both[0], both[3]).statistic, abs=EXACT)


def test_correlations_of_huge_and_of_constant_columns_do_not_overflow():
    huge = np.array([1e300, -1e300, 5e299])
    result = correlations([huge, huge / 2, np.full(3, 7.0), np.array([1.0, np.nan, np.nan])])
    np.testing.assert_allclose(result[:2, :2], 1, atol=EXACT)
    assert np.isnan(result[2:]).all()


@pytest.mark.parametrize("sizes", [(3, 4), (1000, 900)], ids=["small table of cells", "more cells than rows"])
def test_association_is_cramers_v(sizes):
    rng = np.random.default_rng(1)
    left = rng.integers(0, sizes[0], 400)
    right = np.where(rng.random(400) < 0.5, left % sizes[1], rng.integers(0, sizes[1], 400))
    expected = stats.contingency.association(pd.crosstab(left, right).to_numpy(), method="cramer")
    assert cramers_v(left, right) == pytest.approx(expected, abs=1e-9)


def test_numbers_are_cut_into_ten_bins_and_the_largest_and_the_missing_come_after():
    assert binned(np.array([0.0, 0.99, 1.0, 9.99, 10.0, np.nan])).tolist() == [1, 1, 2, 10, 11, 11]


def test_joint_shares_are_compared_the_same_way_in_a_dense_and_in_a_sparse_table():
    few = pd.DataFrame({"a": list("xxyy"), "b": list("uvuv")})
    other = pd.DataFrame({"a": list("xxxy"), "b": list("uuvv")})
    assert pairs(few, other) == {("a", "b"): pytest.approx(0.75)}
    many = pd.DataFrame({"a": [f"a{i}" for i in range(300)], "b": [f"b{i}" for i in range(300)]}).astype("category")
    half = many.assign(b=many["b"].astype(str).where(np.arange(300) < 150, "b0"))
    assert pairs(many, half) == {("a", "b"): pytest.approx(0.5)}


def test_a_pair_with_a_constant_column_has_no_correlation_and_does_not_count():
    real = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [4.0, 3, 2, 1], "same": [5.0] * 4})
    assert pairs(real, real) == {("a", "b"): 1.0, ("a", "same"): None, ("b", "same"): None}
    assert evaluate(real, None, real, metrics=["trend"]).scores["trend"].value == 1


def test_a_single_value_beyond_the_others_moves_every_bin_of_its_table():
    """SDMetrics' own behaviour, kept for the sake of equal numbers: each table is cut between its own extremes."""
    real = pd.DataFrame({"count": [0, 1, 2, 3, 4, 5] * 20, "kind": list("ab") * 60})
    assert pairs(real, real) == {("count", "kind"): 1.0}
    stretched = pd.concat([real, pd.DataFrame({"count": [7], "kind": ["a"]})])
    assert pairs(real, stretched)["count", "kind"] < 0.6


def test_a_hundred_columns_are_compared_in_seconds():
    rng = np.random.default_rng(0)
    numbers = {f"n{i}": rng.normal(size=5000) for i in range(50)}
    texts = {f"t{i}": rng.choice(list("abcdefgh"), 5000) for i in range(50)}
    table = pd.DataFrame({**numbers, **texts})
    start = time.process_time()
    assert len(pairs(table.head(2500), table.tail(2500))) == 4950
    assert time.process_time() - start < 15
