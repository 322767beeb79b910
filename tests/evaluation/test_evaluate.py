from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tabtreeformer._runtime.progress import Silent
from tabtreeformer.data.schema import CATEGORICAL, Schema
from tabtreeformer.errors import ConfigError, MissingExtraError, SchemaError
from tabtreeformer.evaluation import METRICS, Evaluation, evaluate
from tabtreeformer.evaluation.metrics import evaluators, utility


def values(evaluation: Evaluation) -> dict[str, float]:
    return {name: score.value for name, score in evaluation.scores.items()}


@pytest.fixture(scope="module")
def remembered() -> dict:
    """What depends on the real rows alone, computed once."""
    return {}


@pytest.fixture(scope="module")
def identity(train, test, remembered) -> Evaluation:
    """The generator that returns what it was given."""
    return evaluate(train, test, train.sample(frac=1, random_state=0), target="owner", remembered=remembered)


@pytest.fixture(scope="module")
def marginals(train, test, shuffled, remembered) -> Evaluation:
    """The generator that draws every column by itself."""
    return evaluate(train, test, shuffled(train), target="owner", remembered=remembered)


@pytest.fixture(scope="module")
def perfect(train, test, fresh, remembered) -> Evaluation:
    """The generator that knows the world itself.

    Of twenty such tables one is flagged by dcr, as its level says; this one is not.
    """
    return evaluate(train, test, fresh, target="owner", remembered=remembered)


# ---- known answers


def test_returned_training_rows_look_perfect(identity):
    scores = values(identity)
    assert scores["shape"] == scores["trend"] == 1
    assert abs(scores["utility"]) < 0.01


def test_returned_training_rows_fail_every_test_of_privacy(identity):
    scores = values(identity)
    assert scores["dcr"] < 1e-6
    assert identity.scores["dcr"].breakdown["violation"] is True
    assert scores["copies"] == 1
    assert scores["membership"] > 0.9
    assert scores["membership_density"] > 0.65
    assert scores["neighbour_ratio"] == 0
    assert min(scores[name] for name in ("singling_out", "linkability", "inference")) > 0.8


def test_returned_training_rows_are_pointed_out_where_detection_falls_far_below_one_half(identity):
    assert identity.scores["detection"].value < 0.2
    assert "rows of one table are also in the other" in identity.scores["detection"].note


def test_independent_columns_have_shape_but_no_trend_and_are_detected(marginals, perfect):
    scores = values(marginals)
    assert scores["shape"] > 0.99
    assert scores["trend"] < values(perfect)["trend"] - 0.1
    assert scores["detection"] > 0.9
    assert scores["utility"] > 0.2
    assert scores["copies"] == 0


def test_independent_columns_are_the_floor(marginals):
    for name, score in marginals.scores.items():
        # A model that has learned from noise may be right or wrong by chance.
        assert score.value == pytest.approx(score.floor, abs=0.3 if name == "utility" else 0.1), name


def test_a_shuffled_target_destroys_utility_and_little_else(train, test, fresh, shuffled):
    scores = values(
        evaluate(train, test, shuffled(fresh, "owner"), target="owner", metrics=["utility", "shape", "copies"])
    )
    assert scores["utility"] > 0.2
    assert scores["shape"] > 0.95
    assert scores["copies"] == 0


def test_fresh_real_rows_pass_everything(perfect):
    scores = values(perfect)
    assert abs(scores["utility"]) < 0.03
    assert scores["shape"] > 0.95
    assert scores["trend"] > 0.95
    assert 0.4 < scores["detection"] < 0.6
    assert perfect.scores["dcr"].breakdown["violation"] is False
    assert scores["copies"] < 0.01
    assert 0.45 < scores["membership"] < 0.55
    assert 0.45 < scores["membership_density"] < 0.55
    assert scores["neighbour_ratio"] == pytest.approx(perfect.scores["neighbour_ratio"].ceiling, abs=0.05)


def test_the_ceiling_lies_on_the_good_side_of_the_floor(perfect):
    for name in ("shape", "trend"):
        score = perfect.scores[name]
        assert score.breakdown["at_holdout_size"] == pytest.approx(score.ceiling, abs=0.03)
    scores = perfect.scores
    assert scores["trend"].ceiling > scores["trend"].floor
    assert scores["utility"].ceiling == 0 < scores["utility"].floor
    assert abs(scores["detection"].ceiling - 0.5) < abs(scores["detection"].floor - 0.5)
    assert 0.05 < scores["dcr"].ceiling < 0.95
    assert abs(scores["membership"].ceiling - 0.5) < 0.1


