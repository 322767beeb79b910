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
    assert "2 laws kept in every row" in said[0]


def test_independent_columns_are_told_apart_and_their_pair_is_named(df):
    shuffled = df.assign(y=df["y"].sample(frac=1, random_state=0).to_numpy())
    said = quick_look(df, shuffled, Schema.infer(df), 0)
    assert "nearly always recognised as synthetic" in said[0]
    assert "the least similar pair 'x' and 'y'" in said[0]
    assert "more time helps first" in said[1]


def test_columns_that_no_score_can_be_given_are_passed_over(df):
    empty = df.assign(a=np.nan, b=np.nan, c=np.nan)
    lines = quick_look(empty, empty, Schema.infer(empty), 0)
    assert "the least similar column is" in lines[0]
    assert not any(f"is {name!r}" in lines[0] for name in "abc")


def test_a_table_of_five_rows_is_said_to_be_too_small(df, capsys):
    TabTreeFormer("trees", random_state=0).fit(df.head(5))
    assert "quality: 5 rows are too few to learn from" in " ".join(capsys.readouterr().err.split())


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
