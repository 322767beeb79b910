"""The ways from rows to a file: where every private mechanism is shut, nothing of a table is in its file.

The tables share what is public (schema, number of rows) and nothing else. What a mechanism gives while it is shut does
not depend on rows; with one of them open, only the parts that it is known to write may differ.
"""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

import tabtreeformer as ttf
from tabtreeformer.artifact.archive import read_archive
from tabtreeformer.data.schema import CATEGORICAL, IDENTIFIER, TEXT
from tabtreeformer.privacy.dp import fit, matching, training
from tabtreeformer.privacy.dp.budget import make_plan
from tabtreeformer.privacy.dp.columns import learn_column
from tabtreeformer.privacy.dp.histograms import Histograms
from tabtreeformer.privacy.dp.noise import Noise

pytest.importorskip("opacus")

N_ROWS = 300
TIMES = {"fit_seconds", "seconds"}
"""What a clock says; nothing else of a file may differ."""
RULES = ["high >= low", "total = low + high"]


def table(seed: int) -> pd.DataFrame:
    """Rows of every kind of column; two seeds have values, gaps, digits, ties and relations of their own."""
    rng, n = np.random.default_rng(seed), N_ROWS
    low = rng.integers(0, 10 + 40 * seed, n)
    high = low + rng.integers(0, 9 + 90 * seed, n)
    scale = 10 ** (1 + 3 * seed)
    pay = np.where(rng.random(n) < 0.1 + 0.3 * seed, np.nan, np.round(rng.gamma(2, scale, n), 1 + seed))
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 30 + 900 * seed, n), unit="D")
    times = days + pd.to_timedelta(rng.integers(0, 24, n) * (1 - seed) + 17 * seed, unit="min")
    return pd.DataFrame(
        {
            "low": low,
            "high": high,
            "total": low + high,
            "pay": pay,
            "day": pd.Series(days).mask(rng.random(n) < 0.2 * seed),
            "time": times,
            "wait": pd.to_timedelta(rng.integers(0, 90 + 900 * seed, n), unit="s"),
            "single": rng.normal(0, 1 + seed, n).astype(np.float32),
            "city": rng.choice(["Bern", "Oslo", "Rome", "Ulm"], n, p=[[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0, 0.8]][seed]),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), categories=["S", "M", "L"], ordered=True),
            "told": rng.random(n) < 0.1 + 0.8 * seed,
            "id": rng.permutation(n) + 1000 * (1 + seed),
            "code": [f"{'AB'[seed]}-{k:04d}" for k in rng.permutation(n)],
            "note": [f"{['met', 'seen'][seed]} {k}" for k in rng.integers(0, 5 + 200 * seed, n)],
            "given": rng.choice(["x", "y"], n, p=[0.9 - 0.8 * seed, 0.1 + 0.8 * seed]),
            "age": rng.integers(18, 40 + 40 * seed, n),
            "same": pd.Series([["one", "two"][seed]] * n, dtype=object),
        }
    )


def public_schema() -> ttf.Schema:
    schema = ttf.Schema.infer(table(0)).with_kind("code", IDENTIFIER).with_kind("note", TEXT)
    schema = schema.with_kind("city", CATEGORICAL).with_kind("id", IDENTIFIER)
    schema = schema.with_placeholder("code", "code {n}").with_placeholder("note", "note {n}")
    return schema.with_public("given", values=["x", "y"]).with_public("age", low=0, high=120)


def content(seed: int, tmp_path) -> dict[str, object]:
    """Everything that the file of a table says, by place."""
    model = ttf.TabTreeFormer(
        dp=ttf.DP(epsilon=8),
        target="city",
        constraints=RULES,
        model={"width": 8, "feed_forward": 16, "heads": 2, "layers": 1},
        train={"steps": 3, "batch_size": 64},
        random_state=0,
        verbose=False,
    )
    model.fit(table(seed), schema=public_schema()).save(tmp_path / "m.tabtree")
    places: dict[str, object] = {}
    for name, data in read_archive(tmp_path / "m.tabtree").items():
        if name.endswith(".json"):
            places |= dict(leaves(name, json.loads(data)))
        else:
            places[name] = data
    return {place: fact for place, fact in places.items() if place.rsplit("/", 1)[-1] not in TIMES}


def leaves(place: str, plain: object):
    """Plain data as (place, value)."""
    items = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for key, value in items:
        yield from leaves(f"{place}/{key}", value)
    if not isinstance(plain, dict | list) or not plain:
        yield place, plain


made_plan = cache(make_plan)
"""Accounting takes longer than all else."""


