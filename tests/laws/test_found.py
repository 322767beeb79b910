"""Laws that people know are found, said, and kept: expressed and restored to the bit."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.data.schema import Schema
from tabtreeformer.errors import SchemaError
from tabtreeformer.laws import Frame, Laws, find_laws, given_laws, parse
from tabtreeformer.laws.laws import replaces


def written(minutes, midnight=0):
    """Minutes since midnight as 1435."""
    whole = np.asarray(minutes) % 1440
    return np.where((whole == 0) & (midnight > 0), midnight, whole // 60 * 100 + whole % 60)


def flights(n=3000, seed=0):
    """Clock times as numbers, delays around midnight, cancelled flights, and a timestamp in UTC."""
    r = np.random.default_rng(seed)
    hour = r.integers(5, 24, n)
    minute = np.where(r.random(n) < 0.7, r.integers(0, 12, n) * 5, r.integers(0, 60, n))
    local = pd.DatetimeIndex(pd.Timestamp("2013-01-01") + pd.to_timedelta(r.integers(0, 8760, n) // 24, unit="D"))
    local = local + pd.to_timedelta(hour, unit="h")
    stamp = local.tz_localize("America/New_York").tz_convert("UTC")
    delay = np.where(r.random(n) < 0.6, r.integers(-15, 10, n), np.minimum(r.exponential(60, n), 1200)).astype(int)
    planned, miles = hour * 60 + minute, r.choice([200, 500, 1000, 2500], n)
    left = planned + delay
    due = planned + miles // 7 + r.integers(40, 60, n)
    late = r.integers(-40, 200, n)
    df = pd.DataFrame(
        {
            "month": local.month,
            "day": local.day,
            "dep_time": written(left, 2400).astype(float),
            "sched_dep_time": hour * 100 + minute,
            "dep_delay": delay.astype(float),
            "arr_time": written(due + late, 2400).astype(float),
            "sched_arr_time": written(due),
            "arr_delay": late.astype(float),
            "distance": miles,
            "hour": hour,
            "minute": minute,
            "time_hour": stamp.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    )
    df.loc[r.random(n) < 0.03, ["dep_time", "dep_delay", "arr_time", "arr_delay"]] = np.nan
    return df


def invoices(n=1500, seed=0):
    """Net, tax and total; a percentage; a discount."""
    r = np.random.default_rng(seed)
    df = pd.DataFrame({"quantity": r.integers(1, 20, n), "unit price": r.lognormal(2, 1, n).round(2)})
    df["net"] = (df["unit price"] * df["quantity"]).round(2)
    df["rate"] = r.choice([7, 19], n)
    df["tax"] = (df["net"] * df["rate"] / 100).round(2)
    df["shipping"] = np.where(r.random(n) < 0.6, 0.0, r.choice([4.9, 9.9], n))
    df["total"] = (df["net"] + df["tax"] + df["shipping"]).round(2)
    return df


def houses(n=1200, seed=0):
    """Areas that add up, of which many are 0; a garage built with its house, or later, or missing."""
    r = np.random.default_rng(seed)
    first, low = r.integers(40, 200, n) * 10, np.where(r.random(n) < 0.03, r.integers(5, 40, n) * 10, 0)
    second = np.where(r.random(n) < 0.55, 0, r.integers(30, 120, n) * 10)
    built = r.integers(1900, 2011, n)
    later = np.where(r.random(n) < 0.8, built, np.minimum(built + r.integers(1, 60, n), 2010)).astype(float)
    later[r.random(n) < 0.06] = np.nan
    return pd.DataFrame(
        {"first": first, "second": second, "low": low, "living": first + second + low, "built": built, "garage": later}
    )


def stays(n=1500, seed=0):
    """Arrivals and departures, with parts of dates and what lies between."""
    r = np.random.default_rng(seed)
    start = pd.DatetimeIndex(pd.Timestamp("2023-05-01") + pd.to_timedelta(r.integers(0, 90 * 86_400, n), unit="s"))
    end = start + pd.to_timedelta(r.integers(600, 9000, n), unit="s")
    return pd.DataFrame(
        {
            "start": start,
            "end": end,
            "minutes": ((end - start).total_seconds() / 60).astype(int),
            "day": start.normalize(),
            "month": start.year * 100 + start.month,
            "weekday": start.strftime("%A"),
            "epoch": start.as_unit("s").asi8,
        }
    )


TABLES = [flights, invoices, houses, stays]


def found(df, floor=1):
    schema = Schema.infer(df)
    return find_laws(schema.validate(df), schema, floor=floor, rng=np.random.default_rng(0))


def back_and_forth(laws, df):
    laws = Laws.from_json(json.loads(json.dumps(laws.to_json())), laws.schema)
    return laws.restore(laws.express(df), np.random.default_rng(1))


def test_clock_times_delays_and_parts_of_a_time_in_another_zone():
    assert set(found(flights()).texts) >= {
        "dep_time = clock of sched_dep_time + dep_delay minutes",
        "arr_time = clock of sched_arr_time + arr_delay minutes",
        "sched_dep_time = 100 * hour + minute",
        "hour = hour of time_hour in America/New_York",
        "day = day of time_hour in America/New_York",
        "month = month of time_hour in America/New_York",
        "sched_arr_time ~ clock of sched_dep_time",
    }


def test_totals_products_and_percentages():
    assert set(found(invoices()).texts) >= {
        "net = quantity * `unit price`",
        "tax = net * rate / 100",
        "total = net + tax + shipping",
    }


def test_the_total_is_computed_and_never_a_part_that_is_often_zero():
    laws = found(houses())
    assert "living = first + second + low" in laws.texts
    assert {"garage often equals built", "garage >= built"} <= set(laws.texts)
    assert set(laws.expressed_schema.names) >= {"first", "second", "low", "garage", "garage is built"}
    assert "living" not in laws.expressed_schema.names


def test_times_and_what_lies_between():
    assert set(found(stays()).texts) >= {
        "end ~ start",
        "minutes = minutes from start to end rounded down",
        "day = date of start",
        "month = month number of start",
        "weekday = name of weekday (Monday is 0) of start",
        "epoch = seconds since 1970 of start",
    }


@pytest.mark.parametrize("table", TABLES)
def test_a_table_comes_back_to_the_bit(table):
    df = table()
    laws = found(df)
    assert len(laws.laws) >= 2
    pd.testing.assert_frame_equal(back_and_forth(laws, df), df)


@pytest.mark.parametrize("table", TABLES)
def test_a_row_that_breaks_a_near_law_comes_back_too(table):
    df, r = table(), np.random.default_rng(5)
    for name in df.columns:
        rows = r.random(len(df)) < 0.004
        df.loc[rows, name] = df[name].to_numpy()[r.permutation(len(df))][rows]
    laws = found(df)
    computed = Laws(laws.schema, tuple(law for law in laws.laws if replaces(law, laws.schema)))
    pd.testing.assert_frame_equal(back_and_forth(computed, df), df)


@pytest.mark.parametrize("table", TABLES)
def test_sentences_are_read_back_and_give_the_same_laws(table):
    df = table()
    laws = found(df)
    for law in laws.laws:
        assert parse(law.text, laws.schema).text == law.text
    given = given_laws(laws.texts, df, laws.schema, floor=1)
    assert set(given.texts) == set(laws.texts)
    pd.testing.assert_frame_equal(back_and_forth(given, df), df)


@pytest.mark.parametrize("table", TABLES)
def test_shuffled_columns_have_no_laws_but_notations(table):
    df, r = table(), np.random.default_rng(3)
    shuffled = pd.DataFrame({name: df[name].to_numpy()[r.permutation(len(df))] for name in df.columns})
    texts = found(shuffled, floor=5).texts
    assert all(text.endswith(("is a clock time", "is a month number")) for text in texts), texts


def test_silent_rows_keep_their_total():
    df = invoices()[["net", "shipping", "total"]].rename(columns={"shipping": "tax"})
    df["tax"] = np.random.default_rng(1).lognormal(1, 1, len(df)).round(2)
    df["total"] = (df["net"] + df["tax"]).round(2)
    df.loc[::7, "tax"] = np.nan
    df.loc[3::11, "total"] = np.nan
    laws = found(df)
    assert "total = net + tax" in laws.texts
    pd.testing.assert_frame_equal(back_and_forth(laws, df), df)
    expressed = laws.express(df)
    rest = next(name for name in expressed if name not in df)
    # Whatever a writer puts there, the law holds where all parts are there.
    expressed[rest] = np.random.default_rng(0).normal(size=len(df)).round(2)
    new = laws.restore(expressed, np.random.default_rng(0)).dropna()
    assert np.allclose(new["total"], new["net"] + new["tax"], atol=0.001)


def codes(n=600, seed=0):
    """Codes and names, of which parts are columns of their own."""
    r = np.random.default_rng(seed)
    first, last = r.choice(["Ada", "Bo", "Cy", "Dee"], n), r.choice(["Ng", "Ortiz", "Park", "Quinn"], n)
    cabin = [f"{deck}{number}" for deck, number in zip(r.choice(list("ABCDE"), n), r.integers(10, 99, n), strict=True)]
    return pd.DataFrame(
        {
            "first name": first,
            "last": last,
            "full": [f"{a} {b}" for a, b in zip(first, last, strict=True)],
            "login": [a.lower() for a in last],
            "cabin": cabin,
            "deck": [c[0] for c in cabin],
            "again": last,
        }
    )


def test_copies_beginnings_cases_and_joined_texts():
    df = codes()
    laws = found(df)
    assert {"deck = first 1 of cabin", "full = `first name` & ' ' & last"} <= set(laws.texts)
    assert len(laws.expressed_schema.names) == 3
    pd.testing.assert_frame_equal(back_and_forth(laws, df), df)
    given = given_laws(laws.texts, df, laws.schema, floor=1)
    pd.testing.assert_frame_equal(back_and_forth(given, df), df)


def test_taxes_of_few_rates_are_learned_as_shares():
    r = np.random.default_rng(0)
    net = r.lognormal(4, 1, 1500).round(2)
    rate = np.where(r.random(1500) < 0.1, r.uniform(0, 0.3, 1500), r.choice([0.07, 0.19], 1500))
    df = pd.DataFrame({"net": net, "tax": (net * rate).round(2), "other": r.lognormal(3, 1, 1500).round(2)})
    laws = found(df)
    assert set(laws.texts) == {"tax ~ share of net", "net >= tax"}
    pd.testing.assert_frame_equal(back_and_forth(laws, df), df)
    shares = laws.express(df)["tax / net"]
    assert shares.isin([0.07, 0.19]).mean() > 0.85
    shuffled = df.assign(tax=r.permutation(df["tax"].to_numpy().copy()))
    assert found(shuffled).texts == ()


def test_tips_are_shares_of_the_total_without_them_or_whole_dollars():
    r = np.random.default_rng(0)
    n = 3000
    fare, fees = r.integers(6, 120, n) / 2, r.choice([0.8, 3.3, 3.8], n)
    tip = np.where(r.random(n) < 0.6, ((fare + fees) * r.choice([0.2, 0.25], n)).round(2), r.integers(0, 6, n))
    df = pd.DataFrame({"fare": fare, "tip": tip, "total": (fare + fees + tip).round(2), "n": r.integers(1, 7, n)})
    laws = found(df)
    assert set(laws.texts) >= {"total ~ fare + tip", "tip ~ share of total - tip"}
    pd.testing.assert_frame_equal(back_and_forth(laws, df), df)
    given = given_laws(laws.texts, df, laws.schema, floor=1)
    pd.testing.assert_frame_equal(back_and_forth(given, df), df)
    # Whatever fares a writer draws, a tip of a fifth stays one.
    expressed = laws.express(df)
    shares = expressed["tip / (total - tip)"]
    expressed["fare"] = expressed["fare"].sample(frac=1, random_state=0).to_numpy()
    new = laws.restore(expressed, np.random.default_rng(0))[(shares == -0.2).to_numpy()]
    assert (np.abs(new["tip"] - 0.2 * (new["total"] - new["tip"])) < 0.0051).all()
    with pytest.raises(SchemaError, match="needs a sum for 'total'"):
        given_laws(["tip ~ share of total - tip"], df, laws.schema, floor=1)


def test_the_change_of_a_price_is_found_beside_columns_that_are_nearly_the_same():
    r = np.random.default_rng(5)
    opened = (100 + r.normal(0, 1, 900).cumsum()).round(2)
    closed = (opened + r.normal(0, 1, 900)).round(2)
    high = (np.maximum(opened, closed) + np.abs(r.normal(0, 0.5, 900))).round(2)
    df = pd.DataFrame({"open": opened, "high": high, "close": closed, "change": (closed - opened).round(2)})
    assert "close = open + change" in found(df).texts


def test_a_product_that_is_zero_in_the_first_half_of_a_sorted_table_is_found():
    r = np.random.default_rng(0)
    later = np.repeat([0, 1], 500)
    df = pd.DataFrame({"later": later, "school": r.integers(6, 19, 1000), "wage": r.gamma(3, 4, 1000).round(2)})
    df["school_later"] = df["school"] * df["later"]
    assert "school_later = later * school" in found(df).texts


def test_the_column_that_people_rounded_is_drawn_and_the_others_are_computed():
    r = np.random.default_rng(0)
    gross = np.where(r.random(1000) < 0.7, r.integers(1, 90, 1000) * 10.0, r.gamma(3, 100, 1000).round(2))
    share = r.uniform(0.05, 0.3, 1000)
    df = pd.DataFrame({"gross": gross, "fee": (gross * share).round(2)})
    df["net"] = (df["gross"] - df["fee"]).round(2)
    laws = found(df)
    assert {"net = gross - fee", "fee = gross - net"} & set(laws.texts)
    assert "gross" in laws.expressed_schema.names


def test_a_logarithm_that_is_zero_where_there_is_none_is_found_though_most_rows_have_none():
    r = np.random.default_rng(0)
    pay = np.where(r.random(1000) < 0.75, 0.0, r.gamma(2, 4, 1000).round(2))
    logs = np.where(pay > 0, np.log(np.where(pay > 0, pay, 1)), 0)
    assert "log_pay = log(pay)" in found(pd.DataFrame({"pay": pay, "log_pay": logs})).texts


def test_a_change_within_each_student_is_no_running_total_of_the_table():
    r = np.random.default_rng(0)
    first = r.integers(0, 120, 400)
    hours = np.column_stack([first, first + r.integers(8, 30, 400)]).ravel()
    change = np.where(np.arange(800) % 2, np.diff(hours, prepend=0), np.nan)
    assert not [t for t in found(pd.DataFrame({"hours": hours, "change": change})).texts if "running" in t]


def test_years_that_follow_each_other_are_no_running_total_of_a_share_that_rounds_to_one():
    r = np.random.default_rng(0)
    team = np.repeat([f"team {k}" for k in range(20)], 60)
    year = np.concatenate([np.arange(60) + start for start in r.integers(1900, 1950, 20)])
    df = pd.DataFrame({"team": team, "year": year, "share": r.uniform(0.9, 0.99, 1200).round(3)})
    assert not [t for t in found(df, floor=5).texts if "running" in t]


def test_a_total_is_no_less_than_its_least_value_and_keeps_the_grid_of_its_rest():
    r = np.random.default_rng(0)
    fare, tip = r.integers(5, 100, 2000) / 2, r.integers(0, 900, 2000) / 100
    rest = r.choice([0.3, 0.8, 1.3, 3.3], 2000)
    df = pd.DataFrame({"fare": fare, "tip": tip, "total": (fare + tip + rest).round(2)})
    law = parse("total ~ fare + tip", Schema.infer(df)).learn(Frame.read(df, Schema.infer(df)), 5)
    law = replace(law, ends=(9.1234567, law.ends[1]))
    frame = law.express(Frame.read(df, Schema.infer(df)))
    back = law.restore(frame, r, Schema.infer(df)).floats("total")
    assert back.min() >= 9.1234567
    left = (back - fare - tip) / 0.1
    assert np.abs(left - np.rint(left)).max() < 1e-6


def test_a_level_to_which_values_return_is_no_running_total():
    r = np.random.default_rng(0)
    level = np.cumsum(r.normal(0, 1, 2000)) * 0.0
    for i in range(1, 2000):
        level[i] = 0.5 * level[i - 1] + r.normal(0, 10)
    level = level.round(1)
    df = pd.DataFrame({"level": level, "change": np.diff(level, prepend=0.0).round(1)})
    assert not [t for t in found(df).texts if "running" in t]


def test_of_an_average_the_average_is_computed_and_not_the_whole_number_that_rounds_it_away():
    r = np.random.default_rng(0)
    games, minutes = r.integers(20, 82, 600), r.integers(300, 3000, 600)
    average = minutes / games * np.where(r.random(600) < 0.04, 1 + 2e-6, 1)  # some were computed elsewhere
    df = pd.DataFrame({"games": games, "minutes": minutes, "average": average.astype(np.float32)})
    assert [t for t in found(df, floor=5).texts if "average" in t] == ["average ~ minutes / games in 32 bits"]
