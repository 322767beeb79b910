from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu
from sklearn.compose import make_column_transformer
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import cosine_distances
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer

from tabtreeformer.data.schema import Schema
from tabtreeformer.evaluation import evaluate
from tabtreeformer.evaluation.attacks.copies import found_in, significant
from tabtreeformer.evaluation.encoding import encode

NUMBERS, TEXTS = ["age", "pay", "rooms", "tax"], ["city", "owner"]


def distances(fitted_on: pd.DataFrame, queries: pd.DataFrame, reference: pd.DataFrame) -> np.ndarray:
    """The paper's distances, written down with scikit-learn, (n, N)."""
    scale = QuantileTransformer(n_quantiles=min(1000, len(fitted_on)))
    transformer = make_column_transformer((scale, NUMBERS), (OneHotEncoder(handle_unknown="ignore"), TEXTS))
    transformer.fit(fitted_on)
    return cosine_distances(transformer.transform(queries), transformer.transform(reference))


def test_dcr_is_the_papers_test(train, test, fresh):
    synthetic = fresh.head(len(test))  # as many as held-out rows, so that no row is drawn
    ours, theirs = (distances(train, queries, train).min(axis=1) for queries in (synthetic, test))
    expected = mannwhitneyu(ours.round(9), theirs.round(9), alternative="less").pvalue
    score = evaluate(train, test, synthetic, metrics=["dcr"]).scores["dcr"]
    assert score.value == pytest.approx(expected, abs=1e-4)
    np.testing.assert_allclose(score.breakdown["synthetic"], np.quantile(ours, np.linspace(0, 1, 200)), atol=1e-6)
    np.testing.assert_allclose(score.breakdown["holdout"], np.quantile(theirs, np.linspace(0, 1, 200)), atol=1e-6)


def test_the_closest_rows_are_named(train, test, fresh):
    synthetic = fresh.head(len(test)).copy()
    synthetic.iloc[7] = train.iloc[123]
    closest = evaluate(train, test, synthetic, metrics=["dcr"]).scores["dcr"].breakdown["closest"]
    assert closest[0] == {"synthetic_row": 7, "train_row": 123, "distance": 0.0}
    assert [row["distance"] for row in closest] == sorted(row["distance"] for row in closest)


def test_real_rows_are_flagged_about_as_often_as_the_level_says(draw):
    values = []
    for seed in range(100, 300, 2):
        tables = draw(120, 1000 + seed), draw(80, seed), draw(80, seed + 1)
        values.append(evaluate(*tables, metrics=["dcr"]).scores["dcr"].value)
    assert np.mean(np.array(values) < 0.05) <= 0.12
    assert 0.4 < np.mean(values) < 0.6


def test_a_tenth_of_copies_is_enough_for_a_violation_in_a_large_sample(draw):
    train, test, synthetic = draw(2000, 1), draw(2000, 2), draw(2000, 3)
    leaky = pd.concat([train.head(200), synthetic.tail(1800)])
    clean, leaking = (evaluate(train, test, t, metrics=["dcr"]).scores["dcr"] for t in (synthetic, leaky))
    assert clean.breakdown["violation"] is False
    assert leaking.breakdown["violation"] is True


# ---- copies


def test_copies_are_found_and_counted(train, test, fresh):
    mixed = pd.concat([train.iloc[5:15], fresh.head(30)])
    score = evaluate(train, test, mixed, metrics=["copies"]).scores["copies"]
    assert score.value == 0.25
    assert score.breakdown["examples"] == list(range(10))
    assert score.ceiling == 0


@pytest.mark.parametrize("columns", [["city", "owner"], ["age", "city"], ["age", "rooms", "city", "owner"]])
def test_copies_agree_with_a_set_of_rows(train, fresh, columns):
    real, synthetic = train[columns], fresh[columns]
    known = set(real.itertuples(index=False))
    expected = np.mean([row in known for row in synthetic.itertuples(index=False)])
    assert expected > 0
    assert evaluate(real, None, synthetic, metrics=["copies"]).scores["copies"].value == expected