def test_numbers_can_be_predicted_too(train, test, fresh):
    evaluation = evaluate(train, test, fresh, target="tax", metrics=["utility"])
    assert evaluation.facts["task"] == "regression"
    breakdown = evaluation.scores["utility"].breakdown
    assert breakdown["score"] == "R²"
    assert all(record["real"] > 0.8 and abs(record["relative_error"]) < 0.1 for record in breakdown["evaluators"])


# ---- what comes back


def test_a_metric_scores_the_same_alone_and_among_others(identity, train, test):
    synthetic = train.sample(frac=1, random_state=0)
    for name in ("neighbour_ratio", "membership", "trend"):
        alone = evaluate(train, test, synthetic, target="owner", metrics=[name])
        assert alone.scores[name] == identity.scores[name]


def test_without_references_the_numbers_stay_and_stand_alone(perfect, train, test, fresh):
    names = ["utility", "shape", "dcr"]
    bare = evaluate(train, test, fresh, target="owner", metrics=names, references=False)
    assert values(bare) == {name: values(perfect)[name] for name in names}
    assert all(score.ceiling is None and score.floor is None for score in bare.scores.values())


def test_what_is_remembered_of_real_rows_changes_no_number_and_is_not_computed_again(
    train, test, fresh, shuffled, monkeypatch
):
    remembered: dict = {}
    rest = {"target": "owner", "metrics": ["utility"], "references": False}
    evaluate(train, test, fresh, **rest, remembered=remembered)
    calls = []
    fit = utility.fit_and_predict
    monkeypatch.setattr(utility, "fit_and_predict", lambda *a: calls.append(a) or fit(*a))
    again = evaluate(train, test, shuffled(train), **rest, remembered=remembered)
    assert len(calls) == len(evaluators.EVALUATORS)
    assert values(again) == values(evaluate(train, test, shuffled(train), **rest))


def test_another_random_state_draws_another_floor(train, test, fresh):
    one, same, other = (
        evaluate(train, test, fresh, metrics=["trend"], random_state=seed).scores["trend"] for seed in (1, 1, 2)
    )
    assert one == same
    assert one.value == other.value
    assert one.floor != other.floor


def test_the_frame_has_one_row_a_score(perfect):
    frame = perfect.to_frame()
    assert list(frame.index) == list(METRICS)
    assert list(frame.columns) == ["value", "ceiling", "floor", "goal"]
    assert frame.loc["shape", "value"] == perfect.scores["shape"].value
    assert frame.loc["detection", "goal"] == "half"


def test_json_holds_everything_and_comes_back(perfect):
    text = json.dumps(perfect.to_json(), allow_nan=False)
    again = Evaluation.from_json(json.loads(text))
    assert again.to_json() == perfect.to_json()
    assert again.scores == dict(perfect.scores)
    pd.testing.assert_frame_equal(again.to_frame(), perfect.to_frame())


def test_a_score_that_is_not_a_number_comes_back_as_none_in_json(train, test):
    one_column = train[["pay"]]
    evaluation = evaluate(one_column, test, one_column, metrics=["trend"])
    assert np.isnan(evaluation.scores["trend"].value)
    assert "one column only" in evaluation.scores["trend"].note
    plain = json.loads(json.dumps(evaluation.to_json(), allow_nan=False))
    assert plain["scores"]["trend"]["value"] is None
    assert np.isnan(Evaluation.from_json(plain).scores["trend"].value)


def test_facts_say_what_was_compared(perfect):
    facts = perfect.facts
    assert facts["rows"] == {"train": 800, "test": 300, "synthetic": 800}
    assert facts["columns"][1] == {"name": "city", "kind": "categorical"}
    assert (facts["target"], facts["task"]) == ("owner", "classification")
    assert set(facts["seconds"]) == set(METRICS)
    assert {"tabtreeformer", "python", "numpy", "pandas", "sklearn", "lightgbm", "xgboost"} <= set(facts["versions"])
    assert facts["settings"]["utility"] == "quick"


class Listener(Silent):
    def __init__(self) -> None:
        self.names: list[str] = []
        self.notes: list[str] = []

    def task(self, name, total):
        self.names.append(name)
        return super().task(name, total)

    def note(self, message):
        self.notes.append(message)


def test_progress_is_reported_stage_by_stage(train, test, fresh):
    listener = Listener()
    evaluate(train, test, fresh, metrics=["trend", "detection", "dcr"], progress=listener)
    assert "detection of synthetic rows" in listener.names
    assert "nearest training rows of independent columns" in listener.names
    # All held-out rows for the value, and each half of them for the ceiling.
    assert listener.names.count("nearest training rows of held-out rows") == 3


