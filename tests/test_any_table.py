"""Random tables of all kinds: whatever goes in, as many rows as asked for come out, each of them valid.

A dozen tables in every run, TABLES of them where that is set (`make test-long`).
"""

from __future__ import annotations

import datetime
import decimal
import os

import hypothesis
import numpy as np
import pandas as pd
from hypothesis import strategies as st

from tabtreeformer import Schema, TabTreeFormer
from tabtreeformer.data.rare import likely_range
from tabtreeformer.data.schema.numbers import count_decimals
from tabtreeformer.tokens.codecs.ticks import UNITS

TINY = {
    "tree": {"trials": 0, "params": {"n_estimators": 2, "num_leaves": 4}},
    "tokens": {"quantiles": 8, "bins": 3},
    "model": {"width": 8, "feed_forward": 16, "heads": 2, "layers": 1},
    "train": {"steps": 2, "batch_size": 32, "validate_every": 2},
    "sampling": {"batch_size": 256},
}


def whole(dtype):
    """Whole numbers of a dtype, its very ends among them."""

    def make(n, rng):
        limits = np.iinfo(dtype.lower())
        values = rng.integers(limits.min, limits.max, n, dtype=dtype.lower(), endpoint=True)
        some = rng.integers(0, 5, n).astype(dtype.lower())
        return pd.Series(np.where(rng.random(n) < rng.random(), values, some)).astype(dtype)

    return make


def real(dtype):
    def make(n, rng):
        scale = 10.0 ** rng.integers(-4, 4 if "16" in dtype else 30)
        values = rng.normal(size=n) * (1.0 if "16" in dtype else scale)
        return pd.Series(values if rng.random() < 0.5 else values.round(int(rng.integers(0, 4)))).astype(dtype)

    return make


def labels(dtype):
    def make(n, rng):
        words = ["", " ", "a", "A", "ä ö", "None", "nan", "1", "01", "x,y", 'q"', "🙂", "NA"]
        return pd.Series(rng.choice(words[: rng.integers(1, len(words))], n).tolist(), dtype=object).astype(dtype)

    return make


def times(dtype):
    def make(n, rng):
        step = int(rng.choice([86_400, 3600, 60, 1]))
        counts = 1_600_000_000 // step + rng.integers(0, int(10 ** rng.integers(0, 4)) + 1, n)
        return pd.Series((counts * step).astype("datetime64[s]")).astype(dtype)

    return make


def zoned(n, rng):
    return times("datetime64[us]")(n, rng).dt.tz_localize("UTC").dt.tz_convert("America/New_York")


MAKERS = {
    **{dtype: whole(dtype) for dtype in ("int8", "int64", "uint8", "uint64", "Int16", "Int64", "UInt32")},
    **{dtype: real(dtype) for dtype in ("float16", "float32", "float64", "Float64")},
    **{dtype: labels(dtype) for dtype in ("object", "str", "string[python]", "category")},
    **{dtype: times(dtype) for dtype in ("datetime64[s]", "datetime64[ns]")},
    "zoned": zoned,
    "timedelta64[ms]": lambda n, rng: pd.Series(pd.to_timedelta(rng.integers(-99, 9999, n), unit="s")).astype(
        "timedelta64[ms]"
    ),
    "bool": lambda n, rng: pd.Series(rng.random(n) < 0.5),
    "boolean": lambda n, rng: pd.Series(rng.random(n) < 0.5, dtype="boolean"),
    "constant": lambda n, rng: pd.Series([7.5] * n),
    "nothing": lambda n, rng: pd.Series([None] * n, dtype=object),
    "key": lambda n, rng: pd.Series(rng.permutation(n) + 5),
    "code": lambda n, rng: pd.Series([f"K-{i:03d}" for i in rng.permutation(n)]),
    "text": lambda n, rng: pd.Series(
        [f"{'same old' if rng.random() < 0.3 else i} story {i * i} of mine" for i in range(n)]
    ),
    "date as text": lambda n, rng: times("datetime64[s]")(n, rng).dt.strftime("%d.%m.%Y"),
    "money": lambda n, rng: pd.Series([f"${v:,.2f}" for v in rng.lognormal(5, 2, n)]),
    "date objects": lambda n, rng: pd.Series(
        [datetime.date(2020, 1, 1) + datetime.timedelta(int(i)) for i in rng.integers(0, 99, n)], dtype=object
    ),
    "decimals": lambda n, rng: pd.Series([decimal.Decimal(int(i)) / 8 for i in rng.integers(0, 99, n)], dtype=object),
    "mixed": lambda n, rng: pd.Series([["a", 2, 2.5][i] for i in rng.integers(0, 3, n)], dtype=object),
    "ordered": lambda n, rng: pd.Series(
        pd.Categorical(rng.choice(["S", "L"], n), categories=["S", "M", "L"], ordered=True)
    ),
}
HAVE_NO_GAPS = {"int8", "int64", "uint8", "uint64", "bool", "constant", "key"}


