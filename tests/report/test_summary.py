import json
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.evaluation import Evaluation, evaluate
from tabtreeformer.report.summary import association_matrix, density, summarise
from tabtreeformer.report.verdict import judge
from tabtreeformer.schema import Schema


@pytest.fixture(scope="module")
def summary(tables, evaluation):
    return summarise(evaluation, *tables, Schema.infer(tables[0], "y"))


def test_a_summary_is_plain_data(summary):
    assert json.loads(json.dumps(asdict(summary)))["facts"]["rows"] == {"train": 300, "test": 120, "synthetic": 250}


def test_every_column_is_drawn_by_its_kind(summary):
    assert [c["plot"]["type"] for c in summary.columns] == ["density", "bars", "bars", "bars"]
    assert summary.columns[2]["plot"]["labels"] == ["1", "2", "3", "4", "5"]
    for column in summary.columns[1:]:
        for side in ("real", "synthetic"):
            assert sum(column["plot"][side]) == pytest.approx(1)


def test_densities_integrate_to_one_and_show_both_modes(summary):
    plot = summary.columns[0]["plot"]
    for side in ("real", "synthetic"):
        curve = np.array(plot[side])
        step = (plot["high"] - plot["low"]) / (len(curve) - 1)
        assert (curve * step).sum() == pytest.approx(1, abs=0.05)
        places = plot["low"] + step * np.arange(len(curve))
        middle = curve[(places > 4.5) & (places < 7.5)].max()
        assert curve[places < 3].max() > 5 * middle
        assert curve[places > 9].max() > 5 * middle


def test_whole_numbers_do_not_show_the_gaps_between_them():
    rng = np.random.default_rng(0)
    curve = np.array(
        density(rng.integers(0, 60, 20_000).astype(float), rng.integers(0, 60, 20_000).astype(float))["real"]
    )
    assert curve[3:-3].min() > 0.7 * curve.max()


@pytest.mark.parametrize("values", [[5.0] * 9, [1.0, 2.0], [0.0, 1e300], [1e-300, 2e-300], []])
def test_densities_of_odd_columns_are_finite(values):
    plot = density(np.array(values), np.array([*values, *values]))
    assert plot["type"] == "none" or np.isfinite(plot["real"] + plot["synthetic"]).all()


def test_many_categories_are_drawn_as_the_largest_and_the_rest(tables, evaluation):
    train = tables[0].assign(y=[f"c{i % 40}" for i in range(300)])
    drawn = summarise(evaluation, train, None, train, Schema.infer(train)).columns[3]["plot"]
    assert len(drawn["labels"]) == 12
    assert drawn["labels"][-1] == "29 others"
    assert sum(drawn["real"]) == pytest.approx(1)


def test_associations_are_known_where_they_are_easy_to_know():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 900)
    df = pd.DataFrame(
        {
            "a": codes.astype(str),
            "same": [f"s{c}" for c in codes],
            "coin": rng.choice(["h", "t"], 900),
            "up": codes * 2.0,
        }
    ).assign(line=lambda d: -3 * d["up"], noise=rng.normal(size=900))
    from tabtreeformer.evaluation.encoding import encode

    matrix = association_matrix(encode({"training": df}, Schema.infer(df))["training"], list(range(6)))
    assert matrix[0, 1] == pytest.approx(1)  # Cramér's V of a renaming
    assert matrix[0, 3] == pytest.approx(1)  # correlation ratio of a function
    assert matrix[3, 4] == pytest.approx(1)  # |Pearson| of a line
    assert matrix[0, 2] < 0.1
    assert matrix[2, 5] < 0.1
    assert np.array_equal(matrix, matrix.T)


def test_cramers_v_agrees_with_scipy():
    from scipy.stats.contingency import association

    from tabtreeformer.report.summary import _cramers_v

    rng = np.random.default_rng(1)
    a = rng.integers(0, 4, 500)
    b = np.where(rng.random(500) < 0.5, a % 3, rng.integers(0, 3, 500))
    counts = pd.crosstab(a, b).to_numpy()
    assert _cramers_v(a, b) == pytest.approx(association(counts, method="cramer"))


def test_closest_pairs_show_both_rows_and_can_be_hidden(tables, evaluation, summary):
    found = evaluation.scores["dcr"].breakdown["closest"][0]
    cells = {c["column"]: c for c in summary.neighbours[0]["cells"]}
    assert cells["two humps"]["synthetic"] == str(tables[2].iloc[found["synthetic_row"]]["two humps"])
    assert cells["two humps"]["real"] == str(tables[0].iloc[found["train_row"]]["two humps"])
    assert summarise(evaluation, *tables, Schema.infer(tables[0], "y"), show_rows=False).neighbours == []