@pytest.fixture
def shut(monkeypatch):
    """Shut the named mechanisms: they spend and answer as ever, and read no row."""

    def count(self, cells, n_cells):
        self._spend()
        noisy = self._noisy(np.full(n_cells + 1, N_ROWS // n_cells))
        return noisy[:-1], float(noisy[-1])

    def find(self, values):
        self._spend()
        self._found_left -= 1
        return {"Bern": 200.0, "Oslo": 90.0}, 0.0

    monkeypatch.setattr(matching, "ROWS", 300)  # the fewer, the faster
    monkeypatch.setattr(fit, "make_plan", made_plan)

    def close(*names):
        if "counts" in names:
            monkeypatch.setattr(Histograms, "count", count)
            monkeypatch.setattr(Histograms, "find", find)
        if "gradients" in names:
            monkeypatch.setattr(training, "clipped_sum", lambda *_: None)

    return close


def test_nothing_of_a_table_is_in_the_file_where_all_mechanisms_are_shut(shut, tmp_path):
    shut("counts", "gradients")
    first, second = (content(seed, tmp_path) for seed in (0, 1))
    assert first == second


@pytest.mark.parametrize(
    ("closed", "written"),
    [
        ("gradients", ("codec.json/", "weights_")),  # counts make codecs, and the biases of the network
        ("counts", ("weights_",)),
    ],
)
def test_each_mechanism_writes_its_own_parts_of_the_file_and_no_others(shut, tmp_path, closed, written):
    shut(closed)
    first, second = (content(seed, tmp_path) for seed in (0, 1))
    differ = {place for place in first.keys() | second.keys() if first.get(place) != second.get(place)}
    assert differ
    assert {place for place in differ if not place.startswith(written)} == set()


# ---- what is counted: each row by itself


WHOLE = np.random.default_rng(0).integers(0, 9, 60)
MIXED: dict[str, pd.Series] = {
    "whole numbers": pd.Series([*WHOLE, 10**9]),
    "decimals": pd.Series([*np.round(WHOLE / 4, 2), 0.123456]),
    "of 32 bits": pd.Series([*(WHOLE / 10), 1 / 3], dtype=np.float32),
    "passed through 32 bits": pd.Series([*(WHOLE / 10), 7.3]).astype(np.float32).astype(float),
    "noise of arithmetic": pd.Series([*np.round(WHOLE / 10, 1), 0.1 + 0.2]),
    "number objects": pd.Series([*WHOLE.tolist(), 2.5], dtype=object),
    "money": pd.Series([*(f"${k},000.00" for k in WHOLE + 1), "$12.50"]),
    "dates": pd.Series(pd.DatetimeIndex([*(f"2024-01-0{k + 1}" for k in WHOLE), "2031-07-04 11:12:13"])),
    "texts of dates": pd.Series([*(f"2024-01-0{k + 1}" for k in WHOLE), "1999-12-31"]),
    "durations": pd.Series(pd.to_timedelta([*WHOLE * 3600, 1], unit="s")),
    "classes": pd.Series([*(f"class {k}" for k in WHOLE), "another"]),
    "categories": pd.Series(pd.Categorical([*(f"class {k}" for k in WHOLE), "another"])),
    "truths": pd.Series([*(WHOLE > 4), True]),
    "constant numbers": pd.Series([7] * 60 + [2.5], dtype=object),
}
"""Values of which the last has another type, other digits or another length than all others."""


@pytest.mark.parametrize("kind", MIXED)
def test_what_is_counted_of_a_row_does_not_depend_on_other_rows(kind, monkeypatch):
    """A row that changed how others are read would change all of their counts, and noise for one row hid nothing."""
    series = MIXED[kind]
    schema = ttf.Schema.infer(pd.DataFrame({"x": series.iloc[:-1]}))
    column = ttf.Schema.infer(pd.DataFrame({"x": series})).columns[0] if kind == "money" else schema.columns[0]
    assert (column.kind == "constant") == (kind == "constant numbers")
    told: list[list[object]] = []

    def count(self, values):
        told[-1].append([(type(value), value) for value in values._present.tolist()])

    monkeypatch.setattr(Histograms, "_spend", lambda self: None)
    counted, found = Histograms.count, Histograms.find
    monkeypatch.setattr(Histograms, "count", lambda self, cells, n: (count(self, cells), counted(self, cells, n))[1])
    monkeypatch.setattr(Histograms, "find", lambda self, values: (count(self, values), found(self, values))[1])
    for rows in (series, series.iloc[:-1]):
        told.append([])
        plan = made_plan(ttf.DP(epsilon=50, delta=1e-6), len(series), 8, 8, 10, 10)
        learn_column(rows, column, 64, Histograms(plan, Noise(np.random.default_rng(0)), len(series)))
    for whole, part in zip(*told, strict=True):
        assert whole[: len(part)] == part