@st.composite
def tables(draw):
    """A table of 1 to 30 columns and 2 to 200 rows, columns with gaps, some alone and some together."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(2, 200))
    kinds = draw(st.lists(st.sampled_from(sorted(MAKERS)), min_size=1, max_size=30))
    together = rng.random(n) < 0.3
    columns = []
    for kind in kinds:
        series = MAKERS[kind](n, rng)
        pattern = draw(st.sampled_from(["none", "some", "together", "most"]))
        gaps = {
            "none": together & False,
            "some": rng.random(n) < 0.2,
            "together": together,
            "most": rng.random(n) < 0.95,
        }
        if kind not in HAVE_NO_GAPS:
            series = series.mask(gaps[pattern])
        columns.append(series.reset_index(drop=True))
    table = pd.concat(columns, axis=1)
    table.columns = [f"{kind} {i}" for i, kind in enumerate(kinds)]
    return table


@hypothesis.settings(
    max_examples=int(os.environ.get("TABLES", "15")),
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    print_blob=True,
)
@hypothesis.given(tables(), st.sampled_from([("auto", 0), ("auto", 5), ("S", 0)]), st.booleans())
def test_whatever_goes_in_valid_rows_come_out(table, preset_and_floor, named):
    target = table.columns[0] if named else None
    preset, floor = preset_and_floor
    settings = TINY | {"tokens": TINY["tokens"] | {"rare_floor": floor}}
    model = TabTreeFormer(preset, target, **settings, random_state=0, verbose=False).fit(table)
    rows = model.sample(57, random_state=1)
    assert len(rows) == 57
    assert list(rows.columns) == list(table.columns)
    kept = " ".join(model.summary()["constraints"])
    for column in model.fitted_.schema.columns:
        check(column, table[column.name], rows[column.name], moved=str(column.name) in kept, floor=floor)


def check(column, old, new, *, moved, floor):
    """A column of new rows holds what the old one may hold."""
    if floor and column.categories is not None:
        assert isinstance(new.dtype, pd.CategoricalDtype), column.name  # without the rare ones
    else:
        assert new.dtype == old.dtype, (column.name, old.dtype, new.dtype)
    if not old.isna().any():
        assert not new.isna().any(), column.name
    there = new.dropna()
    if column.kind in ("categorical", "boolean", "constant"):
        counts = old.value_counts()
        frequent = set(counts.index[counts >= floor])
        assert set(there) <= (frequent if floor else set(old.dropna())) or not frequent, column.name
    elif column.kind == "identifier":
        assert there.is_unique, column.name
        assert not set(there) & set(old.dropna()), column.name
    elif column.kind == "text":
        counts = old.value_counts()
        assert not set(there) & set(counts.index[counts < 5]), column.name
    elif len(there) and not moved:
        values, known = column.read(there), column.read(old.dropna())
        # With a floor dates fill the first and the last week.
        week = 7 * 86_400 * UNITS[column.unit] if floor and column.kind == "datetime" else 0
        low, high = known.min() - week, known.max() + week
        if floor:  # and ranges reach as far as may be expected
            likely = likely_range(*np.unique(known.to_numpy(dtype=np.float64), return_counts=True), floor)
            step = 0.51 * 10.0 ** -(count_decimals(known.to_numpy(dtype=np.float64)) or 0)
            low, high = min(low, likely[0] - step - week), max(high, likely[1] + step + week)
        assert low <= values.min(), column.name
        assert values.max() <= high, column.name


def test_the_strategy_reaches_every_kind():
    rng = np.random.default_rng(0)
    table = pd.concat([make(60, rng).reset_index(drop=True) for make in MAKERS.values()], axis=1, keys=list(MAKERS))
    kinds = {column.kind for column in Schema.infer(table).columns}
    assert kinds == {
        "numeric", "categorical", "boolean", "datetime", "timedelta", "identifier", "text", "constant"
    }  # fmt: skip
