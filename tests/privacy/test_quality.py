"""The end of a fit says what came of it."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import Schema, TabTreeFormer
from tabtreeformer.evaluation.quick_look import quick_look
from tabtreeformer.fitting.evidence import Evidence
from tabtreeformer.fitting.history import History
from tabtreeformer.privacy.quality import quality_lines


@pytest.fixture
def df():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    return pd.DataFrame(
        {"x": x.round(2), "y": (2 * x + rng.normal(0, 0.1, 400)).round(2), "k": rng.choice(["a", "b"], 400)}
    )


def test_rows_like_the_real_ones_are_said_to_be_so(df):
    said = quick_look(df.head(200), df.tail(200), Schema.infer(df), 2)
    assert "hardly recognised as synthetic" in said[0]
    assert "keep 2 laws without exception" in said[0]
    assert "no column and no pair of columns differs" in said[1]
    assert "--holdout" in said[2]
    assert "--holdout" not in quick_look(df.head(200), df.tail(200), Schema.infer(df), 2, holdout=True)[2]


def test_many_rare_values_that_agree_as_real_rows_do_are_not_blamed():
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"zip": rng.choice([f"z{k}" for k in range(70)], 2000), "x": rng.normal(size=2000)})
    said = quick_look(df.head(1000), df.tail(1000).reset_index(drop=True), Schema.infer(df), 0)
    assert "no column and no pair of columns differs" in said[1]


def test_a_value_that_a_far_number_shifts_into_another_bin_is_not_blamed(df):
    far = df.assign(x=df["x"].where(df.index > 0, 900.0))
    said = quick_look(far, df.sample(frac=1, random_state=0), Schema.infer(df), 0)
    assert "no column and no pair of columns differs" in said[1]


def test_independent_columns_are_told_apart_and_their_pair_is_named(df):
    shuffled = df.assign(y=df["y"].sample(frac=1, random_state=0).to_numpy())
    said = quick_look(df, shuffled, Schema.infer(df), 0)
    assert "nearly always recognised as synthetic" in said[0]
    assert "pair 'x' and 'y'" in said[1]
    assert "more rows, or fewer columns, help most" in said[2]
    assert "a larger --budget" in quick_look(df, shuffled, Schema.infer(df), 0, budget=True)[2]


def test_columns_that_no_score_can_be_given_are_passed_over(df):
    empty = df.assign(a=np.nan, b=np.nan, c=np.nan)
    shuffled = empty.assign(y=-9.0, k="a")
    lines = quick_look(empty, shuffled, Schema.infer(empty), 0)
    assert "least alike: column" in lines[1]
    assert not any(repr(name) in lines[1] for name in "abc")


def test_a_table_of_five_rows_is_said_to_be_too_small(df, capsys):
    TabTreeFormer("trees", target="k", random_state=0).fit(df.head(5))
    said = " ".join(capsys.readouterr().err.split())
    assert "quality: 5 rows are too few to learn from: 5 new rows are all the same" in said


def test_a_budget_that_ends_before_every_row_was_seen_says_so(df):
    model = TabTreeFormer("trees", random_state=0, verbose=False).fit(df)
    take = lambda rows: df.iloc[rows].reset_index(drop=True)  # noqa: E731
    evidence = Evidence(
        take=take, tokens=np.zeros((400, 3)), parts=(), histories=(History("half 1", steps=2, rows=32),)
    )
    first = quality_lines(model.fitted_, evidence, 5.0)[0]
    assert first.startswith("stopped by the budget after 2 steps")
    enough = dataclasses.replace(evidence, histories=(History("half 1", steps=50, rows=3200),))
    assert quality_lines(model.fitted_, enough, 5.0)[0].startswith("quality: ")