# ---- without a hold-out, without a target


def test_without_a_hold_out_nothing_has_a_ceiling_and_some_is_left_out(train, fresh):
    listener = Listener()
    evaluation = evaluate(train, None, fresh, target="owner", progress=listener)
    alone = {"shape", "trend", "detection", "laws", "grain", "detection_derived", "copies", "neighbour_ratio"}
    assert set(evaluation.scores) == alone
    attacks = {"singling_out", "linkability", "inference"}
    unseen = {"shape_unseen", "trend_unseen", "detection_unseen"}
    assert set(evaluation.left_out) == {"utility", "dcr", "membership", "membership_density"} | attacks | unseen
    assert all("give a hold-out" in reason for reason in evaluation.left_out.values())
    assert all(score.ceiling is None and score.floor is not None for score in evaluation.scores.values())
    assert evaluation.to_frame()["ceiling"].isna().all()
    assert len(listener.notes) == 10
    assert Evaluation.from_json(evaluation.to_json()).left_out == evaluation.left_out


def test_without_a_target_utility_is_left_out(train, test, fresh):
    evaluation = evaluate(train, test, fresh, metrics=["utility", "shape"])
    assert list(evaluation.scores) == ["shape"]
    assert "name it as target" in evaluation.left_out["utility"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda df: df[["owner"]], "only column"),
        (lambda df: df.assign(owner="yes"), "single value in the training rows"),
    ],
)
def test_utility_is_left_out_where_nothing_can_be_predicted(train, test, change, reason):
    evaluation = evaluate(change(train), change(test), change(train), target="owner", metrics=["utility"])
    assert evaluation.scores == {}
    assert reason in evaluation.left_out["utility"]


# ---- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": ["shap"]}, "there is no metric 'shap'; known metrics: utility, shape, trend"),
        ({"metrics": []}, "metrics is empty"),
        ({"utility": "slow"}, "utility must be 'quick' or 'tuned', got 'slow'"),
        ({"max_queries": 0}, "max_queries must be a whole number of at least 1, got 0"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0, got -1"),
        ({"random_state": 0.5}, "random_state must be a whole number"),
    ],
)
def test_settings_that_cannot_be_are_refused(train, test, arguments, message):
    with pytest.raises(ConfigError, match=message):
        evaluate(train, test, train, **arguments)


def test_absent_columns_are_named(train, test):
    with pytest.raises(SchemaError, match="the synthetic table lacks column 'city', 'pay'; it has 'age', 'rooms'"):
        evaluate(train, test, train.drop(columns=["city", "pay"]))
    with pytest.raises(SchemaError, match="the held-out table lacks column 'age'"):
        evaluate(train, test.drop(columns="age"), train)
    with pytest.raises(SchemaError, match="there is no column 'wealth'"):
        evaluate(train, test, train, target="wealth")


@pytest.mark.parametrize(
    ("synthetic", "message"),
    [
        (lambda df: df.head(1), "the synthetic table cannot be evaluated: the table has 1 row"),
        (lambda df: df.to_dict(), "a pandas DataFrame is needed, got dict"),
        (lambda df: df.assign(pay="much"), "column 'pay' of the synthetic table should hold numbers"),
        (lambda df: df.assign(pay=np.inf), "column 'pay' of the synthetic table holds inf in row 0"),
        (lambda df: df.assign(pay=pd.Timestamp("2020-01-01")), "has dtype datetime64.*not numbers"),
    ],
)
def test_tables_that_cannot_be_are_refused(train, test, synthetic, message):
    with pytest.raises(SchemaError, match=message):
        evaluate(train, test, synthetic(train))


