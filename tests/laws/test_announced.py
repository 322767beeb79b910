"""What is announced as kept in every row holds in every row, however it was written."""

import contextlib
import io
import warnings

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import LawWarning, Schema, TabTreeFormer
from tabtreeformer.config.presets import configure
from tabtreeformer.laws import Frame, find_laws, parse
from tabtreeformer.laws.laws import EVERY_ROW, LEARNED, always
from tabtreeformer.tokens import TableCodec

from .planted import noise
from .replicas import flights, houses
from .test_every_form import FORMS, N


def shares_kept(laws, rows, schema):
    """Per sentence that is announced for every row: the share of rows that keep it, read again from the sentence."""
    frame = Frame.read(schema.validate(rows), schema)
    shares = {}
    for law in laws.laws:
        if always(law):
            applies, keeps = parse(law.text, schema).learn(frame, 1).holds(frame)
            shares[law.text] = keeps.sum() / max(applies.sum(), 1) if applies.any() else 1.0
    return shares


def broken(laws, rows, schema):
    return {text: share for text, share in shares_kept(laws, rows, schema).items() if share < 1}


def random_table(seed):
    """Three planted laws beside each other, with noise and gaps."""
    r = np.random.default_rng(seed)
    columns = noise(r, N)
    for place, name in enumerate(r.choice(sorted(FORMS), 3, replace=False)):
        made = pd.DataFrame(FORMS[name][0](r))
        columns |= {f"{column}_{place}": made[column] for column in made}
    df = pd.DataFrame(columns)
    for name in df.columns[r.random(df.shape[1]) < 0.25]:
        df[name] = df[name].astype(object).where(r.random(N) >= 0.1, None).infer_objects()
    return df


@pytest.mark.parametrize("seed", range(6))
def test_any_ids_of_a_random_table_decode_to_rows_that_keep_every_announced_law(seed):
    df = random_table(seed)
    schema = Schema.infer(df)
    tokens = configure("auto", {}, len(df), None, df.shape[1]).tokens
    laws = find_laws(schema.validate(df), schema, floor=tokens.rare_floor, rng=np.random.default_rng(seed))
    codec = TableCodec.learn(schema.validate(df), schema, tokens, laws)
    assert laws.n_always
    rng = np.random.default_rng(seed)
    ids = np.column_stack([rng.integers(0, slot.size, 1000) for slot in codec.slots])
    assert broken(codec.laws, codec.decode(ids, rng), schema) == {}


def with_rare_times(df):
    """Flights of which some leave at a time that fewer rows share than the floor."""
    rare = df.index[:40]
    minute = np.arange(40) + 7
    hour = np.repeat([1, 2, 3, 4], 10)
    times = pd.to_datetime(df["time_hour"], utc=True).dt.tz_convert("America/New_York")
    early = times.loc[rare].dt.normalize() + pd.to_timedelta(hour, unit="h")
    df.loc[rare, "hour"], df.loc[rare, "minute"], df.loc[rare, "sched_dep_time"] = hour, minute, hour * 100 + minute
    df.loc[rare, "time_hour"] = early.dt.tz_convert("UTC").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    for name in ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"):
        df.loc[rare, name] = np.nan
    return df


@pytest.fixture(scope="module")
def departures():
    return with_rare_times(flights(1500))


@pytest.fixture(scope="module")
def writer(departures):
    return TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(departures)


def kept(model, rows):
    assert broken(model.fitted_.codec.laws, rows, model.fitted_.schema) == {}


def test_hour_and_minute_follow_from_a_clock_time_in_every_row(writer):
    assert any("sched_dep_time" in text for text in writer.fitted_.codec.laws.texts)
    rows = writer.sample(2000, random_state=0)
    kept(writer, rows)
    assert (rows["sched_dep_time"] == rows["hour"] * 100 + rows["minute"]).all()


def test_streamed_rows_and_rows_under_conditions_keep_what_is_announced(writer, tmp_path):
    writer.sample_to(tmp_path / "rows.parquet", 5000, random_state=0)
    kept(writer, pd.read_parquet(tmp_path / "rows.parquet"))
    kept(writer, writer.sample(200, given={"origin": "JFK", "hour": 17}, random_state=0))


def test_filled_gaps_keep_what_is_announced_or_are_counted(writer, departures):
    truth = departures.dropna().head(40).reset_index(drop=True)
    r = np.random.default_rng(0)
    holes = truth.copy()
    for name in holes.columns:
        holes[name] = holes[name].astype(object).where(r.random(len(holes)) >= 0.2, None).infer_objects()
    impossible = truth.head(6).assign(minute=61, air_time=None)  # no clock has such a minute
    with pytest.warns(LawWarning, match="6 of 6 rows keep the given values but not every law of the table"):
        assert (writer.impute(impossible, random_state=0)["minute"] == 61).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LawWarning)
        filled = writer.impute(holes, random_state=0)
    laws = writer.fitted_.codec.laws
    assert laws.n_broken(writer.fitted_.schema.validate(filled)) <= 2
    assert (filled["sched_dep_time"] == filled["hour"] * 100 + filled["minute"]).mean() > 0.95


def test_a_timestamp_is_filled_from_its_parts(writer, departures):
    truth = departures.head(30).reset_index(drop=True)
    filled = writer.impute(truth.assign(time_hour=None), columns=["time_hour"], random_state=0)
    assert filled["time_hour"].tolist() == truth["time_hour"].tolist()


@pytest.fixture(scope="module")
def homes():
    """Trees that learned houses, and what the fit said."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        model = TabTreeFormer("trees", privacy="off", random_state=0).fit(houses(900))
    return model, said.getvalue()


def test_near_laws_are_not_announced_for_every_row(homes):
    model, said = homes
    assert f"{EVERY_ROW}: YearRemodAdd >= YearBuilt" in said
    assert "often equals" in said
    for line in said.splitlines():
        assert not (EVERY_ROW in line and ("nearly" in line or "often" in line or "~" in line))
    laws = model.fitted_.codec.laws
    assert f"keep {laws.n_always} laws without exception" in " ".join(said.split())
    assert all(text.startswith((EVERY_ROW, LEARNED)) for text in model.summary()["laws"])
    kept(model, model.sample(900, random_state=0))


def test_a_condition_on_a_column_that_a_law_empties_is_met(homes):
    model = homes[0]
    rows = model.sample(100, given={"GarageCond": "TA"}, random_state=2)
    assert (rows["GarageCond"] == "TA").all()
    kept(model, rows)
