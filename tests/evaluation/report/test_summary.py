import json
import re
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.data.schema import Schema
from tabtreeformer.evaluation import Evaluation, evaluate
from tabtreeformer.evaluation.report.associations import association_matrix
from tabtreeformer.evaluation.report.curves import density
from tabtreeformer.evaluation.report.plots import bars, densities
from tabtreeformer.evaluation.report.scores import score_table
from tabtreeformer.evaluation.report.summary import summarise
from tabtreeformer.evaluation.report.verdict import verdicts


@pytest.fixture(scope="module")
def summary(tables, evaluation):
    return summarise(evaluation, *tables, Schema.infer(tables[0], "y"))


def test_a_summary_is_plain_data(summary):
    assert json.loads(json.dumps(asdict(summary)))["facts"]["rows"] == {"train": 300, "test": 120, "synthetic": 250}


def test_every_column_is_drawn_by_its_kind(summary):
    assert sorted(c["plot"]["type"] for c in summary.columns) == ["bars", "bars", "bars", "density"]
    assert ["1", "2", "3", "4", "5"] in [c["plot"].get("labels") for c in summary.columns]
    for column in (c for c in summary.columns if c["plot"]["type"] == "bars"):
        for side in ("real", "synthetic"):
            assert sum(column["plot"][side]) == pytest.approx(1)


def test_densities_integrate_to_one_and_show_both_modes(summary):
    plot = next(c["plot"] for c in summary.columns if c["plot"]["type"] == "density")
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
    drawn = summarise(evaluation, train, None, train, Schema.infer(train)).columns
    drawn = next(column for column in drawn if column["name"] == "y")["plot"]
    assert len(drawn["labels"]) == 12
    assert drawn["labels"][-1] == "29 others"
    assert sum(drawn["real"]) == pytest.approx(1)


def test_the_rest_of_many_categories_sets_no_scale():
    shares = [0.04, 0.02, 0.94]
    widths = [
        re.findall(r'width="([0-9.]+)"', str(bars(["a", "b", "others"], shares, shares, rest=rest)))
        for rest in (False, True)
    ]
    assert float(widths[0][0]) < 10
    assert float(widths[1][0]) > 100
    assert max(map(float, widths[1])) < 200


def test_no_axis_says_minus_nothing():
    plot = {"real": [1.0, 2.0], "synthetic": [1.0, 2.0], "low": -5.42, "high": 5.4186}
    assert ">0</text>" in str(densities(plot))
    assert "e-04" not in str(densities(plot))


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

    from tabtreeformer.evaluation.report.associations import _cramers_v

    rng = np.random.default_rng(1)
    a = rng.integers(0, 4, 500)
    b = np.where(rng.random(500) < 0.5, a % 3, rng.integers(0, 3, 500))
    counts = pd.crosstab(a, b).to_numpy()
    assert _cramers_v(a, b) == pytest.approx(association(counts, method="cramer"))


def test_attacks_stand_above_smoke_tests(evaluation):
    names = [row["name"] for row in score_table(evaluation, None)[0]]
    order = ["shape", "singling_out", "linkability", "inference", "membership", "copies", "dcr", "neighbour_ratio"]
    assert [name for name in names if name in order] == [name for name in order if name in names]
    assert {"inference", "dcr"} <= set(names)


def test_closest_pairs_show_both_rows_and_can_be_hidden(tables, evaluation, summary):
    found = evaluation.scores["dcr"].breakdown["closest"][0]
    cells = {c["column"]: c for c in summary.neighbours[0]["cells"]}
    assert cells["two humps"]["synthetic"] == str(tables[2].iloc[found["synthetic_row"]]["two humps"])
    assert cells["two humps"]["real"] == str(tables[0].iloc[found["train_row"]]["two humps"])
    assert summarise(evaluation, *tables, Schema.infer(tables[0], "y"), show_rows=False).neighbours == []


def test_fresh_real_rows_are_useful_faithful_and_safe(evaluation):
    assert [v.word for v in verdicts(evaluation)] == ["yes", "yes", "no leak found"]


def test_training_rows_handed_back_are_not_safe(tables):
    verdict = verdicts(evaluate(tables[0], tables[1], tables[0], target="y"))[2]
    assert (verdict.level, verdict.word) == ("poor", "no")
    assert "100.00% of them equal a training row" in verdict.sentence


def test_independent_columns_are_neither_useful_nor_faithful(tables):
    rng = np.random.default_rng(0)
    shuffled = tables[0].apply(lambda column: rng.permutation(column.to_numpy()))
    useful, faithful, _ = verdicts(evaluate(tables[0], tables[1], shuffled, target="y"))
    assert useful.word == "no"
    assert faithful.word in ("mostly", "no")


def test_the_reason_of_an_answer_comes_first(evaluation):
    derived = replace(evaluation.scores["detection"], value=0.9)
    told = replace(evaluation, scores={**evaluation.scores, "detection_derived": derived})
    faithful = verdicts(told)[1]
    assert faithful.word == "no"
    assert faithful.sentence.startswith("A classifier that is shown differences, ratios, digits and laws separates")
    assert "AUC of 0.90" in faithful.sentence.split(";")[0]


