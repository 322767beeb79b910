"""Flat values: a number that is one value where two labels meet, and hardly anywhere else."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.data.schema import Schema
from tabtreeformer.errors import SchemaError
from tabtreeformer.laws import Frame, Laws, find_laws, given_laws, parse

from .planted import noise, shuffled

N = 3000
ZONES = ["airport", "north", "south", "east", "west", "centre", "harbour", "hills"]
PAIRS = "fare = 49 where start = 'airport' and finish = 'centre' or finish = 'airport' and start = 'centre'"
ONLY = "fare = 49 only where start = 'airport' or finish = 'airport', nearly always"


def rides(seed, n=N):
    """Rides between zones, with a flat fare between the airport and the centre."""
    r = np.random.default_rng(seed)
    start, finish = (r.choice(ZONES, n, p=[0.15, *[0.1] * 4, 0.25, 0.1, 0.1]) for _ in range(2))
    fare = (3 + 2 * np.rint(r.gamma(2, 12, n))) / 2
    fare = np.where(fare == 49, 49.5, fare)
    flat = ((start == "airport") & (finish == "centre")) | ((finish == "airport") & (start == "centre"))
    fare = np.where(flat | (r.random(n) < 0.002), 49.0, fare)
    return pd.DataFrame({"start": start, "finish": finish, "fare": fare, **noise(r, n)})


def found(df, seed=0):
    schema = Schema.infer(df)
    return find_laws(schema.validate(df), schema, floor=5, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(3))
def test_a_flat_fare_and_where_it_occurs_are_found_and_hold_in_fresh_rows(seed):
    laws, fresh = found(rides(seed), seed), rides(seed + 100, 20_000)
    pairs = next(law for law in laws.laws if " and " in law.text)
    assert {frozenset(cause.names) for _, cause in pairs.clauses} == {frozenset(["start", "finish"])}
    assert len(pairs.clauses) == 2
    assert ONLY in laws.texts
    applies, keeps = pairs.holds(Frame.read(fresh, laws.schema))
    assert applies.sum() > 500
    assert keeps.sum() == applies.sum()
    mixed = shuffled(rides(seed), np.random.default_rng(seed))
    assert not [law for law in found(mixed).laws if law.reads]


def test_rows_that_break_either_law_are_put_right():
    df = rides(0)
    schema = Schema.infer(df)
    laws = given_laws([PAIRS, ONLY], df, schema, floor=5)
    laws = Laws.from_json(laws.to_json(), schema)
    r = np.random.default_rng(1)
    broken = df.assign(fare=r.permutation(df["fare"].to_numpy()))
    rows = laws.restore(laws.express(broken), r)
    airport = (rows["start"] == "airport") | (rows["finish"] == "airport")
    between = airport & ((rows["start"] == "centre") | (rows["finish"] == "centre"))
    assert (rows.loc[between, "fare"] == 49).all()
    real_airport = (df["start"] == "airport") | (df["finish"] == "airport")
    real = real_airport[df["fare"] == 49].mean()
    assert abs(airport[rows["fare"] == 49].mean() - real) < 0.03
    moved = rows.loc[~airport & (broken["fare"] == 49) & (rows["fare"] != 49), "fare"]
    assert len(moved) > 100
    assert moved.between(40, 60).all()
    assert (moved * 2 == np.rint(moved * 2)).all()


@pytest.mark.parametrize("text", [PAIRS, ONLY])
def test_sentences_are_read_back(text):
    schema = Schema.infer(rides(0))
    assert parse(text, schema).text == text


def test_a_label_may_contain_the_words_of_a_sentence():
    df = rides(0).replace({"airport": "north or south and; so"})
    schema = Schema.infer(df)
    for text in (PAIRS, ONLY):
        own = text.replace("airport", "north or south and; so")
        assert parse(own, schema).text == own


@pytest.mark.parametrize("text", ["start = 'north' only where finish = 'north'", "fare = 49 only where fare = 50"])
def test_a_sentence_that_is_not_about_a_number_and_other_columns_is_refused(text):
    with pytest.raises(SchemaError, match="fare = 52 only where"):
        parse(text, Schema.infer(rides(0)))
