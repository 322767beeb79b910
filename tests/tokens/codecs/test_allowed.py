"""A condition leaves exactly the values that meet it, whatever the column."""

import datetime

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import between, eq, ge, gt, isin, le, lt, missing, ne, present
from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.data.schema import Schema
from tabtreeformer.errors import ConditionError, ConfigError
from tabtreeformer.tokens.codecs.column import ColumnCodec
from tabtreeformer.tokens.conditions import Condition, as_condition

N = 400
RNG = np.random.default_rng(0)
NOON = pd.Timestamp("2023-03-01 12:00")
COLUMNS = {
    "decimals": pd.Series(RNG.normal(50, 20, N).round(2)),
    "whole": pd.Series(RNG.integers(0, 300, N)),
    "floats": pd.Series(RNG.normal(size=N)),
    "few": pd.Series(RNG.integers(0, 5, N) * 1.5),
    "money": pd.Series([f"${v:,.2f}" for v in RNG.lognormal(6, 1, N)]),
    "labels": pd.Series(RNG.choice(["a", "b", "c"], N)),
    "sizes": pd.Series(pd.Categorical(RNG.choice(["S", "L"], N), categories=["S", "M", "L"], ordered=True)),
    "truth": pd.Series(RNG.random(N) < 0.4),
    "days": pd.Series(pd.Timestamp("2021-01-04") + pd.to_timedelta(RNG.integers(0, 700, N), unit="D")),
    "few days": pd.Series(pd.Timestamp("2021-01-04") + pd.to_timedelta(RNG.integers(0, 9, N), unit="D")),
    "times": pd.Series(NOON + pd.to_timedelta(RNG.integers(0, 10**5, N) * 15, unit="min")),
    "zoned": pd.Series(NOON + pd.to_timedelta(RNG.integers(0, 9000, N), unit="h")).dt.tz_localize("UTC"),
    "months": pd.Series(pd.to_datetime([f"{1950 + i % 70}-{1 + i % 12:02d}-01" for i in range(N)])),
    "date text": pd.Series(NOON + pd.to_timedelta(RNG.integers(0, 900, N), unit="D")).dt.strftime("%d.%m.%Y"),
    "durations": pd.Series(pd.to_timedelta(RNG.integers(0, 500, N) * 5, unit="min")),
    "texts": pd.Series(
        [f"{['often', 'seldom'][i % 2] if i % 3 else i} said {i % 2 if i % 3 else i}" for i in range(N)]
    ),
}
MEASURED = [name for name in COLUMNS if name not in ("labels", "sizes", "truth", "texts")]
TESTS = {
    "eq": lambda v, a: v == a, "ne": lambda v, a: v != a, "lt": lambda v, a: v < a, "le": lambda v, a: v <= a,
    "gt": lambda v, a: v > a, "ge": lambda v, a: v >= a, "between": lambda v, a, b: (v >= a) & (v <= b),
    "isin": lambda v, *few: v.isin(few),
}  # fmt: skip


def learned(name, gaps=0.0):
    series = COLUMNS[name].rename("x")
    if gaps:
        series = series.astype("boolean" if name == "truth" else series.dtype).mask(RNG.random(N) < gaps)
    column = Schema.infer(pd.DataFrame({"x": series})).columns[0]
    config = TokenConfig(scheme="atoms", quantiles=40, bins=1 if gaps else 5)
    return ColumnCodec.learn(series, column, config), series


def drawn(codec, condition, n=200, seed=0):
    """Values of ids that the condition leaves, drawn evenly: the worst that a network could do."""
    rng, allowed = np.random.default_rng(seed), codec.allow(condition)
    slots = codec.slots(0)
    ids = np.zeros((n, len(slots)), dtype=np.int64)
    for place, slot in enumerate(slots):
        mask = allowed.masks[place] if place < len(allowed.masks) else None
        whole = np.ones(slot.size, bool) if mask is None else mask
        assert whole.shape == (slot.size,)
        ids[:, place] = rng.choice(np.flatnonzero(whole), n)
    values, gaps = codec.decode(ids, rng)
    series = codec.column.write(codec.move_into(allowed, ids, values, gaps, rng), gaps)
    assert codec.meets(allowed, series).all()
    return series


