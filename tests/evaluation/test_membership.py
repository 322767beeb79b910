"""Membership from scores: the AUC, and what is found while few others are accused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from tabtreeformer.errors import ConfigError
from tabtreeformer.evaluation import evaluate, membership_attack


def test_scores_that_know_nothing_find_nobody_beyond_chance():
    rng = np.random.default_rng(0)
    attacks = [membership_attack(rng.normal(size=500), rng.normal(size=400), random_state=rng) for _ in range(200)]
    assert np.mean([a.auc_interval[0] <= 0.5 <= a.auc_interval[1] for a in attacks]) > 0.9
    assert np.mean([a.interval[0] <= 0.01 <= a.interval[1] for a in attacks]) > 0.9
    assert np.mean([a.true_positives for a in attacks]) == pytest.approx(0.01, abs=0.005)


def test_intervals_hold_the_true_rates_of_scores_that_know_something():
    rng = np.random.default_rng(1)
    shift = 1.0
    from statistics import NormalDist

    truth = 1 - NormalDist().cdf(NormalDist().inv_cdf(0.99) - shift)
    area = NormalDist().cdf(shift / 2**0.5)
    attacks = [
        membership_attack(rng.normal(shift, size=1000), rng.normal(size=800), random_state=rng) for _ in range(150)
    ]
    assert np.mean([a.interval[0] <= truth <= a.interval[1] for a in attacks]) > 0.9
    assert np.mean([a.auc_interval[0] <= area <= a.auc_interval[1] for a in attacks]) > 0.9


def test_a_few_members_who_stand_out_are_seen_where_the_auc_is_blind():
    rng = np.random.default_rng(2)
    members = rng.normal(size=2000)
    members[:160] = 10
    attack = membership_attack(members, rng.normal(size=2000))
    assert attack.auc < 0.56
    assert attack.true_positives == pytest.approx(0.09, abs=0.01)
    assert attack.interval[0] > 0.07


def test_ties_and_few_rows_are_no_trouble():
    attack = membership_attack(np.ones(30), np.ones(20))
    assert (attack.auc, attack.true_positives) == (0.5, 0)
    assert attack.interval[0] < 0.01
    assert membership_attack([2.0], [1.0]).true_positives == 1


def test_the_auc_is_that_of_scikit_learn():
    rng = np.random.default_rng(3)
    members, others = rng.integers(0, 9, 70), rng.integers(0, 7, 50)
    expected = roc_auc_score(np.repeat([1, 0], [70, 50]), np.concatenate([members, others]))
    assert membership_attack(members, others).auc == pytest.approx(expected)


@pytest.mark.parametrize(
    ("members", "options", "message"),
    [([], {}, "scores of members"), ([np.nan], {}, "scores of members"), ([1.0], {"false_positives": 0}, "a share")],
)
def test_what_are_no_scores_is_refused(members, options, message):
    with pytest.raises(ConfigError, match=message):
        membership_attack(members, [1.0, 2.0], **options)


def test_the_metric_reports_who_is_found_at_one_per_cent(train, test, fresh):
    leaky = pd.concat([train.head(160), fresh.tail(640)])
    score = evaluate(train, test, leaky, metrics=["membership"]).scores["membership"]
    assert score.breakdown["true_positives"] == pytest.approx(0.2, abs=0.05)
    assert score.breakdown["true_positives_interval"][0] > 0.1
    low, high = score.breakdown["auc_interval"]
    assert low < score.value < high


def test_every_row_of_both_sides_is_asked_about(train, test, fresh):
    few = test[:30]
    assert len(few) < len(train)
    score = evaluate(train, few, fresh, metrics=["membership"]).scores["membership"]
    assert score.breakdown["rows"] == {"members": len(train), "others": 30}
