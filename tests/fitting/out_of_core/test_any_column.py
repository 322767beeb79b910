"""Columns of every kind, in parts: what is learned from the sample fits every row of the table."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer._runtime.progress import Silent
from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.data.io.chunked import Chunks
from tabtreeformer.data.schema import LABELLED, MEASURED, Schema
from tabtreeformer.fitting.out_of_core import draw_sample
from tabtreeformer.fitting.out_of_core import novelty as news
from tabtreeformer.tokens import TableCodec

N, PART = 400, 50


def days(n, rng):
    return pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"))


MAKERS = {
    "int8": lambda n, rng: pd.Series(rng.integers(-128, 128, n)).astype("int8"),
    "int64": lambda n, rng: pd.Series(rng.integers(-(2**63), 2**63 - 1, n)),
    "uint64": lambda n, rng: pd.Series(rng.integers(0, 2**64 - 1, n, dtype=np.uint64)),
    "Int64": lambda n, rng: pd.Series(rng.poisson(3, n), dtype="Int64"),
    "float32": lambda n, rng: pd.Series(rng.normal(size=n).round(2)).astype("float32"),
    "float64": lambda n, rng: pd.Series(rng.lognormal(size=n)),
    "str": lambda n, rng: pd.Series(rng.choice(["a", "b", ""], n).tolist()),
    "category": lambda n, rng: pd.Series(pd.Categorical(rng.choice(["S", "L"], n), categories=["S", "M", "L"])),
    "datetime64[s]": lambda n, rng: days(n, rng).astype("datetime64[s]"),
    "month starts": lambda n, rng: days(n, rng).dt.to_period("M").dt.to_timestamp(),
    "zoned": lambda n, rng: (days(n, rng) + pd.Timedelta("3h")).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
    "timedelta64[ms]": lambda n, rng: pd.Series(pd.to_timedelta(rng.integers(-99, 9999, n), unit="s")),
    "bool": lambda n, rng: pd.Series(rng.random(n) < 0.01),
    "boolean": lambda n, rng: pd.Series(rng.random(n) < 0.99, dtype="boolean"),
    "constant": lambda n, rng: pd.Series([7.5] * n),
    "nothing": lambda n, rng: pd.Series([None] * n, dtype=object),
    "running": lambda n, rng: pd.Series(np.arange(n) * 2),
    "code": lambda n, rng: pd.Series([f"K-{i:03d}" for i in rng.permutation(n)]),
    "text": lambda n, rng: pd.Series([f"{'same' if rng.random() < 0.3 else i} story {i} of mine" for i in range(n)]),
    "date as text": lambda n, rng: days(n, rng).dt.strftime("%d.%m.%Y"),
    "day numbers": lambda n, rng: days(n, rng).dt.strftime("%Y%m%d").astype(int),
    "money": lambda n, rng: pd.Series([f"${v:,.2f}" for v in rng.lognormal(5, 2, n)]),
    "zip": lambda n, rng: pd.Series(rng.integers(10_000, 10_020, n)),
    "mixed": lambda n, rng: pd.Series([["a", 2, 2.5][i] for i in rng.integers(0, 3, n)], dtype=object),
}
"""A maker of each, by rows and a generator."""
ODD = {
    "Int64": 999, "float32": 1e7, "float64": -1e9, "str": "once", "datetime64[s]": pd.Timestamp("1999-01-01 03:04:05"),
    "month starts": pd.Timestamp("2021-05-05"), "date as text": "no date", "day numbers": 20240231, "money": "free",
    "timedelta64[ms]": pd.Timedelta("1001ms"),
}  # fmt: skip
"""What one late row has."""


@pytest.mark.parametrize("gaps", [1 / N, 0.9])
@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_every_row_fits_what_the_sample_says(kind, gaps, monkeypatch):
    monkeypatch.setattr(news, "FEW_NUMBERS", 8)
    monkeypatch.setattr(news, "FEW_TEXTS", 25)
    rng = np.random.default_rng(len(kind))
    for odd in (False, True):
        series = MAKERS[kind](N, rng)
        if odd and kind in ODD:
            series = series.copy()  # what .dt gives may not be changed in older versions of pandas
            series[N - 7] = ODD[kind]
        if gaps and series.dtype.kind not in "iub":
            series = series.mask((rng.random(N) < gaps) & (np.arange(N) != N - 7))
        frame = pd.DataFrame({kind: series, "other": rng.normal(size=N)})
        chunks = Chunks("table", N, 0, lambda rows, f=frame: (f[i : i + rows] for i in range(0, N, rows)), 2, PART, 40)
        sample = draw_sample(chunks, None, {}, 3, np.random.default_rng(9), Silent())
        assert len(sample.frame) < N
        schema, whole = sample.infer(None), Schema.infer(frame)
        column, known = schema.column(kind), whole.column(kind)
        assert (column.form, column.dtype) == (known.form, known.dtype)
        if known.kind in MEASURED or known.kind in LABELLED:
            assert column.kind == known.kind
        config = TokenConfig(scheme="atoms", quantiles=20, bins=1)
        codec = TableCodec.learn(schema.validate(sample.frame), schema, config)
        ids = np.concatenate([codec.encode(part) for part in chunks])
        assert (ids < [slot.size for slot in codec.slots]).all()
        own, full = codec.columns[0], TableCodec.learn(whole.validate(frame), whole, config).columns[0]
        assert own.missing == full.missing
        for name in ("low", "high", "decimals", "step", "labels"):
            if column.kind == known.kind and known.kind in (*MEASURED, *LABELLED) and hasattr(full.inner, name):
                assert getattr(own.inner, name) == getattr(full.inner, name), name
