import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.data.schema import Column
from tabtreeformer.tokens.codecs.ticks import TickCodec, widest_step
from tabtreeformer.tokens.codecs.times import YEARS, TimeCodec, join_days, split_days

CONFIG = TokenConfig(scheme="atoms", quantiles=40)
TIMES, DURATIONS = Column("x", "datetime", "datetime64[s]"), Column("x", "timedelta", "timedelta64[s]")


def rng():
    return np.random.default_rng(0)


def learn(times, config=CONFIG):
    values = pd.Series(pd.DatetimeIndex(times).astype("datetime64[s]").astype("int64"))
    return TimeCodec.learn(values, TIMES, config), values


def drawn(codec, n=3000):
    """Times of any ids that the slots allow."""
    ids = np.column_stack([rng().integers(0, slot.size, n) for slot in codec.slots(0)])
    return pd.Series(codec.decode(ids, rng()).astype("datetime64[s]"))


def test_few_days_come_back_one_by_one():
    days = pd.to_datetime(["2024-12-24", "2024-12-31", "2025-01-06"] * 20)
    codec, _ = learn(days)
    assert set(drawn(codec)) == set(days)


def test_business_days_stay_business_days_and_midnight_stays_midnight():
    codec, _ = learn(pd.bdate_range("2021-02-01", "2023-12-31"))
    times = drawn(codec)
    assert codec.calendar == "weeks"
    assert times.dt.day_of_week.isin(range(5)).all()
    assert (times == times.dt.normalize()).all()
    assert times.dt.day_of_week.nunique() == 5
    assert times.between("2021-02-01", "2023-12-31").all()


def test_seasons_of_many_years_are_kept():
    """Weeks of decades would share ids, a year and its weeks do not."""
    days = pd.date_range("1970-01-01", "2009-12-31")
    days = days[days.month.isin([1, 2, 7]) & days.day_of_week.isin([0, 5])]
    codec, values = learn(days)
    assert codec.calendar == "years"
    back = pd.Series(codec.decode(codec.encode(values), rng()).astype("datetime64[s]"))
    assert (back.dt.month.to_numpy() == days.month).mean() > 0.9
    assert (back.dt.year.to_numpy() == days.year).mean() > 0.95
    assert (back.dt.day_of_week.to_numpy() == days.day_of_week).all()
    assert (np.diff(codec.encode(values)[:, 0]) >= 0).all()


@pytest.mark.parametrize("day", ["1969-12-29", "1970-01-01", "2008-12-29", "2015-12-31", "2016-01-03", "2020-12-31"])
def test_a_year_a_week_and_a_weekday_are_a_day(day):
    """Weeks belong to the year of their Thursday, as ISO 8601 counts them."""
    number = np.array([pd.Timestamp(day).to_datetime64().astype("datetime64[D]").astype(np.int64)])
    year, week, weekday = split_days(number, YEARS)
    expected = pd.Timestamp(day).isocalendar()
    assert (year[0] + 1970, week[0] + 1, weekday[0] + 1) == expected
    assert (join_days([year, week, weekday], YEARS) == number).all()


@pytest.mark.parametrize("floor", [1, 5])
def test_no_time_is_drawn_in_the_weeks_before_the_first_or_after_the_last(floor):
    config = TokenConfig(scheme="atoms", quantiles=40, rare_floor=floor)
    codec, _ = learn(pd.date_range("2020-09-17", "2023-06-06"), config)
    codec = TimeCodec.from_json(json.loads(json.dumps(codec.to_json())))
    assert codec.calendar == YEARS
    times = drawn(codec)
    week = pd.Timedelta(days=7 if floor > 1 else 0)  # with a floor the first and the last week are filled
    assert pd.Timestamp("2020-09-17") - week <= times.min() <= times.max() <= pd.Timestamp("2023-06-06") + week


@pytest.mark.parametrize("weeks", [[2, 1], [1], ["1", 2], [0, 10**30], None])
def test_weeks_of_a_damaged_file_are_refused(weeks):
    codec, _ = learn(pd.date_range("2020-09-17", "2023-06-06"), TokenConfig(scheme="atoms", quantiles=40, rare_floor=5))
    with pytest.raises(ValueError, match="week"):
        TimeCodec.from_json({**codec.to_json(), "weeks": weeks})


def test_a_span_of_one_year_reaches_its_weeks_only():
    days = pd.date_range("1970-01-01", "2009-12-31", freq="3D")
    codec, _ = learn(days)
    low, high = (pd.Timestamp(day).timestamp() for day in ("1984-03-05", "1984-03-25"))
    years, weeks, weekdays = codec.reach([(low, high)])
    assert weekdays is None
    ids = np.array(np.meshgrid(np.flatnonzero(years), np.flatnonzero(weeks), np.arange(7))).reshape(3, -1).T
    found = pd.Series(codec.decode(ids, rng()).astype("datetime64[s]"))
    assert found.between("1984-02-13", "1984-04-15").mean() > 0.9


