"""Columns that are a function of others are found, and whatever is drawn for the keys, the function holds."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtreeformer.data.schema import Schema
from tabtreeformer.errors import SchemaError
from tabtreeformer.laws import Frame, find_laws
from tabtreeformer.laws.combination import Combination
from tabtreeformer.laws.find_lookup import find
from tabtreeformer.laws.lookup import Lookup, parse

from .planted import noise, round_trip, search, shuffled, texts


def planted(rng, n, sizes, n_values, numbers):
    """A table whose `target` is a random function of the keys `k0`, `k1`, …"""
    keys = [rng.choice(size, n, p=rng.dirichlet(np.full(size, 3.0))) for size in sizes]
    values = rng.integers(0, n_values, size=sizes) * 7 + 100
    target = values[tuple(keys)]
    table = {f"k{i}": [f"v{code}" for code in key] for i, key in enumerate(keys)}
    return pd.DataFrame({**noise(rng, n), **table, "target": target if numbers else [f"t{v}" for v in target]})


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    sizes=st.sampled_from([(8,), (40,), (120,), (3, 12), (6, 9), (2, 3, 5), (24, 6)]),
    numbers=st.booleans(),
)
def test_a_planted_function_of_one_to_three_columns_is_found_with_its_keys_alone(seed, sizes, numbers):
    rng = np.random.default_rng(seed)
    df = planted(rng, 3000, sizes, 30, numbers)
    names = ", ".join(f"k{i}" for i in range(len(sizes)))
    found = [t for t in texts(find, df) if t.startswith("target from")]
    assert found == [f"target from {names}"]
    assert texts(find, shuffled(df, rng)) == []


def routes(n=2000):
    rng = np.random.default_rng(3)
    origin, dest = rng.choice(["A", "B", "C"], n), rng.choice([f"D{i}" for i in range(25)], n)
    known = rng.random((3, 25)) < 0.6
    keep = [bool(known["ABC".index(o), int(d[1:])]) for o, d in zip(origin, dest, strict=True)]
    miles = {(o, f"D{d}"): int(100 + 37 * d + 5 * "ABC".index(o)) for o in "ABC" for d in range(25)}
    df = pd.DataFrame({"origin": origin, "dest": dest})
    df["miles"] = [miles[pair] for pair in zip(df["origin"], df["dest"], strict=True)]
    return df[keep].reset_index(drop=True)


def test_a_function_comes_back_to_the_bit():
    df = routes()
    law = Lookup("miles", ("origin", "dest")).learn(Frame.read(df, Schema.infer(df)), 5)
    assert law.exceptions == 0
    assert "miles" not in law.express(Frame.read(df, Schema.infer(df))).schema.names
    pd.testing.assert_frame_equal(round_trip(law, df), df)
    assert Lookup.from_json(json.loads(json.dumps(law.to_json()))) == law


def test_rows_that_agree_in_the_keys_agree_in_the_target_also_where_no_row_had_them():
    df = routes()
    schema = Schema.infer(df)
    law = Lookup("miles", ("origin", "dest")).learn(Frame.read(df, schema), 5)
    rng = np.random.default_rng(1)
    drawn = pd.DataFrame(
        {"origin": rng.choice(["A", "B", "C", "Z"], 500), "dest": rng.choice(["D1", "D2", "new"], 500)}
    )
    restored = law.restore(Frame.read(drawn, law.reshape(schema)), rng, schema).table()
    assert (restored.groupby(["origin", "dest"])["miles"].nunique() == 1).all()
    assert restored["miles"].dtype == df["miles"].dtype


def test_with_its_companion_only_known_combinations_are_written():
    df = routes()
    schema = Schema.infer(df)
    laws = {candidate.law.form: candidate.law for candidate in find(search(df))}
    assert laws["combination"].text == "origin as known for dest"
    rng = np.random.default_rng(1)
    drawn = pd.DataFrame({"origin": rng.choice(["A", "B", "C"], 900), "dest": rng.choice(df["dest"], 900)})
    frame = laws["combination"].restore(
        Frame.read(drawn, laws["lookup"].reshape(schema)), rng, laws["lookup"].reshape(schema)
    )
    written = laws["lookup"].restore(frame, rng, schema).table()
    known = set(map(tuple, df[["origin", "dest", "miles"]].to_numpy().tolist()))
    assert set(map(tuple, written[["origin", "dest", "miles"]].to_numpy().tolist())) <= known
    assert Combination.from_json(json.loads(json.dumps(laws["combination"].to_json()))) == laws["combination"]


def test_no_key_of_fewer_rows_than_the_floor_is_stored():
    df = pd.DataFrame({"city": ["Rome"] * 50 + ["Oslo"] * 49 + ["Bern"], "land": ["I"] * 50 + ["N"] * 49 + ["CH"]})
    law = Lookup("land", ("city",)).learn(Frame.read(df, Schema.infer(df)), 5)
    assert "Bern" not in json.dumps(law.to_json())
    assert "CH" not in json.dumps(law.to_json())


def test_gaps_are_values_of_their_own():
    df = pd.DataFrame({"zone": ["x", None, "y", None] * 40, "borough": ["M", None, "Q", None] * 40})
    law = Lookup("borough", ("zone",)).learn(Frame.read(df, Schema.infer(df)), 5)
    pd.testing.assert_frame_equal(round_trip(law, df), df)


def test_the_sentence_is_read_back():
    df = routes()
    schema = Schema.infer(df)
    assert parse("miles from origin, dest", schema) == Lookup("miles", ("origin", "dest"))
    assert parse("miles >= origin", schema) is None
    with pytest.raises(SchemaError, match="not a column"):
        parse("miles from airline", schema)


def places(r, n=3000):
    """Codes of places and their names, of which two are spelled in another way."""
    code = r.integers(0, 90, n)
    df = pd.DataFrame({**noise(r, n), "code": [f"p{c}" for c in code], "name": [f"Town {c // 3}" for c in code]})
    df.loc[[100, 2000], "name"] = ["Town 7", "Town 9"]
    return df


def test_a_function_with_a_few_slips_is_found_and_a_rare_answer_is_none():
    r = np.random.default_rng(0)
    assert [t for t in texts(find, places(r)) if t.startswith("name")] == ["name from code, nearly always"]
    df = routes(4000)
    df.loc[5, "miles"] += 1
    assert "miles from origin, dest, nearly always" in texts(find, df)
    rare = pd.DataFrame({"shop": r.integers(0, 40, 4000).astype(str), "answer": "none"})
    rare.loc[r.choice(4000, 15, replace=False), "answer"] = [f"word {k}" for k in range(15)]
    assert texts(find, rare) == []


def test_what_nearly_follows_from_keys_is_written_by_them():
    df = places(np.random.default_rng(1))
    laws = find_laws(df, Schema.infer(df), floor=5, rng=np.random.default_rng(0))
    assert "name from code, nearly always" in laws.texts
    assert "name" not in laws.expressed_schema.names
