"""Columns that are empty together stay so, and what follows from a value or a gap is put right in every row."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtreeformer.data.schema import Schema
from tabtreeformer.errors import SchemaError
from tabtreeformer.laws import Frame, find_laws, implication
from tabtreeformer.laws import gaps as together

from .planted import noise, round_trip, search, shuffled, texts


def garages(rng, n, share=0.1):
    none = rng.random(n) < share
    kind = rng.choice(["attached", "detached"], n).astype(object)
    year = rng.integers(1900, 2010, n).astype(float)
    kind[none], year[none] = None, np.nan
    area = np.where(none, 0, rng.integers(200, 900, n))
    return pd.DataFrame({**noise(rng, n), "kind": kind, "year": year, "area": area})


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), share=st.sampled_from([0.02, 0.1, 0.5, 0.95]))
def test_a_planted_group_is_found_with_one_leader_and_nothing_in_shuffled_columns(seed, share):
    rng = np.random.default_rng(seed)
    df = garages(rng, 1500, share)
    assert sorted(texts(together.find, df)) == [
        "area = 0 exactly where kind is missing",
        "year is missing exactly where kind is missing",
    ]
    assert texts(together.find, shuffled(df, rng)) == []


def test_a_group_comes_back_to_the_bit_and_cannot_be_drawn_apart():
    df = garages(np.random.default_rng(0), 800)
    schema = Schema.infer(df)
    for candidate in together.find(search(df)):
        law = candidate.law
        pd.testing.assert_frame_equal(round_trip(law, df), df)
        expressed = law.express(Frame.read(df, schema)).table()
        assert expressed[["year", "area"]].notna().all().any()
        assert not law.member.mask(Frame.read(expressed, schema)).any()
        mixed = shuffled(df, np.random.default_rng(1))
        restored = law.restore(Frame.read(mixed, schema), np.random.default_rng(2), schema)
        applies, keeps = law.holds(restored)
        assert applies.sum() == keeps.sum() > 0
        assert together.Together.from_json(json.loads(json.dumps(law.to_json()))) == law
        assert together.parse(law.text, schema).learn(Frame.read(df, schema), 5) == law


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_planted_implications_are_found_nested_ones_once(seed):
    rng = np.random.default_rng(seed)
    n = 4000
    style = rng.choice(["one", "two", "split"], n)
    second = np.where(style == "one", 0, rng.integers(300, 900, n))
    second[rng.random(n) < 0.1] = 0
    departure = np.round(rng.normal(600, 100, n), 1)
    departure[rng.random(n) < 0.06] = np.nan
    arrival = np.where(np.isnan(departure) | (rng.random(n) < 0.05), np.nan, np.round(departure + rng.random(n) * 9, 1))
    in_air = np.where(np.isnan(arrival) | (rng.random(n) < 0.05), np.nan, rng.integers(30, 400, n))
    planted = {"style": style, "second": second, "departure": departure, "arrival": arrival, "in_air": in_air}
    df = pd.DataFrame({**noise(rng, n), **planted})
    found = texts(implication.find, df)
    assert sorted(found) == [
        "arrival is missing where departure is missing",
        "in_air is missing where arrival is missing",
        "second = 0 where style = 'one'",
    ]
    assert texts(implication.find, shuffled(df, rng)) == []


def test_gaps_that_are_nested_need_fewer_rows_than_other_implications():
    r = np.random.default_rng(0)
    left, flown = r.normal(size=3000), r.normal(size=3000)
    flown[r.random(3000) < 0.1] = np.nan
    left[np.flatnonzero(np.isnan(flown))[:40]] = np.nan
    df = pd.DataFrame({"left": left, "flown": flown, "kind": r.choice(["a", "b"], 3000)})
    assert texts(implication.find, df) == ["flown is missing where left is missing"]


def test_where_a_total_is_nothing_its_parts_are_too_though_few_rows_have_none():
    r = np.random.default_rng(0)
    part = np.where(r.random(2000) < 0.2, 0, r.integers(1, 90, 2000) * 10)
    kind = r.choice(["slab", "brick", "wood"], 2000)
    kind[:60], part[:60] = "none", 0
    total = np.where(kind == "none", 0, part + r.integers(1, 50, 2000) * 10)
    df = pd.DataFrame({"kind": kind, "part": part, "total": total})
    schema = Schema.infer(df)
    laws = find_laws(schema.validate(df), schema, floor=5, rng=np.random.default_rng(0))
    rows = laws.restore(df.apply(lambda column: r.permutation(column)), r)
    assert {"total = 0 exactly where kind = 'none'", "total >= part"} <= set(laws.texts)
    assert ((rows["total"] == 0) == (rows["kind"] == "none")).all()
    assert (rows["total"] >= rows["part"]).all()


def test_rows_that_break_an_implication_are_put_right():
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"payment": rng.choice(["cash", "card"], 900), "tip": np.round(rng.random(900) * 9, 2)})
    df.loc[df["payment"] == "cash", "tip"] = 0.0
    schema = Schema.infer(df)
    (candidate,) = implication.find(search(df))
    law = candidate.law
    assert law.text == "tip = 0 where payment = 'cash'"
    pd.testing.assert_frame_equal(round_trip(law, df), df)
    mixed = shuffled(df, rng)
    restored = law.restore(Frame.read(mixed, schema), rng, schema).table()
    assert (restored.loc[restored["payment"] == "cash", "tip"] == 0).all()
    same = restored["payment"] == "card"
    pd.testing.assert_frame_equal(restored[same], mixed[same])
    assert implication.parse(law.text, schema).learn(Frame.read(df, schema), 5) == law
    assert implication.Implication.from_json(json.loads(json.dumps(law.to_json()))) == law


@pytest.mark.parametrize("text", ["tip = 0 where cash", "tip where payment = 'cash'", "tip = zero where payment = 'a'"])
def test_a_sentence_that_cannot_be_read_says_how_to_write_it(text):
    schema = Schema.infer(pd.DataFrame({"payment": ["a", "b"] * 9, "tip": [0.5, 1.25, 3.0] * 6}))
    with pytest.raises(SchemaError, match="write"):
        implication.parse(text, schema)
