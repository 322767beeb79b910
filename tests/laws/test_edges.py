"""Ends that laws must not cross: the 60th minute, the end of a year, as many exceptions as the table has."""

import numpy as np
import pandas as pd

from tabtreeformer.data.schema import Schema
from tabtreeformer.laws import Frame, find_laws, given_laws, parse
from tabtreeformer.laws.period import Period

RNG = np.random.default_rng


def restored(laws, df):
    return laws.restore(laws.express(laws.schema.validate(df)), RNG(0))


def test_rounding_never_makes_60_minutes_or_a_clock_time_that_is_none():
    r = RNG(0)
    minute, carrier = r.integers(0, 60, 2000), r.choice(["WN", "UA"], 2000)
    minute = np.where(carrier == "WN", minute // 5 * 5, minute)
    df = pd.DataFrame({"carrier": carrier, "minute": minute, "clock": r.integers(0, 24, 2000) * 100 + minute})
    schema = Schema.infer(df)
    texts = [f"{name} in steps of 5 where carrier = 'WN'" for name in ("minute", "clock")]
    laws = given_laws(texts, schema.validate(df), schema, floor=5)
    drawn = df.assign(carrier="WN", minute=58, clock=1158)
    back = restored(laws, drawn)
    assert set(back["minute"]) == {55}
    assert set(back["clock"]) == {1155}


def test_times_stay_in_the_year_that_a_column_names():
    r = RNG(0)
    local = pd.DatetimeIndex(pd.Timestamp("2013-01-01") + pd.to_timedelta(r.integers(0, 365 * 24, 2000), unit="h"))
    stamp = local.tz_localize("America/New_York", ambiguous=False, nonexistent="shift_forward").tz_convert("UTC")
    df = pd.DataFrame({"stamp": stamp.tz_localize(None), "year": 2013, "hour": local.hour})
    schema = Schema.infer(df)
    laws = find_laws(schema.validate(df), schema, floor=5, rng=RNG(0))
    assert "year of stamp in America/New_York = 2013" in laws.texts
    early = df.assign(stamp=pd.Timestamp("2012-12-29 17:00"))
    back = restored(laws, early)
    assert set(back["stamp"]) == {pd.Timestamp("2013-01-04 17:00")}
    law = parse("month number of stamp = 201302", schema)
    assert isinstance(law, Period)
    moved = law.restore(Frame.read(df, schema), RNG(0), schema).table()
    assert set(moved["stamp"].dt.month) == {2}


def test_implications_keep_their_exceptions_at_their_rate():
    r = RNG(0)
    style = r.choice(["one", "two"], 4000, p=[0.7, 0.3])
    second = np.where((style == "one") | (r.random(4000) < 0.1), 0, r.integers(30, 90, 4000))
    second[np.flatnonzero(style == "one")[:20]] = 50
    df = pd.DataFrame({"style": style, "second": second})
    schema = Schema.infer(df)
    laws = find_laws(schema.validate(df), schema, floor=5, rng=RNG(0))
    assert "second = 0 where style = 'one', nearly always" in laws.texts
    back = restored(laws, df.assign(second=55))
    broken = (back["second"][back["style"] == "one"] != 0).sum()
    assert 5 <= broken <= 40


def test_a_missing_part_of_the_past_is_not_before_anything():
    df = pd.DataFrame({"built": np.arange(1900, 2000) // 2 * 2, "renovated": [0, 2005, 0, 2010] * 25})
    schema = Schema.infer(df)
    laws = given_laws(["renovated >= built, or 0"], schema.validate(df), schema, floor=1)
    back = restored(laws, df.assign(renovated=[0, 1850] * 50))
    assert (back["renovated"][::2] == 0).all()
    assert (back["renovated"][1::2] >= back["built"][1::2]).all()


def test_a_difference_whose_rest_is_learned_makes_no_negative_counts():
    r = RNG(0)
    lines = r.integers(1, 30, 1000)
    loans = r.binomial(lines, 0.3)
    df = pd.DataFrame({"lines": lines, "loans": loans, "cards": np.maximum(lines - loans - r.integers(0, 2, 1000), 0)})
    schema = Schema.infer(df)
    laws = given_laws(["cards ~ lines - loans"], schema.validate(df), schema, floor=5)
    drawn = laws.express(schema.validate(df)).assign(lines=3, loans=9)
    back = laws.restore(drawn, RNG(0))
    assert back["cards"].min() == 0
    small = schema.validate(df)
    pd.testing.assert_frame_equal(laws.restore(laws.express(small), RNG(0)), small)
