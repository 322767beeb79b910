"""Numbers that a category rounds in its own way are found, and rounded so in every row."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtreeformer.data.schema import Schema
from tabtreeformer.errors import SchemaError
from tabtreeformer.laws import Frame, find_laws, given_laws
from tabtreeformer.laws.steps import Steps, find, parse

from .planted import noise, round_trip, search, shuffled, texts


def payments(rng, n=3000):
    currency = rng.choice(["EUR", "JPY", "KRW", "USD"], n, p=[0.4, 0.2, 0.1, 0.3])
    amount = np.round(rng.gamma(3, 40, n), 2)
    amount = np.where(currency == "JPY", np.rint(amount * 100), amount)
    amount = np.where(currency == "KRW", np.rint(amount) * 1000, amount)
    return pd.DataFrame({**noise(rng, n), "currency": currency, "amount": amount})


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_planted_steps_are_found_and_not_in_shuffled_columns(seed):
    rng = np.random.default_rng(seed)
    df = payments(rng)
    wanted = {"amount in steps of 1 where currency = 'JPY'", "amount in steps of 1000 where currency = 'KRW'"}
    (text,) = texts(find, df)
    assert set(text.split("; ")) == wanted
    assert texts(find, shuffled(df, rng)) == []


def test_numbers_of_the_category_are_rounded_and_all_others_stay():
    rng = np.random.default_rng(0)
    df = payments(rng)
    schema = Schema.infer(df)
    (candidate,) = find(search(df))
    law = candidate.law
    pd.testing.assert_frame_equal(round_trip(law, df), df)
    mixed = df.assign(amount=rng.permutation(df["amount"]))
    restored = law.restore(Frame.read(mixed, schema), rng, schema).table()
    yen = df["currency"] == "JPY"
    assert (restored.loc[yen, "amount"] % 1 == 0).all()
    assert (restored["amount"] - mixed["amount"])[yen].abs().max() <= 0.5
    other = df["currency"].isin(["EUR", "USD"])
    pd.testing.assert_frame_equal(restored[other], mixed[other])
    assert Steps.from_json(json.loads(json.dumps(law.to_json()))) == law
    assert parse(law.text, schema).learn(Frame.read(df, schema), 5) == law
    laws = find_laws(schema.validate(df), schema, floor=5, rng=rng)
    assert law.text in laws.texts


@pytest.mark.parametrize("text", ["amount in steps of 0 where currency = 'JPY'", "amount in steps of 1 where JPY"])
def test_a_sentence_that_cannot_be_read_says_how_to_write_it(text):
    with pytest.raises(SchemaError, match="write it as"):
        parse(text, Schema.infer(payments(np.random.default_rng(1))))


def altitudes(rng, n=1500):
    """Heights from, mean and to: metres are whole, their means end in .5, feet have decimals."""
    low = rng.integers(300, 900, n)
    high = low + rng.integers(1, 4, n)
    frame = pd.DataFrame({"unit": rng.choice(["m", "ft"], n, p=[0.7, 0.3]), "low": low, "high": high}).astype(
        {"low": float, "high": float}
    )
    frame["mean"] = (frame["low"] + frame["high"]) / 2
    feet = frame["unit"] == "ft"
    frame.loc[feet, ["low", "mean", "high"]] = (frame.loc[feet, ["low", "mean", "high"]] * 0.3048).round(3)
    return frame.assign(**noise(rng, n))


def test_rounding_breaks_no_order_that_holds_in_every_row():
    rng = np.random.default_rng(0)
    df = altitudes(rng)
    schema = Schema.infer(df)
    sentences = ["high >= mean", "mean >= low"]
    sentences += [
        f"{name} in steps of {step} where unit = 'm'" for name, step in zip(("high", "low"), (1, 1), strict=True)
    ]
    laws = given_laws(sentences, df, schema, floor=5)
    mixed = df.assign(unit="m", high=df["mean"] + rng.choice([0.0, 0.25, 0.5], len(df)), low=df["mean"] - 0.3)
    restored = laws.restore(mixed[list(laws.expressed_schema.names)], rng)
    metres = restored["unit"] == "m"
    assert (restored["high"] >= restored["mean"]).all()
    assert (restored["mean"] >= restored["low"]).all()
    assert (restored.loc[metres, ["low", "high"]] % 1 == 0).all(axis=None)
    (steps, *_) = [law for law in laws.laws if law.form == "steps"]
    assert Steps.from_json(json.loads(json.dumps(steps.to_json()))) == steps
