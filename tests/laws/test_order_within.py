"""Orders and ranges of their own: found beyond chance, kept whatever is drawn, exceptions at their rate."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtreeformer.data.schema import Schema
from tabtreeformer.errors import SchemaError
from tabtreeformer.laws import Frame, area, find_laws, order, within

from .planted import noise, round_trip, search, shuffled, texts


def prices(rng, n):
    low = np.round(rng.gamma(4, 20, n), 2)
    open_, close = (np.round(low + rng.gamma(2, 3, n), 2) for _ in range(2))
    high = np.round(np.maximum(open_, close) + rng.gamma(1, 2, n), 2)
    return pd.DataFrame({"open": open_, "high": high, "low": low, "close": close})


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_a_planted_chain_is_found_without_what_follows_from_it(seed):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({**prices(rng, 1500), **noise(rng, 1500)})
    found = [t for t in texts(order.find, df) if "noise" not in t]
    assert found == ["open >= low", "high >= open, close", "close >= low"]
    assert [t for t in texts(order.find, shuffled(df, rng)) if "noise" not in t] == []


def test_orders_hold_in_every_row_with_the_decimals_of_the_column():
    rng = np.random.default_rng(0)
    df = prices(rng, 1000)
    schema = Schema.infer(df)
    for candidate in order.find(search(df)):
        law = candidate.law
        pd.testing.assert_frame_equal(round_trip(law, df), df)
        restored = law.restore(Frame.read(shuffled(df, rng), schema), rng, schema)
        applies, keeps = law.holds(restored)
        assert applies.all()
        assert keeps.all()
        numbers = restored.floats(law.target)
        assert np.array_equal(np.round(numbers, 2), numbers)
        assert order.AtLeast.from_json(json.loads(json.dumps(law.to_json()))) == law
        assert order.parse(law.text, schema).learn(Frame.read(df, schema), 5) == law


def test_exceptions_come_back_at_their_rate():
    rng = np.random.default_rng(1)
    house = rng.integers(1900, 2005, 4000)
    garage = house + np.where(rng.random(4000) < 0.8, 0, rng.integers(0, 40, 4000))
    odd = rng.random(4000) < 0.01
    df = pd.DataFrame({"house": house, "garage": np.where(odd, house - 5, garage)})
    (law,) = (c.law for c in order.find(search(df)) if c.law.target == "garage")
    assert law.text == "garage >= house, nearly always"
    schema = Schema.infer(df)
    restored = law.restore(Frame.read(shuffled(df, rng), schema), rng, schema).table()
    assert np.mean(restored["garage"] < restored["house"]) == pytest.approx(np.mean(odd), abs=0.006)


def test_times_and_numbers_have_no_common_order():
    df = pd.DataFrame({"start": pd.date_range("2024-01-01", periods=60), "size": np.arange(60.0) / 7})
    with pytest.raises(SchemaError, match="no common order"):
        order.parse("start >= size", Schema.infer(df))
    assert order.find(search(df)) == []


def town(rng, n, label):
    zips = rng.choice(30, n)
    x0, y0 = rng.random(30) * 2 + 40, rng.random(30) * 2 - 100
    df = pd.DataFrame({"zip": zips + 90_000 if not label else [f"z{z}" for z in zips]})
    df["lat"] = np.round(x0[zips] + rng.normal(0, 0.02, n), 4)
    df["long"] = np.round(y0[zips] + rng.normal(0, 0.03, n), 3)
    df["price"] = rng.integers(100, 900, n) * 1000
    return df


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**31), label=st.booleans())
def test_positions_inside_a_category_are_found_and_not_in_shuffled_columns(seed, label):
    rng = np.random.default_rng(seed)
    df = town(rng, 3000, label)
    (text,) = texts(area.find, df)
    assert text in ("lat, long within zip", "long, lat within zip")
    assert texts(area.find_single, df) == []
    mixed = shuffled(df, rng)
    assert texts(area.find, mixed) == texts(within.find, mixed) == []


def test_whatever_is_drawn_lies_in_its_category_and_the_category_gives_way():
    rng = np.random.default_rng(5)
    df = town(rng, 3000, True)
    schema = Schema.infer(df)
    (candidate,) = area.find(search(df))
    law = candidate.law
    same = round_trip(law, df)
    assert (same["zip"] == df["zip"]).mean() > 0.95
    assert (same["lat"] == df["lat"]).mean() > 0.8  # the outermost rows of each category are moved inwards
    drawn = df.assign(zip=rng.permutation(df["zip"]))
    moved = law.restore(Frame.read(drawn, schema), rng, schema).table()
    assert (moved["zip"] == df["zip"]).mean() > 0.9
    for name, decimals in (("lat", 4), ("long", 3)):
        ends = df.groupby("zip")[name].agg(["min", "max"]).loc[moved["zip"]]
        assert (moved[name].to_numpy() >= ends["min"].to_numpy()).all()
        assert (moved[name].to_numpy() <= ends["max"].to_numpy()).all()
        assert np.array_equal(np.round(moved[name], decimals), moved[name])
    assert area.Area.from_json(json.loads(json.dumps(law.to_json()))) == law
    assert area.parse(law.text, schema).learn(Frame.read(df, schema), 5) == law


def goods(rng, n):
    kinds = rng.choice(40, n)
    middles = np.exp(rng.normal(4, 1.5, 40))
    price = np.round(middles[kinds] * rng.uniform(0.9, 1.1, n), 2)
    return pd.DataFrame({"product": [f"p{k}" for k in kinds], "price": price, "amount": rng.poisson(4, n)})


def test_a_number_with_a_range_per_category_becomes_its_place_in_it():
    rng = np.random.default_rng(6)
    df = goods(rng, 3000)
    schema = Schema.infer(df)
    (candidate,) = area.find_single(search(df))
    law = candidate.law
    assert law.text == "price within product"
    assert texts(area.find_single, shuffled(df, rng)) == []
    expressed = law.express(Frame.read(df, schema)).table()
    assert expressed["price within product"].between(0, 1).all()
    expressed["product"] = rng.permutation(expressed["product"])
    moved = law.restore(Frame.read(expressed, law.reshape(schema)), rng, schema).table()
    ends = df.groupby("product")["price"].agg(["min", "max"]).loc[moved["product"]]
    assert moved["price"].between(ends["min"].to_numpy(), ends["max"].to_numpy()).all()
    assert np.array_equal(np.round(moved["price"], 2), moved["price"])
    assert within.Within.from_json(json.loads(json.dumps(law.to_json()))) == law
    assert within.parse(law.text, schema).learn(Frame.read(df, schema), 5) == law


def test_a_quantity_is_no_category():
    rng = np.random.default_rng(7)
    size = rng.integers(1, 30, 3000)
    df = pd.DataFrame({"size": size, "weight": np.round(size * 10 + rng.normal(0, 2, 3000), 2)})
    assert texts(area.find_single, df) == []


def corners(rng, n):
    """Two categories around each other: one is the corner of a square, the other is what the corner leaves."""
    x, y = rng.uniform(0, 10, n).round(3), rng.uniform(0, 10, n).round(3)
    return pd.DataFrame({"x": x, "y": y, "zone": np.where((x > 4) & (y > 4), "corner", "edge")})


def test_an_area_may_have_any_shape():
    rng = np.random.default_rng(0)
    df, fresh = corners(rng, 4000), corners(rng, 4000)
    schema = Schema.infer(df)
    law = area.Area(("x", "y"), "zone").learn(Frame.read(schema.validate(df), schema), 5)
    wrong = fresh.assign(zone=rng.permutation(fresh["zone"].to_numpy()))
    back = law.restore(Frame.read(schema.validate(wrong), schema), rng, schema).table()
    right = np.where((back["x"] > 4) & (back["y"] > 4), "corner", "edge")
    assert (back["zone"] == right).mean() > 0.93  # one ellipse each: less than 0.85
    assert len(law.areas["edge"]) > 4


def test_a_category_that_is_filled_where_it_is_missing_does_not_widen_its_area():
    rng = np.random.default_rng(1)
    n = 2000
    place = rng.integers(0, 8, n)
    df = pd.DataFrame({"lat": (place // 4 * 10 + rng.uniform(0, 8, n)).round(4),
                       "long": (place % 4 * 10 + rng.uniform(0, 8, n)).round(4),
                       "state": np.array(list("abcdefgh"), dtype=object)[place],
                       "city": np.array([f"town {k}" for k in rng.integers(0, 9, n)], dtype=object)})  # fmt: skip
    gone = rng.random(n) < 0.03
    df.loc[gone, ["state", "city"]] = None
    df.loc[gone, ["lat", "long"]] = np.column_stack([rng.uniform(0, 18, gone.sum()), rng.uniform(0, 38, gone.sum())])
    schema = Schema.infer(df)
    laws = find_laws(schema.validate(df), schema, floor=5, rng=np.random.default_rng(0))
    assert any("missing exactly where" in text for text in laws.texts)
    (law,) = (own for own in laws.laws if isinstance(own, area.Area))
    low, high = law._extents
    assert (high - low < 9).all()


def test_a_time_between_two_others_stays_between_them():
    rng = np.random.default_rng(0)
    booked = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 700, 2000), unit="D")
    lead = rng.gamma(1, 40, 2000).astype(int)
    cancelled = booked + pd.to_timedelta((rng.random(2000) * (lead + 1)).astype(int), unit="D")
    arrival = booked + pd.to_timedelta(lead, unit="D")
    df = pd.DataFrame({"booked": booked, "lead": lead, "arrival": arrival, "cancelled": cancelled})
    schema = Schema.infer(df)
    df = schema.validate(df)
    laws = find_laws(df, schema, floor=5, rng=np.random.default_rng(0))
    drawn = laws.express(df).apply(lambda column: rng.permutation(column))
    rows = laws.restore(drawn.astype(laws.express(df).dtypes.to_dict()), rng)
    assert {"cancelled >= booked", "arrival >= cancelled"} <= set(laws.texts)
    assert (rows["cancelled"] >= rows["booked"]).all()
    assert (rows["arrival"] >= rows["cancelled"]).all()


def test_a_clock_time_that_an_order_moves_stays_one():
    rng = np.random.default_rng(0)
    start = rng.integers(300, 1200, 800)
    end = np.minimum(start + rng.integers(5, 240, 800), 1439)
    df = pd.DataFrame({"start": start // 60 * 100 + start % 60, "end": end // 60 * 100 + end % 60})
    schema = Schema.infer(df)
    law = order.parse("end >= start", schema).learn(Frame.read(df, schema), 5)
    law = order.AtLeast.from_json(json.loads(json.dumps(law.to_json())))
    broken = df.assign(end=rng.permutation(df["end"]))
    restored = law.restore(Frame.read(broken, schema), rng, schema).values("end")
    assert (restored >= broken["start"]).all()
    assert (restored % 100 < 60).all()


def test_a_clock_time_that_an_order_moves_stays_below_its_limit():
    rng = np.random.default_rng(0)
    minutes = np.sort(rng.integers(300, 1400, (800, 3)), axis=1) // 5 * 5
    df = pd.DataFrame(minutes // 60 * 100 + minutes % 60, columns=["start", "middle", "end"])
    schema = Schema.infer(df)
    law = order.parse("middle >= start", schema).learn(Frame.read(df, schema), 5)
    law = dataclasses.replace(law, limits=(("end", False),))
    broken = df.assign(middle=np.minimum(df["start"], 500))
    restored = law.restore(Frame.read(broken, schema), rng, schema).values("middle")
    assert (restored >= df["start"]).all()
    assert (restored <= df["end"]).all()
    assert (restored % 100 < 60).all()
    assert (restored % 5 == 0).all()
