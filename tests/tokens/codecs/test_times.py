import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.data.schema import Column
from tabtreeformer.tokens.codecs.ticks import TickCodec, widest_step
from tabtreeformer.tokens.codecs.times import TimeCodec

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
    codec, _ = learn(pd.bdate_range("2020-01-01", "2023-12-31"))
    times = drawn(codec)
    assert codec.calendar == "weeks"
    assert times.dt.day_of_week.isin(range(5)).all()
    assert (times == times.dt.normalize()).all()
    assert times.dt.day_of_week.nunique() == 5
    assert times.between("2020-01-01", "2023-12-31").all()


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
