"""Labels that follow from the range of a number are found with round limits, and computed."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtreeformer.data.schema import Schema
from tabtreeformer.errors import SchemaError
from tabtreeformer.laws import Frame
from tabtreeformer.laws.bins import Bins, find, parse

from .planted import noise, round_trip, search, shuffled, texts


def people(rng, n=1500):
    income = np.round(rng.gamma(3, 15_000, n), 2)
    bracket = np.select([income < 20_000, income < 50_000], ["low", "middle"], "it's high")
    return pd.DataFrame({**noise(rng, n), "income": income, "bracket": bracket})


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_planted_brackets_are_found_with_their_limits_and_not_in_shuffled_columns(seed):
    rng = np.random.default_rng(seed)
    df = people(rng)
    (law,) = (candidate.law for candidate in find(search(df)))
    assert law.labels == ("low", "middle", "it's high")
    assert law.cuts == pytest.approx((20_000, 50_000), rel=0.02)
    assert texts(find, shuffled(df, rng)) == []


def test_limits_are_the_roundest_numbers_in_the_gap():
    df = people(np.random.default_rng(0), 9000)
    law = Bins("bracket", "income", (20_000.0, 50_000.0), ("low", "middle", "it's high"))
    (found,) = (candidate.law for candidate in find(search(df)))
    assert found.text == law.text == "bracket by income: 'low' < 20000 <= 'middle' < 50000 <= 'it''s high'"
    assert parse(found.text, Schema.infer(df)) == law


def test_ranges_come_back_to_the_bit_with_gaps_and_truth_values():
    df = people(np.random.default_rng(1))
    df["rich"] = df["income"] >= 50_000
    df.loc[::9, ["income", "bracket"]] = None
    schema = Schema.infer(df)
    laws = {candidate.law.target: candidate.law for candidate in find(search(df))}
    assert "rich" not in laws  # rows without an income are of both kinds
    law = laws["bracket"]
    pd.testing.assert_frame_equal(round_trip(law, df), df)
    assert Bins.from_json(json.loads(json.dumps(law.to_json()))) == law
    whole = df.dropna().reset_index(drop=True)
    (law,) = (c.law for c in find(search(whole)) if c.law.target == "rich")
    assert law.text == "rich by income: false < 50000 <= true"
    assert parse(law.text, schema).learn(Frame.read(whole, schema), 5) == law


def test_a_sentence_with_limits_that_do_not_rise_is_refused():
    schema = Schema.infer(people(np.random.default_rng(2)))
    with pytest.raises(SchemaError, match="write it as"):
        parse("bracket by income: 'a' < 5 <= 'b' < 3 <= 'c'", schema)