def test_what_was_not_measured_is_said(tables):
    found = verdicts(evaluate(tables[0], None, tables[2]))
    assert [v.level for v in found] == ["unknown", "good", "unknown"]
    assert "hold-out" in found[2].sentence
    nothing = verdicts(Evaluation({}))
    assert [v.word for v in nothing] == ["not measured"] * 3


def test_gains_are_told_as_gains(evaluation):
    score = replace(evaluation.scores["utility"], value=-0.02)
    useful = verdicts(replace(evaluation, scores={**evaluation.scores, "utility": score}))[0]
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
        return verdicts(replace(evaluation, scores=scores, facts=facts))[2].level

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
    assert verdicts(replace(evaluation, scores=scores))[2].word == word


def test_members_that_stand_out_are_a_leak_whatever_the_auc(evaluation):
    score = evaluation.scores["membership"]
    sure = {**score.breakdown, "true_positives": 0.09, "true_positives_interval": [0.07, 0.12]}
    scores = {**evaluation.scores, "membership": replace(score, value=0.51, breakdown=sure)}
    verdict = verdicts(replace(evaluation, scores=scores))[2]
    assert (verdict.word, "9% of the training rows are recognised" in verdict.sentence) == ("no", True)


@pytest.mark.parametrize(
    ("value", "low", "control", "word"),
    [
        (0.3, 0.1, 0.1, "no"),
        (0.3, 0.0, 0.1, "no leak found"),
        (0.29, 0.2, 0.898, "no leak found"),  # 92.8 against 89.8 %: a small gap is a small risk
    ],
)
def test_an_attack_is_a_leak_only_beyond_chance_and_a_small_gap(evaluation, value, low, control, word):
    score = evaluation.scores["linkability"]
    train = control + value * (1 - control)
    facts = {**score.breakdown, "interval": [low, 0.5], "train": train, "control": control}
    scores = {**evaluation.scores, "linkability": replace(score, value=value, breakdown=facts)}
    verdict = verdicts(replace(evaluation, scores=scores))[2]
    assert verdict.word == word
    assert "linkability" in verdict.sentence.lower()


def test_every_attack_has_its_line(summary, tables):
    lines = [(line["attack"], line["part"]) for line in summary.attacks]
    assert lines[0] == ("singling_out", "univariate")
    assert ("linkability", "") in lines
    assert [part for attack, part in lines if attack == "inference"] == [str(name) for name in tables[0]]


def test_the_least_faithful_column_comes_first(tables, evaluation):
    columns = summarise(evaluation, *tables, Schema.infer(tables[0])).columns
    scores = [column["score"] for column in columns]
    assert scores == sorted(scores)


def test_statistics_are_those_of_both_tables_and_missing_is_called_missing():
    train = pd.DataFrame({"n": [1.0, 2.0, 3.0, None], "c": ["a", "a", "b", "a"]})
    new = pd.DataFrame({"n": [2.0, 4.0, 6.0, 8.0], "c": ["b", "b", "b", "a"]})
    page = summarise(Evaluation({}), train, None, new, Schema.infer(train))
    numbers, labels = (
        {v["name"]: (v["real"], v["synthetic"]) for v in column["statistics"]}
        for column in sorted(page.columns, key=lambda column: column["name"], reverse=True)
    )
    assert numbers["mean"] == ("2", "5")
    assert numbers["maximum"] == ("3", "8")
    assert labels["most common"] == ("a (75.0%)", "b (75.0%)")
    assert "missing" in page.samples[0]["real"]
    assert sorted(page.samples[1]["synthetic"]) == ["a", "b", "b", "b"]
    hidden = summarise(Evaluation({}), train, None, new, Schema.infer(train), show_rows=False)
    assert all("real" not in row for row in hidden.samples)


def test_pairs_that_differ_most_and_the_strongest_are_listed():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    train = pd.DataFrame({"x": x, "same": 2 * x, "noise": rng.normal(size=300)})
    page = summarise(Evaluation({}), train, None, train.assign(same=rng.permutation(x)), Schema.infer(train))
    assert page.pairs["strongest"][0]["pair"] == page.pairs["worst"][0]["pair"] == ("x", "same")
    assert page.pairs["worst"][0]["real"] == pytest.approx(1)


def test_distances_are_drawn_on_a_logarithmic_axis(evaluation, tables):
    plot = summarise(evaluation, *tables, Schema.infer(tables[0])).distances
    assert plot["log"]
    quantiles = evaluation.scores["dcr"].breakdown["synthetic"]
    assert 10 ** plot["high"] <= max(*quantiles, *evaluation.scores["dcr"].breakdown["holdout"]) * 1.01
    assert plot["low"] < plot["high"]


@pytest.mark.parametrize(("auc", "low", "word"), [(0.66, 0.62, "no"), (0.57, 0.52, "no leak found")])
def test_safe_counts_the_attack_by_density_by_the_limits_of_a_fit(evaluation, auc, low, word):
    score = evaluation.scores["membership_density"]
    facts = {
        **score.breakdown,
        "auc": auc,
        "auc_interval": [low, 2 * auc - low],
        "true_positives": 0.01,
        "true_positives_interval": [0.0, 0.03],
    }
    scores = {**evaluation.scores, "membership_density": replace(score, value=auc, breakdown=facts)}
    verdict = verdicts(replace(evaluation, scores=scores))[2]
    assert verdict.word == word
    assert f"AUC of {auc:.2f} (between {low:.2f}" in verdict.sentence
