"""Tables that differ by one row cannot be told apart better than promised, whatever the column is.

A distinguisher sees what a private codec keeps: its sizes and the noisy rows of its ids. On the first half of its runs
it chooses the event that separates the two tables best; on the second half the chances of that event are bounded
(Clopper-Pearson), and with them epsilon from below.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from tabtreeformer import Schema, SchemaError
from tabtreeformer.data.schema import CATEGORICAL, IDENTIFIER, TEXT
from tabtreeformer.privacy.dp.budget import Plan, total_epsilon
from tabtreeformer.privacy.dp.columns import histograms_of, learn_column
from tabtreeformer.privacy.dp.fit import _with_gaps
from tabtreeformer.privacy.dp.histograms import Histograms
from tabtreeformer.privacy.dp.noise import Noise
from tabtreeformer.tokens import TableCodec
from tabtreeformer.tokens.constraints.parse import parse

DELTA, SURE = 1e-5, 1e-4
RUNS = 2000
"""Runs on each table in the long tests."""


def noise_for(epsilon: float) -> float:
    """Noise multiplier of a mechanism that has this epsilon."""
    low, high = 0.05, 500.0
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if total_epsilon([(middle, 1.0, 1)], DELTA) > epsilon else (low, middle)
    return high


def dates(n: int, gaps: int, clock: bool) -> pd.Series:
    """Times of about two years, and rows without one; the last row is the one that a neighbour lacks."""
    steps = np.arange(n) * 7919 % (700 * 24)
    times = pd.Timestamp("2022-01-03") + pd.to_timedelta(steps if clock else steps // 24 * 24, unit="h")
    return pd.Series(pd.DatetimeIndex([pd.NaT] * gaps).append(times))


def numbers(n: int, gaps: int) -> pd.Series:
    return pd.Series(np.concatenate([np.full(gaps, np.nan), np.arange(n) * 37 % 1000 / 4]))


def letters(n: int, gaps: int, n_classes: int) -> pd.Series:
    return pd.Series([None] * gaps + [f"class {k % n_classes}" for k in range(n - 1)] + ["canary"], dtype=object)


def with_last(series: pd.Series) -> pd.Series:
    """The same, and one row more that has no value."""
    return series.reindex(range(len(series) + 1))


COLUMNS: dict[str, Callable[[int], pd.Series]] = {
    "dates": lambda n: dates(n, 0, clock=False),
    "dates with gaps": lambda n: dates(n, n // 3, clock=False),
    "times with gaps": lambda n: dates(n, n // 3, clock=True),
    "mostly gaps": lambda n: dates(n, 3 * n, clock=True),
    "numbers": lambda n: numbers(n, 0),
    "numbers with gaps": lambda n: numbers(n, n // 3),
    "whole numbers": lambda n: pd.Series(np.arange(n) * 37 % 1000),
    "durations with gaps": lambda n: pd.to_timedelta(numbers(n, n // 3), unit="h").dt.round("15min"),
    "two classes": lambda n: letters(n, 0, 2),
    "many classes with gaps": lambda n: letters(n, n // 3, 40),
    "booleans with gaps": lambda n: pd.Series([None] * (n // 3) + [True, False] * (n // 2), dtype="boolean"),
    "keys with gaps": lambda n: pd.Series([None] * (n // 3) + [f"K{k}" for k in range(n)], dtype=object),
    "texts with gaps": lambda n: letters(n, n // 3, 3),
    "a constant": lambda n: pd.Series(["same"] * n),
    "ordered classes": lambda n: pd.Series(pd.Categorical(letters(n, 0, 5), ordered=True)),
    "times in a zone": lambda n: dates(n, n // 3, clock=True).dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"),
    "a gap in one row, dates": lambda n: with_last(dates(n, 0, clock=False)),
    "a gap in one row, times": lambda n: with_last(dates(n, 0, clock=True)),
    "a gap in one row, numbers": lambda n: with_last(numbers(n, 0)),
    "a gap in one row, classes": lambda n: with_last(letters(n, 0, 3)[:-1]),
    "a gap in one row, keys": lambda n: with_last(pd.Series([f"K{k}" for k in range(n)], dtype=object)),
    "a gap in one row more": lambda n: with_last(numbers(n, n // 3)),
    "the only value": lambda n: pd.Series([np.nan] * n + [7.5]),
    "far from all others": lambda n: pd.Series([*np.arange(n) % 90 / 4, 1e9]),
}


def schema_of(name: str, series: pd.Series) -> Schema:
    schema = Schema.infer(pd.DataFrame({"x": series}))
    if name.startswith(("keys", "texts")):
        schema = schema.with_kind("x", IDENTIFIER if name.startswith("keys") else TEXT).with_placeholder("x", "new {n}")
    if "classes" in name:
        schema = schema.with_kind("x", CATEGORICAL)
    return schema


def seen(series: pd.Series, schema: Schema, plan: Plan, n_rows: int, seed: int) -> np.ndarray:
    """What a codec keeps, as numbers: sizes, whether gaps are known, and the noisy rows of its ids."""
    make = Histograms(plan, Noise(np.random.default_rng(seed)), n_rows)
    try:
        learned = learn_column(series, schema.columns[0], 64, make)
    except SchemaError:  # no value is frequent enough to be named, which is seen too
        return np.full(40, -1.0)
    sizes = [slot.size for slot in learned.codec.slots(0)]
    counts = [x for c in learned.counts for x in (c.sum(), c[0], c[-1], c.max(), len(c))]
    facts = np.zeros(40)
    facts[: len(sizes)] = sizes
    facts[5] = learned.codec.missing
    facts[10 : 10 + len(counts)] = counts
    return facts


def lower_bound(with_row: np.ndarray, without: np.ndarray) -> float:
    """Epsilon from below: the event is chosen on the first halves and bounded on the second ones."""
    half, best, event = len(with_row) // 2, -math.inf, (0, 0.0, 1)
    for column in range(with_row.shape[1]):
        for cut in np.unique(
            np.quantile(np.r_[with_row[:half, column], without[:half, column]], np.linspace(0, 1, 21))
        ):
            for sign in (1, -1):
                p, q = (((sign * t[:half, column]) >= sign * cut).mean() for t in (with_row, without))
                if p >= 0.05:
                    gain = abs(math.log((p + 1 / half) / (q + 1 / half)))
                    best, event = max((best, event), (gain, (column, cut, sign)))
    column, cut, sign = event
    hits = [int(((sign * t[half:, column]) >= sign * cut).sum()) for t in (with_row, without)]
    n = len(with_row) - half
    bounds = []
    for a, b in (hits, hits[::-1]):
        low = beta.ppf(SURE, a, n - a + 1) if a else 0.0
        high = beta.ppf(1 - SURE, b + 1, n - b) if b < n else 1.0
        bounds.append(math.log(max(low - DELTA, 1e-12) / high))
    return max(bounds)


def distinguish(name: str, epsilon: float, runs: int) -> float:
    """The lower bound on epsilon for a column and the same column without its last row."""
    noise = noise_for(epsilon)
    probe = schema_of(name, COLUMNS[name](200))
    n_histograms, n_found = histograms_of(probe.columns[0])
    plan = Plan(epsilon, DELTA, n_histograms, n_found, noise, 1.0, 0.1, 10)
    # As many rows as make a number of ids change between the neighbours, if the exact number of rows decides it.
    n = min(math.ceil(5 * 8 * plan.count_noise), 6000)
    series = COLUMNS[name](n)
    schema, n_rows = schema_of(name, series), len(series)
    tables = [
        np.array([seen(rows, schema, plan, n_rows, 2 * k + j) for k in range(runs)])
        for j, rows in enumerate((series, series.iloc[:-1]))
    ]
    return lower_bound(*tables)


def constrained(n_rows: int, with_row: bool, plan: Plan, seed: int) -> np.ndarray:
    """What is kept of two columns of which one is at least the other: both codecs, and how far they may lie apart."""
    low = np.arange(n_rows) * 37 % 1000 / 4
    frame = pd.DataFrame({"low": low, "high": low + 5})
    frame.loc[n_rows - 1, "high"] = 3_000.0  # far apart in one row only, which a neighbour lacks
    schema = Schema.infer(frame)
    frame = frame if with_row else frame.iloc[:-1]
    make = Histograms(plan, Noise(np.random.default_rng(seed)), n_rows)
    columns = [learn_column(frame[c.name], c, 64, make) for c in schema.columns]
    rule = _with_gaps(parse("high >= low", schema), TableCodec(schema, tuple(c.codec for c in columns)))
    return np.array([*rule.gaps, *(x for c in columns for x in (c.counts[0].sum(), c.counts[0][-1]))])


def distinguish_constrained(epsilon: float, runs: int) -> float:
    """The lower bound on epsilon for a constraint whose exact gaps would show the last row."""
    probe = Schema.infer(pd.DataFrame({"low": [0.25, 0.5], "high": [5.25, 5.5]}))
    n_histograms = sum(histograms_of(column)[0] for column in probe.columns)
    plan = Plan(epsilon, DELTA, n_histograms, 0, noise_for(epsilon), 1.0, 0.1, 10)
    n_rows = min(math.ceil(5 * 8 * plan.count_noise), 6000)
    tables = [
        np.array([constrained(n_rows, with_row, plan, 2 * k + with_row) for k in range(runs)])
        for with_row in (True, False)
    ]
    return lower_bound(*tables)


def test_how_far_columns_of_a_constraint_lie_apart_hardly_shows_a_row():
    assert distinguish_constrained(0.5, 100) <= 0.5


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 4.0])
def test_constraints_tell_neighbours_apart_no_better_than_promised(epsilon):
    assert distinguish_constrained(epsilon, RUNS) <= epsilon


@pytest.mark.parametrize("name", ["dates with gaps", "numbers with gaps", "two classes", "a gap in one row, times"])
def test_a_row_more_or_less_hardly_shows(name):
    assert distinguish(name, 0.5, 200) <= 0.5


def test_the_distinguisher_finds_the_exact_number_of_rows(monkeypatch):
    """What an earlier version did for weekdays and times of day: the number of present rows without noise."""
    learn = learn_column

    def leaking(series, column, most, make):
        monkeypatch.setattr(make, "present", lambda missing: float(series.notna().sum()))
        return learn(series, column, most, make)

    monkeypatch.setattr(sys.modules[__name__], "learn_column", leaking)
    assert distinguish("times with gaps", 0.1, 400) > 1.0


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("name", COLUMNS)
def test_neighbours_cannot_be_told_apart_better_than_promised(name, epsilon):
    assert distinguish(name, epsilon, RUNS) <= epsilon


@pytest.mark.long
def test_mypy_refuses_exact_statistics_of_rows(tmp_path):
    from mypy import api

    uses = ["len(rows)", "rows.sum()", "np.sum(rows)", "rows[0]", "list(rows)", "float(rows)", "np.unique(rows)"]
    lines = ["import numpy as np", "from tabtreeformer.privacy.dp.histograms import Secret"]
    lines += [f"def use_{k}(rows: Secret[np.float64]) -> object:\n    return {use}" for k, use in enumerate(uses)]
    (tmp_path / "uses.py").write_text("\n".join(lines) + "\n")
    found, _, _ = api.run(["--strict", str(tmp_path / "uses.py")])
    assert {int(line.split(":")[1]) for line in found.splitlines() if "uses.py:" in line and "error" in line} == {
        4 + 2 * k for k in range(len(uses))
    }, found