def test_times_outside_a_span_of_years_are_moved_by_whole_weeks():
    codec, _ = learn(pd.date_range("1970-01-01", "2009-12-31", freq="3D"))
    low, high = (int(pd.Timestamp(day).timestamp()) for day in ("1984-06-01", "1986-03-25"))
    early = pd.date_range("1984-01-01", "1984-05-31")
    counts = early.astype("datetime64[s]").astype("int64").to_numpy()
    moved = codec.draw_within([(low, high)], codec.encode(pd.Series(counts)), counts, rng())
    times = pd.Series(moved.astype("datetime64[s]"))
    assert times.between("1984-06-01", "1984-12-31").all()
    assert (times.dt.day_of_week.to_numpy() == early.day_of_week).all()
    assert times.nunique() > 50


@pytest.mark.parametrize(("freq", "calendar"), [("MS", "month starts"), ("ME", "month ends"), ("QS", "month starts")])
def test_firsts_and_lasts_of_months_stay_so(freq, calendar):
    days = pd.date_range("1990-01-01", "2019-12-31", freq=freq)
    codec, _ = learn(days)
    assert codec.calendar == calendar
    times = drawn(codec)
    assert (times.dt.day == 1).all() if calendar == "month starts" else times.dt.is_month_end.all()


def test_the_clock_keeps_its_step_and_its_hours():
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng().integers(0, 365, 500), unit="D")
    codec, _ = learn(days + pd.to_timedelta(rng().integers(9 * 4, 17 * 4, 500) * 15, unit="min"))
    times = drawn(codec)
    assert times.dt.minute.isin([0, 15, 30, 45]).all()
    assert times.dt.hour.between(9, 16).all()


def test_a_later_time_never_has_an_earlier_week():
    times = pd.to_datetime("2020-01-01") + pd.to_timedelta(np.sort(rng().integers(0, 10**8, 400)), unit="s")
    codec, values = learn(times)
    weeks = codec.encode(values)[:, 0]
    assert (np.diff(weeks) >= 0).all()


def test_the_rhythm_of_the_week_is_kept_in_the_ids():
    days = pd.date_range("2020-01-01", "2023-12-31")
    days = days[rng().random(len(days)) < np.where(days.day_of_week < 5, 0.9, 0.1)]
    codec, values = learn(days)
    back = pd.Series(codec.decode(codec.encode(values), rng()).astype("datetime64[s]"))
    assert (back.dt.day_of_week.to_numpy() == days.day_of_week.to_numpy()).mean() > 0.98


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-(10**10), 10**11), min_size=2, max_size=80), st.sampled_from([1, 60, 3600, 86_400, 604_800])
)
def test_every_id_decodes_into_the_range_and_onto_the_clock(counts, step):
    values = pd.Series(counts) // step * step
    codec = TimeCodec.learn(values, TIMES, TokenConfig(scheme="atoms", quantiles=12))
    codec = TimeCodec.from_json(json.loads(json.dumps(codec.to_json())))
    sizes = [slot.size for slot in codec.slots(0)]
    ids = (
        np.array([rng().integers(0, size, 50) for size in sizes]).reshape(len(sizes), -1).T
        if sizes
        else np.empty((50, 0))
    )
    decoded = codec.decode(ids, rng())
    assert values.min() <= decoded.min() <= decoded.max() <= values.max()
    inner = (decoded > values.min()) & (decoded < values.max())
    assert not (decoded[inner] % 86_400 % codec.step).any()
    settled = codec.settle(decoded + 1, up=True)
    assert ((settled >= decoded + 1) | (settled == values.max())).all()
    assert (codec.settle(decoded - 1, up=False) <= np.maximum(decoded - 1, values.min())).all()


@pytest.mark.parametrize(
    ("counts", "unit", "step"),
    [
        ([0, 3600], "s", 3600),
        ([90, 30], "s", 30),
        ([1500], "ms", 100),
        ([0, 86_400_000], "ms", 86_400_000),
        ([7], "ns", 1),
        ([10**9], "ns", 10**9),
    ],
)
def test_the_widest_step_of_the_clock_is_found(counts, unit, step):
    assert widest_step(np.array(counts), unit) == step


@pytest.mark.parametrize("scheme", ["atoms", "quantile"])
def test_durations_are_multiples_of_their_step(scheme):
    values = pd.Series(rng().integers(1, 500, 300) * 60)
    codec = TickCodec.learn(values, DURATIONS, TokenConfig(scheme=scheme, quantiles=20))
    codec = TickCodec.from_json(json.loads(json.dumps(codec.to_json())))
    decoded = codec.decode(codec.encode(values), rng())
    assert codec.step == 60
    assert not (decoded % 60).any()
    assert values.min() <= decoded.min() <= decoded.max() <= values.max()