def test_missing_equals_missing_and_minus_zero_is_zero():
    real = pd.DataFrame({"a": [1.0, np.nan, 0.0], "b": ["x", None, "z"]})
    synthetic = pd.DataFrame({"a": [np.nan, -0.0, 1.0, np.nan], "b": [None, "z", None, "x"]})
    tables = list(encode({"training": real, "synthetic": synthetic}, Schema.infer(real)).values())
    assert found_in(tables[1], tables[0]).tolist() == [True, True, False, False]


def test_a_copy_that_was_scaled_there_and_back_or_stored_in_single_precision_is_a_copy(train):
    scaled = train.assign(pay=(train["pay"] / 3 - 0.1 + 0.1) * 3, tax=train["tax"].astype(np.float32))
    assert (scaled["pay"] != train["pay"]).any()
    assert evaluate(train, None, scaled, metrics=["copies"]).scores["copies"].value == 1


@pytest.mark.parametrize("value", [0.1 + 0.2, 123456.7, 1e-5 / 3, 98765432109.87, 1e250, -2.5, 0.0, 7e-200])
def test_rounding_keeps_twelve_digits(value):
    assert significant(np.array([value]))[0] == pytest.approx(value, rel=1e-11)
    noisy = value * (1 + 4e-16)
    assert significant(np.array([noisy]))[0] == significant(np.array([value]))[0]
    assert value == 0 or significant(np.array([value * (1 + 1e-9)]))[0] != significant(np.array([value]))[0]


# ---- membership


def test_membership_is_the_auc_of_nearness_to_the_synthetic_table(train, test, fresh):
    members = train.head(len(test))
    synthetic = pd.concat([members.head(100), fresh])
    near = [-distances(synthetic, rows, synthetic).min(axis=1) for rows in (members, test)]
    expected = roc_auc_score(np.repeat([1, 0], len(test)), np.concatenate(near).round(9))
    score = evaluate(members, test, synthetic, metrics=["membership"]).scores["membership"]
    assert score.value == pytest.approx(expected, abs=1e-4)
    assert score.value > 0.6


def test_membership_treats_training_and_held_out_rows_alike(train, test, fresh):
    """Nothing but the synthetic table may decide: with the roles exchanged the AUC is mirrored."""
    members = train.head(len(test)).assign(city=lambda df: df["city"].where(df.index > 20, "Rom"))
    one, other = (
        evaluate(*tables, fresh, metrics=["membership"]).scores["membership"].value
        for tables in ((members, test), (test, members))
    )
    assert one + other == pytest.approx(1, abs=1e-12)


# ---- neighbour ratio


def test_the_neighbour_ratio_is_that_of_the_two_nearest_training_rows(train, test, fresh):
    synthetic = fresh.head(len(test))
    first, second = np.sort(distances(train, synthetic, train), axis=1)[:, :2].T
    score = evaluate(train, test, synthetic, metrics=["neighbour_ratio"]).scores["neighbour_ratio"]
    assert score.value == pytest.approx(np.median(first / second), abs=1e-4)
    assert score.breakdown["percentile_5"] == pytest.approx(np.percentile(first / second, 5), abs=1e-3)


def test_a_row_that_two_training_rows_share_is_nobodys_copy(train):
    twice = pd.concat([train, train])
    assert evaluate(twice, None, train, metrics=["neighbour_ratio"]).scores["neighbour_ratio"].value == 1
    assert evaluate(train, None, train, metrics=["neighbour_ratio"]).scores["neighbour_ratio"].value == 0


def test_a_cap_on_the_queries_is_said(train, test, fresh):
    evaluation = evaluate(
        train, test, fresh, metrics=["dcr", "membership", "neighbour_ratio"], max_queries=50, random_state=3
    )
    assert evaluation.scores["dcr"].breakdown["rows"] == {"synthetic": 50, "holdout": 50}
    assert evaluation.scores["membership"].breakdown["rows"] == {"members": 50, "others": 50}
    assert evaluation.scores["neighbour_ratio"].breakdown["rows"] == 50
    assert all(score.note == "measured on 50 rows drawn from each table" for score in evaluation.scores.values())
