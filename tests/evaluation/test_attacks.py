"""Singling out, linkability, attribute inference: leaks are found, and nothing is found where there is none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tabtreeformer._runtime.progress import Silent
from tabtreeformer.data.schema import Schema
from tabtreeformer.errors import SchemaError
from tabtreeformer.evaluation import evaluate
from tabtreeformer.evaluation.attacks import inference, singling_out
from tabtreeformer.evaluation.attacks.predicates import Clause, Relation, count, match
from tabtreeformer.evaluation.attacks.risk import Rate, Risk
from tabtreeformer.evaluation.encoding import encode
from tabtreeformer.evaluation.metrics.gower import Gower

ATTACKS = ["singling_out", "linkability", "inference"]


@pytest.fixture(scope="module")
def leaky(train, fresh) -> pd.DataFrame:
    """Of every five rows one is a training row."""
    return pd.concat([train.head(160), fresh.tail(640)]).sample(frac=1, random_state=0)


def match_all(predicate, rows) -> np.ndarray:
    return np.logical_and.reduce([clause.holds(rows) for clause in predicate])


def table(df: pd.DataFrame):
    return encode({"training": df}, Schema.infer(df))["training"]


# ---- what they find


@pytest.mark.parametrize("name", ATTACKS)
def test_training_rows_handed_back_are_at_the_highest_risk(train, test, name):
    score = evaluate(train, test, train, metrics=[name]).scores[name]
    assert score.value > 0.8
    assert score.breakdown["interval"][0] > 0.75
    assert score.ceiling < 0.2


@pytest.mark.parametrize("name", ATTACKS)
def test_a_fifth_of_training_rows_is_a_risk_of_about_a_fifth(train, test, leaky, name):
    score = evaluate(train, test, leaky, metrics=[name]).scores[name]
    assert score.value == pytest.approx(0.2, abs=0.05)
    low, high = score.breakdown["interval"]
    assert 0.08 < low < score.value < high


@pytest.mark.parametrize("name", ATTACKS)
def test_fresh_rows_are_at_no_risk(draw, name):
    lows = []
    for seed in range(40, 70, 3):
        score = evaluate(draw(400, seed), draw(150, seed + 1), draw(400, seed + 2), metrics=[name]).scores[name]
        lows.append(score.breakdown["interval"][0])
    assert np.mean(np.array(lows) > 0) <= 0.1


def test_independent_columns_single_out_by_the_values_they_keep_but_link_nobody(train, test, shuffled):
    scores = evaluate(train, test, shuffled(train), metrics=ATTACKS).scores
    assert scores["singling_out"].breakdown["mode"] == "univariate"
    assert scores["singling_out"].value > 0.9
    assert scores["linkability"].breakdown["interval"][0] == scores["inference"].breakdown["interval"][0] == 0


def test_a_hold_out_of_any_size_gives_about_the_same_control(draw):
    """A quarter of the rows isolates fewer by chance, and is corrected for it."""
    train, synthetic = draw(2000, 1), draw(2000, 3)
    controls = [
        evaluate(train, draw(2000, 2).head(n), synthetic, metrics=["singling_out"]).scores["singling_out"]
        for n in (500, 2000)
    ]
    small, equal = (score.breakdown["modes"]["univariate"]["control"] for score in controls)
    assert small == pytest.approx(equal, abs=0.01)
    assert equal == pytest.approx(controls[1].breakdown["modes"]["univariate"]["train"], abs=0.01)


def test_sensitive_columns_are_those_attacked(train, test, leaky):
    score = evaluate(train, test, leaky, metrics=["inference"], sensitive=["tax", "owner"]).scores["inference"]
    assert [record["column"] for record in score.breakdown["columns"]] == ["tax", "owner"]
    assert score.breakdown["column"] == "tax"
    every = evaluate(train, test, leaky, metrics=["inference"]).scores["inference"]
    assert [record["column"] for record in every.breakdown["columns"]] == list(train.columns)
    with pytest.raises(SchemaError, match="there is no column 'wealth'"):
        evaluate(train, test, leaky, metrics=["inference"], sensitive=["wealth"])


def test_one_far_date_among_the_training_rows_is_no_leak(draw):
    def dated(n_rows, seed):
        days = np.random.default_rng(seed).integers(0, 700, n_rows)
        return draw(n_rows, seed).assign(day=pd.Timestamp("2023-01-01") + pd.to_timedelta(days, unit="D"))

    train, test, fresh = dated(300, 0), dated(300, 1), dated(300, 3)
    train.loc[0, "day"] = pd.Timestamp("2199-01-01")
    score = evaluate(train, test, fresh, metrics=["inference"], sensitive=["day"]).scores["inference"]
    assert score.breakdown["interval"][0] == 0
    assert score.breakdown["train"] < score.breakdown["control"] + 0.05


def test_many_columns_are_attacked_in_part_and_that_is_said(draw):
    tables = [pd.concat([draw(30, s + k).add_suffix(str(k)) for k in range(0, 40, 10)], axis=1) for s in range(3)]
    score = evaluate(*tables, target="owner30", metrics=["inference"]).scores["inference"]
    assert len(score.breakdown["columns"]) == inference.MAX_SECRETS
    assert score.breakdown["columns"][0]["column"] == "owner30"
    assert "20 of 24 columns were attacked" in score.note


def test_the_number_of_attacks_is_bounded(train, test, fresh):
    scores = evaluate(train, test, fresh, metrics=ATTACKS, max_attacks=50).scores
    for score in scores.values():
        assert max(score.breakdown["attacks"].values()) <= 50


def test_one_column_cannot_be_linked_or_inferred(train, test, fresh):
    scores = evaluate(train[["pay"]], test, fresh, metrics=ATTACKS).scores
    assert np.isnan(scores["linkability"].value)
    assert "no halves" in scores["linkability"].note
    assert np.isnan(scores["inference"].value)
    assert list(scores["singling_out"].breakdown["modes"]) == ["univariate"]


def test_coarse_columns_single_nobody_out(train, test, fresh):
    columns = ["city", "owner"]
    score = evaluate(train[columns], test, fresh, metrics=["singling_out"]).scores["singling_out"]
    assert np.isnan(score.value)
    assert "hardly any" in score.note


# ---- counts to risks


def test_the_risk_is_the_share_of_what_the_control_leaves_open():
    risk = Risk.of(train=6000, control=2000, baseline=100, attacks=(10_000, 10_000))
    assert risk.value == pytest.approx((0.6 - 0.2) / (1 - 0.2), abs=1e-3)
    assert risk.low < 0.5 < risk.high
    assert risk.high - risk.low < 0.04


@pytest.mark.parametrize("counts", [(0, 10), (10, 10), (3, 7)])
def test_risks_of_any_counts_lie_between_0_and_1(counts):
    risk = Risk.of(train=counts[0], control=counts[1], baseline=0, attacks=(10, 10))
    assert 0 <= risk.low <= risk.value <= risk.high <= 1
    assert 0 < Rate.of(counts[0], 10).value < 1


# ---- the pieces


def test_gower_finds_what_a_full_matrix_finds(train, test):
    real, other = encode({"training": train, "held-out": test}, Schema.infer(train)).values()
    space = Gower(real, other)
    distances = np.zeros((other.n_rows, real.n_rows, 6))
    for place, feature in enumerate(real.features):
        a, b = other.columns[place][:, None], real.columns[place][None, :]
        span = np.ptp(np.concatenate([train.iloc[:, place], test.iloc[:, place]])) if not feature.categorical else 1
        distances[..., place] = (a != b) if feature.categorical else np.abs(a - b) / span
    found = space.nearest(other, [[0, 2, 4], [1, 3, 5]], Silent(), "")
    for k, group in enumerate([[0, 2, 4], [1, 3, 5]]):
        total = distances[..., group].sum(-1)
        assert np.allclose(total[np.arange(300), found[:, k]], total.min(1), atol=1e-6)
    found = space.nearest_without(other, [2, 5], Silent(), "")
    for k, place in enumerate([2, 5]):
        total = distances.sum(-1) - distances[..., place]
        assert np.allclose(total[np.arange(300), found[:, k]], total.min(1), atol=1e-6)


def test_missing_values_are_near_each_other_and_far_from_all_else():
    df = pd.DataFrame({"a": [0.0, 1.0, np.nan], "b": ["x", "x", "x"]})
    space = Gower(table(df))
    assert space.nearest(table(df), [[0]], Silent(), "")[:, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("relation", list(Relation))
def test_predicates_count_what_pandas_counts(relation):
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"n": rng.integers(0, 6, 60).astype(float), "c": rng.choice(list("abc"), 60)})
    df.loc[:4, "n"] = np.nan
    df.loc[3:9, "c"] = None
    expected = {
        Relation.EQUAL: df["n"] == 3,
        Relation.OTHER: (df["n"] != 3) & df["n"].notna(),
        Relation.AT_LEAST: df["n"] >= 3,
        Relation.AT_MOST: df["n"] <= 3,
        Relation.ABOVE: df["n"] > 3,
        Relation.BELOW: df["n"] < 3,
        Relation.MISSING: df["n"].isna(),
        Relation.THERE: df["n"].notna(),
    }[relation]
    clause = Clause(0, relation, 3.0)
    assert match([(clause,)], table(df)).counts.tolist() == [expected.sum()]
    b = Clause.about(table(df), 1, Relation.OTHER, 2)
    assert count((clause, b), table(df)) == (expected & (df["c"] != "b") & df["c"].notna()).sum()


def test_sentences_single_out_in_the_table_they_are_made_from(fresh):
    rows, rng = table(fresh), np.random.default_rng(0)
    for predicates in (singling_out.univariate(rows, 300, rng), singling_out.multivariate(rows, 50, 3, rng)):
        assert len(predicates) >= 20
        assert len(set(predicates)) == len(predicates)
        found = match(predicates, rows)
        assert found.alone.all()
        assert found.rows.tolist() == [int(np.argmax(match_all(p, rows))) for p in predicates]


def test_smaller_tables_are_expected_to_isolate_what_samples_of_the_control_do(fresh, test):
    rows, rng = table(fresh), np.random.default_rng(0)
    control = encode({"training": fresh, "held-out": test}, Schema.infer(fresh))["held-out"]
    predicates = singling_out.multivariate(rows, 100, 3, rng)
    matches = match(predicates, control).counts
    sampled = [match(predicates, control.sample(150, rng)).alone.sum() for _ in range(200)]
    expected = singling_out.size_correction(matches, control.n_rows, 150) * (matches == 1).sum()
    assert expected == pytest.approx(np.mean(sampled), abs=0.5)
