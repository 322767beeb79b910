"""What each section of the page says, on tables in which the answer is known."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.data.schema import Schema
from tabtreeformer.evaluation import Evaluation, evaluate
from tabtreeformer.evaluation.encoding import encode
from tabtreeformer.evaluation.report.dependence import dependence
from tabtreeformer.evaluation.report.html import render
from tabtreeformer.evaluation.report.pairs import picture
from tabtreeformer.evaluation.report.scores import score_table
from tabtreeformer.evaluation.report.summary import summarise


def both(train, new):
    tables = encode({"training": train, "synthetic": new}, Schema.infer(train))
    return tables["training"], tables["synthetic"]


def summary_of(train, new, show_rows=True, metrics=("shape", "grain")):
    schema = Schema.infer(train)
    evaluation = evaluate(train, None, new, schema=schema, metrics=metrics, references=False)
    return summarise(evaluation, train, None, new, schema, show_rows=show_rows)


def column(summary, name):
    return next(c for c in summary.columns if c["name"] == name)


def test_dates_are_counted_by_hour_weekday_and_month():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2023-01-02") + pd.to_timedelta(rng.integers(0, 100, 400) * 7, unit="D")  # Mondays
    train = pd.DataFrame({"at": days + pd.to_timedelta(9, unit="h"), "day": days})
    train.loc[::2, "at"] += pd.to_timedelta(8, unit="h")
    new = train.assign(at=train["at"] + pd.to_timedelta(1, unit="D"))
    summary = summary_of(train, new, metrics=("shape",))
    parts = {part["name"]: part for part in column(summary, "at")["calendar"]}
    assert set(parts) == {"hour", "month"}  # all real dates are Mondays: no weekday to compare
    assert parts["hour"]["real"][9] == parts["hour"]["real"][17] == pytest.approx(0.5)
    assert {part["name"] for part in column(summary, "day")["calendar"]} == {"month"}
    assert sum(parts["month"]["synthetic"]) == pytest.approx(1)


def test_last_digits_are_those_that_people_choose():
    rng = np.random.default_rng(0)
    train = pd.DataFrame({"price": rng.integers(10, 99, 500) * 1000, "half": rng.integers(0, 200, 500) / 2})
    new = pd.DataFrame({"price": rng.integers(1000, 9900, 500) * 10, "half": rng.integers(0, 200, 500) / 2})
    summary = summary_of(train, new)
    price, half = column(summary, "price")["grain"], column(summary, "half")["grain"]
    assert price["unit"] == "1,000"
    assert half["unit"] == "0.1"
    assert half["real"][0] + half["real"][5] == pytest.approx(1)
    assert price["score"] < 0.3 < 0.9 < half["score"]
    assert "last digits" in column(summary, "price")["look"]
    assert "last digits" not in column(summary, "half")["look"]


def test_columns_missing_together_are_a_group():
    rng = np.random.default_rng(0)
    train = pd.DataFrame({"a": rng.random(300), "b": rng.random(300), "c": rng.random(300)})
    train.loc[:59, ["a", "b"]] = np.nan
    new = train.copy()
    new["b"] = rng.permutation(new["b"])
    gaps = summary_of(train, new).gaps
    assert gaps["groups"][0]["columns"] == ["a", "b"]
    assert gaps["groups"][0]["real"] == 1
    assert gaps["groups"][0]["synthetic"] < 0.4
    assert gaps["complete"][0] == pytest.approx(0.8)
    assert gaps["patterns"][0]["columns"] == ["a", "b"]
    assert summary_of(train[60:], train[60:]).gaps is None


def test_a_map_shows_where_rows_are_missing_and_no_dot_of_hidden_rows():
    rng = np.random.default_rng(0)
    centre = np.repeat([-4.0, 4.0], 1500)
    train = pd.DataFrame({f"x{i}": centre + rng.normal(size=3000) for i in range(4)})
    half = train[1500:].sample(3000, replace=True, random_state=0, ignore_index=True)
    found = summary_of(train, half).row_map
    assert found["overlap"] < 0.7 < found["possible"]
    assert np.min(found["difference"]) < -0.9
    same = summary_of(train, train.sample(frac=1, random_state=1, ignore_index=True)).row_map
    assert np.count_nonzero(same["difference"]) == 0
    assert len(found["dots"]["real"]) > 100
    hidden = summary_of(train, half, show_rows=False).row_map
    assert hidden["dots"]["real"] == []
    counts = np.array(hidden["real"]) * 3000
    assert not ((counts > 0.5) & (counts < 4.5)).any()


def test_hidden_rows_hide_what_few_rows_share():
    train = pd.DataFrame({"n": np.arange(200.0) + 0.5, "c": ["common"] * 150 + ["plain"] * 48 + ["rare one"] * 2})
    page = render(summary_of(train, train[:198], show_rows=False), "t")
    assert "rare one" not in page
    assert "minimum" not in page
    shown = render(summary_of(train, train[:198]), "t")
    assert "rare one" in shown
    assert "minimum" in shown


def test_pairs_are_drawn_by_their_kinds():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 600)
    train = pd.DataFrame({"c": np.array(["a", "b", "c"])[codes], "d": np.array(["x", "y", "z"])[codes]})
    train["n"], train["m"] = codes * 10 + rng.random(600), codes * 5 + rng.random(600)
    real, new = both(train, train)
    cells = picture(real, new, 0, 1, floor=1)
    assert np.array(cells["real"]).shape == (3, 3)
    assert np.array(cells["real"]).sum() == pytest.approx(1)
    assert np.count_nonzero(cells["real"]) == 3
    boxes = picture(real, new, 0, 2, floor=1)
    assert sorted(boxes["labels"]) == ["a", "b", "c"]
    assert boxes["real"][boxes["labels"].index("c")][2] == pytest.approx(20.5, abs=0.1)
    numbers = picture(real, new, 2, 3, floor=1)
    assert np.array(numbers["real"]).sum() == pytest.approx(1)
    kept = np.array(picture(real, new, 2, 3, floor=5)["real"]) * 600
    assert kept[kept > 0].min() > 4.5


def test_the_pairs_that_matter_have_pictures(tables, evaluation):
    summary = summarise(evaluation, *tables, Schema.infer(tables[0], "y"))
    for key in ("worst", "strongest"):
        assert summary.pairs[key]
    drawn = [p["pair"] for key in summary.pairs for p in summary.pairs[key] if "plot" in p]
    assert len(drawn) == len(set(drawn)) == 6  # all pairs of four columns, none of them twice


# ---- Trend without the error of single columns


def related(n, seed, share):
    rng = np.random.default_rng(seed)
    a = rng.choice(["p", "q", "r"], n, p=share)
    return pd.DataFrame({"a": a, "b": np.where(rng.random(n) < 0.9, a, "q")})


def test_pairs_agree_beyond_the_error_of_their_columns():
    real, skewed = related(4000, 0, [0.5, 0.3, 0.2]), related(4000, 1, [0.25, 0.15, 0.6])
    found = dependence(*both(real, skewed))
    assert found["synthetic"] > 0.9 > found["independent"] + 0.2
    rng = np.random.default_rng(0)
    shuffled = real.apply(lambda values: rng.permutation(values.to_numpy()))
    found = dependence(*both(real, shuffled))
    assert found["synthetic"] == pytest.approx(found["independent"], abs=0.02)


def test_a_trend_below_that_of_independent_columns_is_explained():
    real, skewed = related(4000, 0, [0.5, 0.3, 0.2]), related(4000, 1, [0.05, 0.05, 0.9])
    evaluation = evaluate(real, None, skewed, metrics=["trend"])
    score = evaluation.scores["trend"]
    assert score.value < score.floor
    _, notes = score_table(evaluation, dependence(*both(real, skewed)))
    assert any("below that of independent columns because" in note for note in notes)
    faithful = evaluate(real, None, related(4000, 2, [0.5, 0.3, 0.2]), metrics=["trend"])
    assert score_table(faithful, dependence(*both(real, real)))[1] == []


# ---- the main table


def test_every_score_that_can_have_an_interval_has_one(evaluation):
    rows, _ = score_table(evaluation, None)
    without = {row["name"] for row in rows if row["interval"] is None}
    assert without <= {"utility", "dcr", "neighbour_ratio", "laws"}
    for row in rows:
        if row["interval"] is not None:
            assert row["interval"][0] - 1e-9 <= row["value"] <= row["interval"][1] + 1e-9, row["name"]


def test_the_interval_of_shape_holds_the_mean_of_other_rows():
    rng = np.random.default_rng(0)
    real = pd.DataFrame({"x": rng.normal(size=2000), "c": rng.choice(["a", "b"], 2000)})

    def drawn(seed):
        own = np.random.default_rng(seed)
        return pd.DataFrame({"x": own.normal(0.3, 1, 500), "c": own.choice(["a", "b"], 500, p=[0.6, 0.4])})

    def shape(seed):
        return evaluate(real, None, drawn(seed), metrics=["shape"]).scores["shape"]

    scores = [shape(seed) for seed in range(10)]
    middle = np.mean([score.value for score in scores])
    intervals = [score.breakdown["interval"] for score in scores]
    assert all(0.005 < high - low < 0.2 for low, high in intervals)
    assert sum(low <= middle <= high for low, high in intervals) >= 8


def test_a_note_that_several_scores_share_is_said_once(evaluation):
    rows, notes = score_table(evaluation, None)
    sized = [row for row in rows if row["at_holdout_size"] is not None]
    assert len(sized) > 1
    assert len({tuple(row["notes"]) for row in sized if row["name"] != "laws"}) <= 2
    assert len(notes) == len(set(notes))
    assert sum("chance alone" in note for note in notes) == 1


def test_the_distance_test_is_explained_as_a_p_value(tables, evaluation):
    page = render(summarise(evaluation, *tables, Schema.infer(tables[0], "y")), "t")
    assert "A p-value: how often rows" in page
    assert "Not a score" in page


def test_laws_are_kept_or_broken():
    laws = [
        {"law": "a = b + c", "train": 1.0, "holdout": 1.0, "synthetic": 1.0},
        {"law": "d >= e", "train": 1.0, "holdout": None, "synthetic": 0.7},
    ]
    from tabtreeformer.evaluation import Score

    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [3.0, 1.0, 2.0]})
    score = Score(name="laws", value=0.85, goal="higher", breakdown={"laws": laws})
    page = render(
        summarise(
            Evaluation({"laws": score}, {}, evaluate(frame, None, frame, metrics=["copies"]).facts),
            frame, None, frame, Schema.infer(frame),
        ),
        "t",
    )  # fmt: skip
    assert "1 kept, 1 broken" in page
    assert page.index("d &gt;= e") < page.index("a = b + c")
