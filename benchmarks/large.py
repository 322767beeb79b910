"""Time and memory of large tables: a million rows, and three hundred columns. Numbers go to docs/types.md by hand.

    python benchmarks/large.py long
    python benchmarks/large.py wide

Each is a process of its own, so that the peak of memory is its own. Times are of the processor, not of the clock: they
mean the same on a busy machine. Training is cut to a few steps; what it costs per step is printed.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd

from tabtreeformer import Schema, TabTreeFormer
from tabtreeformer.config import TokenConfig
from tabtreeformer.tokens import TableCodec

STEPS = 6


def long_table(n_rows: int = 1_000_000) -> pd.DataFrame:
    """Twelve columns of all kinds."""
    rng = np.random.default_rng(0)
    start = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3650 * 1440, n_rows), unit="min")
    numbers = {f"n{i}": rng.lognormal(3, 1, n_rows).round(2) for i in range(4)}
    table = pd.DataFrame(
        {
            "id": np.arange(n_rows),
            "start": start,
            "end": start + pd.to_timedelta(rng.integers(0, 600, n_rows), unit="min"),
            "city": rng.choice([f"city {i}" for i in range(500)], n_rows),
            "name": pd.Series(rng.integers(0, 300_000, n_rows)).map("person no {} of many".format),
            "flag": rng.random(n_rows) < 0.2,
            "count": rng.poisson(3, n_rows),
            **numbers,
            "kind": pd.Categorical(rng.choice(list("abcdef"), n_rows)),
        }
    )
    table.loc[rng.random(n_rows) < 0.1, "n0"] = np.nan
    return table


def wide_table(n_rows: int = 5_000, n_columns: int = 300) -> pd.DataFrame:
    """Two hundred columns of numbers, the rest categories and truth values, a tenth of all with gaps."""
    rng = np.random.default_rng(0)
    columns = {}
    for i in range(n_columns):
        kind = i % 6
        values = rng.normal(size=n_rows).round(3) if kind < 4 else rng.choice(list("abcdefgh"), n_rows)
        columns[f"c{i}"] = pd.Series(values if kind < 5 else rng.random(n_rows) < 0.3)
        if i % 10 == 0:
            columns[f"c{i}"] = (
                columns[f"c{i}"].astype(object if kind == 5 else columns[f"c{i}"].dtype).mask(rng.random(n_rows) < 0.2)
            )
    return pd.DataFrame(columns)


@contextmanager
def timed(what: str) -> Iterator[None]:
    started = time.process_time()
    yield
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{what:22} {time.process_time() - started:8.1f} s   peak {peak:5.2f} GB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("table", choices=["long", "wide"])
    choice = parser.parse_args().table
    with timed("make"):
        df = long_table() if choice == "long" else wide_table()
    print(f"{df.shape[0]:,} rows x {df.shape[1]} columns, {df.memory_usage(deep=True).sum() / 2**30:.2f} GB in pandas")
    target = "kind" if choice == "long" else "c4"
    with timed("infer"):
        schema = Schema.infer(df, target)
    with timed("learn ids, relations"):
        codec = TableCodec.learn(
            schema.validate(df), schema, TokenConfig(scheme="atoms", quantiles=128, bins=8), constraints="auto"
        )
    print(f"{len(codec.slots)} tokens of values a row; relations: {', '.join(codec.rules.texts) or 'none'}")
    with timed("encode"):
        codec.encode(df)
    model = TabTreeFormer(target=target, train={"steps": STEPS, "validate_every": STEPS}, random_state=0, verbose=False)
    with timed(f"fit, {STEPS} steps"):
        model.fit(df, schema)
    with timed("sample 1,000"):
        model.sample(1000)


if __name__ == "__main__":
    main()
