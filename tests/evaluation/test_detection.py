from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.evaluation import evaluate
from tabtreeformer.evaluation.metrics import detection as detection_module


def detect(train: pd.DataFrame, synthetic: pd.DataFrame, **arguments):
    return evaluate(train, None, synthetic, metrics=["detection"], **arguments).scores["detection"]


def test_one_broken_column_is_found_and_named(train, fresh):
    score = detect(train, fresh.assign(pay=fresh["pay"] + 5000))
    assert score.value > 0.99
    assert score.breakdown["importance"][0]["column"] == "pay"
    assert sum(column["share"] for column in score.breakdown["importance"]) == pytest.approx(1)


def test_a_relation_of_three_columns_is_found_which_shape_and_trend_miss():
    rng = np.random.default_rng(0)
    a, b, free = rng.integers(0, 2, (3, 3000))
    real, synthetic = (pd.DataFrame({"a": a, "b": b, "c": c}).astype(str) for c in (a ^ b, free))
    scores = evaluate(real, None, synthetic, metrics=["shape", "trend", "detection"]).scores
    assert scores["shape"].value > 0.97
    assert scores["trend"].value > 0.97
    assert scores["detection"].value > 0.7


def test_columns_of_many_categories_do_not_blind_it(shuffled):
    rng = np.random.default_rng(0)
    common = rng.normal(size=2000)
    numbers = {f"n{place}": 1.5 * common + rng.normal(size=2000) for place in range(8)}
    noise = {f"c{place}": rng.integers(0, 100, 2000).astype(str) for place in range(12)}
    real = pd.DataFrame(numbers | noise)
    assert detect(real, shuffled(real)).value > 0.88


def test_gaps_in_one_table_only_are_found(train, fresh):
    assert detect(train, fresh.assign(city=fresh["city"].where(fresh.index % 3 > 0, None))).value > 0.6
    assert detect(train, fresh.assign(tax=fresh["tax"].where(fresh.index % 3 > 0))).value > 0.6


def test_as_many_rows_of_the_one_as_of_the_other_and_no_more_than_the_cap(train, fresh, monkeypatch):
    assert detect(train, fresh.head(100)).breakdown["rows"] == {"real": 100, "synthetic": 100}
    monkeypatch.setattr(detection_module, "MAX_ROWS", 60)
    score = detect(train, fresh)
    assert score.breakdown["rows"] == {"real": 60, "synthetic": 60}
    assert score.note == "measured on 60 rows drawn from each table"


def test_it_is_the_same_each_time_and_follows_the_seed(train, fresh):
    assert detect(train, fresh) == detect(train, fresh)
    assert detect(train, fresh).value != detect(train, fresh, random_state=1).value


@pytest.mark.parametrize("n_rows", [2, 3, 7])
def test_few_rows_are_not_too_few(train, fresh, n_rows):
    score = detect(train.head(n_rows), fresh.head(n_rows))
    assert len(score.breakdown["folds"]) == min(5, n_rows)
    assert 0 <= score.value <= 1


def test_columns_of_one_value_tell_nothing():
    same = pd.DataFrame({"a": [1.0] * 50, "b": ["x"] * 50})
    score = detect(same, same)
    assert score.value == 0.5
    assert all(column["share"] == 0 for column in score.breakdown["importance"])