def operands(series, operator):
    """Values of the column that leave something to draw."""
    known = sorted(series.dropna().unique(), key=lambda v: float(v[1:].replace(",", "")) if str(v)[0] == "$" else v)
    low, middle, high = (known[len(known) * k // 8] for k in (2, 4, 6))
    few = {"between": (low, high), "isin": (low, middle, high)}
    return few.get(operator, (middle,))


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("operator", TESTS)
@pytest.mark.parametrize("name", [n for n in MEASURED if n != "date text"])
def test_every_operator_on_every_measured_column(name, operator, gaps):
    codec, series = learned(name, gaps)
    chosen = operands(series, operator)
    values = drawn(codec, Condition(operator, chosen))
    assert values.dtype == series.dtype
    assert values.notna().all()
    plain = codec.column.read(values)
    assert TESTS[operator](plain, *codec.column.read(pd.Series(chosen, dtype=series.dtype))).all()
    assert plain.nunique() > 1 or operator == "eq"


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("name", COLUMNS)
def test_missing_and_present(name, gaps):
    codec, _ = learned(name, gaps)
    assert drawn(codec, present()).notna().all()
    if gaps:
        assert drawn(codec, missing()).isna().all()
    else:
        with pytest.raises(ConditionError, match="column 'x' had no missing values when fitting"):
            codec.allow(missing())


@pytest.mark.parametrize(
    ("name", "condition", "expected"),
    [
        ("labels", eq("b"), {"b"}),
        ("labels", ne("b"), {"a", "c"}),
        ("labels", isin(["a", "c"]), {"a", "c"}),
        ("labels", ge("b"), {"b", "c"}),
        ("sizes", ge("M"), {"L"}),
        ("sizes", lt("L"), {"S"}),
        ("sizes", between("S", "M"), {"S"}),
        ("truth", eq(True), {True}),
        ("truth", ne(True), {False}),
        ("texts", eq("often said 0"), {"often said 0"}),
        ("few", eq(3), {3.0}),
        ("few", gt(3.0), {4.5, 6.0}),
    ],
)
def test_values_that_are_left(name, condition, expected):
    assert set(drawn(learned(name)[0], condition)) == expected


def test_rare_texts_are_among_what_a_text_is_not():
    texts = drawn(learned("texts")[0], ne("often said 0"))
    assert "often said 0" not in set(texts)
    assert texts.nunique() > 2


def test_times_can_be_written_in_many_ways():
    codec, _ = learned("zoned")
    noon = pd.Timestamp("2023-06-01 12:00", tz="UTC")
    for written in (noon, noon.tz_convert("Asia/Tokyo"), "2023-06-01 12:00", noon.to_pydatetime()):
        assert (drawn(codec, ge(written)) >= noon).all()
    codec, _ = learned("date text")
    for written in ("01.06.2024", "2024-06-01", datetime.date(2024, 6, 1), pd.Timestamp("2024-06-01")):
        days = pd.to_datetime(drawn(codec, lt(written)), format="%d.%m.%Y")
        assert days.max() < pd.Timestamp("2024-06-01")
    assert (drawn(learned("durations")[0], le("2h")) <= pd.Timedelta("2h")).all()


def test_a_range_inside_one_interval_is_drawn_evenly():
    codec, _ = learned("whole")
    inner = codec.inner
    k = int((inner.highs - inner.lows).argmax())
    low, high = int(inner.lows[k]), int(inner.highs[k])
    assert high - low >= 3
    counts = drawn(codec, between(low, high - 1), 3000).value_counts()
    assert set(counts.index) == set(range(low, high))
    assert counts.min() > 0.8 * 3000 / (high - low)


@pytest.mark.parametrize(
    ("name", "condition", "message"),
    [
        ("labels", eq("z"), "column 'x' never was 'z'; known: 'a', 'b', 'c'"),
        ("labels", isin(["a", "z"]), "never was 'z'"),
        ("labels", ge(3), "has no order in which ge\\(3\\) means something"),
        ("sizes", ge("XL"), "has no order in which"),
        ("sizes", gt("L"), "no value is gt\\('L'\\)"),
        ("texts", eq("never"), "never was 'never'; known: "),
        ("whole", gt(10**6), "column 'x': no value that was learned is gt\\(1000000\\); values go from 1 to 29"),
        ("whole", eq(3.5), "no value that was learned is eq\\(3.5\\)"),
        ("whole", between(9, 3), "no value that was learned is between\\(9, 3\\)"),
        ("whole", eq("many"), "column 'x' is numeric and cannot be 'many'"),
        ("floats", le(float("nan")), "column 'x' is numeric and cannot be nan"),
        ("days", lt("1999-01-01"), "values go from 2021-01-0"),
        ("days", ge("soon"), "column 'x' is datetime and cannot be 'soon'"),
        ("durations", ge("2024-01-01"), "column 'x' is timedelta and cannot be"),
    ],
)
def test_what_cannot_be_is_named(name, condition, message):
    with pytest.raises(ConditionError, match=message):
        learned(name)[0].allow(condition)


def test_constants_meet_conditions_or_say_what_they_are():
    for value, fine, wrong in (
        (7.5, [eq(7.5), ge(7), between(7, 8), present(), ne(3)], [eq(3), lt(7), ge("x"), missing()]),
        ("same", [eq("same"), isin(["same", "other"])], [ne("same"), gt(3)]),
        (pd.Timestamp("2024-01-31"), [ge("2024-01-01")], [lt("2024-01-01")]),
    ):
        series = pd.Series([value] * 9, name="x")
        column = Schema.infer(series.to_frame()).columns[0]
        codec = ColumnCodec.learn(series, column, TokenConfig(scheme="atoms"))
        for condition in fine:
            assert codec.allow(condition).masks == ()
        for condition in wrong:
            with pytest.raises(ConditionError, match="'x'"):
                codec.allow(condition)


def test_keys_cannot_be_given():
    series = pd.Series([f"K-{i:03d}" for i in range(60)], name="x")
    codec = ColumnCodec.learn(series, Schema.infer(series.to_frame()).columns[0], TokenConfig(scheme="atoms"))
    with pytest.raises(ConditionError, match="column 'x' is an identifier"):
        codec.allow(eq("K-003"))
    assert codec.allow(present()).masks == ()


def test_the_papers_tokens_take_no_ranges():
    series = COLUMNS["whole"].rename("x")
    codec = ColumnCodec.learn(series, Schema.infer(series.to_frame()).columns[0], TokenConfig(scheme="quantile"))
    with pytest.raises(ConditionError, match="tokens.scheme='atoms'"):
        codec.allow(ge(3))


def test_plain_values_stand_for_conditions():
    assert as_condition((1, 2), measured=True) == between(1, 2)
    assert as_condition((1, 2), measured=False) == isin([1, 2])
    assert as_condition(["a"], measured=True) == isin(["a"])
    assert as_condition(None, measured=True) == as_condition(float("nan"), measured=False) == missing()
    assert as_condition("a", measured=False) == eq("a")
    assert as_condition(ge(3), measured=True) == ge(3)
    with pytest.raises(ConfigError, match="a range is a pair"):
        as_condition((1, 2, 3), measured=True)
    with pytest.raises(ConfigError, match="at least one value"):
        isin([])