def test_a_missing_xgboost_is_said_before_any_work(train, test, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    listener = Listener()
    with pytest.raises(MissingExtraError, match=r"pip install 'tabtreeformer\[eval\]'"):
        evaluate(train, test, train, target="owner", progress=listener)
    assert listener.names == []


# ---- any table, from any tool


def test_a_table_from_another_tool_scores_as_the_same_table_of_ours(train, test, fresh, perfect, remembered):
    strange = pd.DataFrame(
        {
            "owner": fresh["owner"].astype("category"),
            "extra": 1,
            "age": fresh["age"].astype(float).astype(object),
            "rooms": fresh["rooms"].astype("Int64"),
            "tax": fresh["tax"].astype(str),
            "pay": fresh["pay"].astype("Float64"),
            "city": fresh["city"].astype("string"),
        },
    ).set_index(np.arange(len(fresh)) + 7)
    theirs = evaluate(train, test, strange, target="owner", remembered=remembered)
    assert values(perfect) == values(theirs)


def test_the_schema_says_which_columns_count_and_what_they_are(train, test, fresh):
    schema = Schema.infer(train[["age", "rooms", "owner"]]).with_kind("rooms", CATEGORICAL)
    evaluation = evaluate(train, test, fresh, schema=schema, metrics=["shape"])
    measures = {c["column"]: c["measure"] for c in evaluation.scores["shape"].breakdown["columns"]}
    assert measures == {"age": "Kolmogorov-Smirnov", "rooms": "total variation", "owner": "total variation"}


def test_a_synthetic_table_of_one_class_scores_one_half(train, test, fresh):
    evaluation = evaluate(train, test, fresh.assign(owner="yes"), target="owner", metrics=["utility"])
    assert [e["synthetic"] for e in evaluation.scores["utility"].breakdown["evaluators"]] == [0.5, 0.5, 0.5]


def column(n_rows: int) -> st.SearchStrategy[list]:
    """Numbers, whole numbers or text, with gaps, few values or one, or nothing at all."""
    gaps = st.none()
    numbers = st.floats(-1e12, 1e12, allow_nan=False) | st.sampled_from([0.0, -0.0, 1e-300, -1e305])
    kinds = [numbers, st.integers(-3, 3), st.sampled_from(["a", "b", "<script>"]), st.just(5), st.booleans()]
    filled = st.sampled_from(kinds).flatmap(lambda kind: st.lists(kind, min_size=n_rows, max_size=n_rows))
    gappy = st.sampled_from(kinds[:3]).flatmap(
        lambda kind: st.lists(kind | gaps, min_size=n_rows, max_size=n_rows).map(lambda v: v)
    )
    return filled | gappy | st.just([None] * n_rows)


@st.composite
def odd_tables(draw_from) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Cut one odd table into three."""
    sizes = [draw_from(st.integers(2, 9)) for _ in range(3)]
    columns = draw_from(st.lists(column(sum(sizes)), min_size=1, max_size=4))
    df = pd.DataFrame({f"c{place}": values for place, values in enumerate(columns)})
    cuts = np.cumsum(sizes)
    return df.iloc[: cuts[0]], df.iloc[cuts[0] : cuts[1]], df.iloc[cuts[1] :]


@settings(max_examples=int(os.environ.get("TABLES", "20")), deadline=None, suppress_health_check=list(HealthCheck))
@given(odd_tables(), st.booleans())
def test_any_three_cuts_of_any_table_can_be_evaluated(monkeypatch_small_models, tables, with_target):
    train, test, synthetic = tables
    evaluation = evaluate(train, test, synthetic, target="c0" if with_target else None)
    json.dumps(evaluation.to_json(), allow_nan=False)
    assert set(evaluation.scores) | set(evaluation.left_out) == set(METRICS)
    for name in METRICS.keys() & evaluation.scores.keys() - {"utility", "trend", "neighbour_ratio"}:
        value = evaluation.scores[name].value
        assert np.isnan(value) or -1e-12 <= value <= 1 + 1e-12, name


@pytest.fixture(scope="module")
def monkeypatch_small_models():
    """Models of a few trees: here only matters that they run."""
    few = {"RF": {"n_estimators": 3}, "XGB": {"n_estimators": 3}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utility, "quick_settings", lambda name: evaluators.quick_settings(name) | few.get(name, {}))
        yield


def test_importing_the_package_waits_for_no_library():
    script = (
        "import sys, tabtreeformer.evaluation\n"
        "print([m for m in ('sklearn', 'scipy', 'lightgbm', 'xgboost', 'optuna', 'torch') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_row_order_of_the_synthetic_table_does_not_matter_where_no_row_is_drawn(train, fresh):
    metrics = ["shape", "trend", "copies", "neighbour_ratio"]
    one, other = (evaluate(train, None, t, metrics=metrics) for t in (fresh, fresh.iloc[::-1]))
    assert values(one) == pytest.approx(values(other), abs=1e-12)


def test_a_larger_synthetic_table_may_be_judged(train, test, draw):
    evaluation = evaluate(train, test, draw(2000, seed=5), target="owner", metrics=["utility", "dcr", "membership"])
    assert evaluation.scores["dcr"].breakdown["rows"] == {"synthetic": 300, "holdout": 300}