def test_fresh_real_rows_are_useful_faithful_and_safe(evaluation):
    assert [v.word for v in judge(evaluation)] == ["yes", "yes", "no leak found"]


def test_training_rows_handed_back_are_not_safe(tables):
    verdict = judge(evaluate(tables[0], tables[1], tables[0], target="y"))[2]
    assert (verdict.level, verdict.word) == ("poor", "no")
    assert "100.00% of them equal a training row" in verdict.sentence


def test_independent_columns_are_neither_useful_nor_faithful(tables):
    rng = np.random.default_rng(0)
    shuffled = tables[0].apply(lambda column: rng.permutation(column.to_numpy()))
    useful, faithful, _ = judge(evaluate(tables[0], tables[1], shuffled, target="y"))
    assert useful.word == "no"
    assert faithful.word in ("mostly", "no")


def test_what_was_not_measured_is_said(tables):
    verdicts = judge(evaluate(tables[0], None, tables[2]))
    assert [v.level for v in verdicts] == ["unknown", "good", "unknown"]
    assert "hold-out" in verdicts[2].sentence
    nothing = judge(Evaluation({}))
    assert [v.word for v in nothing] == ["not measured"] * 3


def test_gains_are_told_as_gains(evaluation):
    score = replace(evaluation.scores["utility"], value=-0.02)
    useful = judge(replace(evaluation, scores={**evaluation.scores, "utility": score}))[0]
    assert "2.0% more than" in useful.sentence


def test_few_held_out_rows_raise_no_false_alarm_and_many_do_raise_one(evaluation):
    def safe(auc, members, copied, n_test):
        scores = dict(evaluation.scores)
        facts = {"rows": {"members": members, "others": members}, "false_positives": 0.01}
        facts |= {"true_positives": 0.01, "true_positives_interval": [0.0, 0.05]}
        scores["membership"] = replace(scores["membership"], value=auc, breakdown=facts)
        scores["copies"] = replace(
            scores["copies"], value=copied / 1000, ceiling=0.0, breakdown={"copies": copied, "rows": 1000}
        )
        facts = {**evaluation.facts, "rows": {**evaluation.facts["rows"], "test": n_test}}
        return judge(replace(evaluation, scores=scores, facts=facts))[2].level

    assert safe(0.64, 30, 0, 30) == "good"  # two standard errors are 0.15 there
    assert safe(0.64, 3000, 0, 3000) == "poor"
    assert safe(0.5, 30, 20, 30) == "good"  # 30 rows without a copy do not rule out 2 %
    assert safe(0.5, 3000, 20, 3000) == "poor"


@pytest.mark.parametrize(
    ("p", "auc", "word"), [(0.03, 0.59, "no leak found"), (0.005, 0.59, "no"), (0.005, 0.5, "no leak found")]
)
def test_one_test_of_seven_below_five_percent_is_chance_and_nearness_alone_is_no_leak(evaluation, p, auc, word):
    member = evaluation.scores["membership"]
    facts = {**member.breakdown, "rows": {"members": 1000, "others": 1000}}
    scores = {**evaluation.scores, "membership": replace(member, value=auc, breakdown=facts)}
    scores["dcr"] = replace(evaluation.scores["dcr"], value=p)
    assert judge(replace(evaluation, scores=scores))[2].word == word


def test_members_that_stand_out_are_a_leak_whatever_the_auc(evaluation):
    score = evaluation.scores["membership"]
    sure = {**score.breakdown, "true_positives": 0.09, "true_positives_interval": [0.07, 0.12]}
    scores = {**evaluation.scores, "membership": replace(score, value=0.51, breakdown=sure)}
    verdict = judge(replace(evaluation, scores=scores))[2]
    assert (verdict.word, "9% of the training rows can be told" in verdict.sentence) == ("no", True)


@pytest.mark.parametrize(("value", "low", "word"), [(0.3, 0.1, "no"), (0.3, 0.0, "no leak found")])
def test_an_attack_is_a_leak_only_beyond_chance(evaluation, value, low, word):
    score = evaluation.scores["linkability"]
    facts = {**score.breakdown, "interval": [low, 0.5]}
    scores = {**evaluation.scores, "linkability": replace(score, value=value, breakdown=facts)}
    verdict = judge(replace(evaluation, scores=scores))[2]
    assert verdict.word == word
    assert "linkability" in verdict.sentence.lower()


def test_every_attack_has_its_line(summary, tables):
    lines = [(line["attack"], line["part"]) for line in summary.attacks]
    assert lines[0] == ("singling_out", "univariate")
    assert ("linkability", "") in lines
    assert [part for attack, part in lines if attack == "inference"] == [str(name) for name in tables[0]]
