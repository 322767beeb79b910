"""Writes a table of twenty columns of all kinds and any number of rows, part by part.

    python -m benchmarks.make_table 5000000 big.parquet
    python -m benchmarks.make_table 500000 big.csv

The same number of rows always gives the same table.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

PART = 100_000

CITIES = np.array([f"city {i}" for i in range(500)])
COUNTRIES = np.array([f"country {i % 40}" for i in range(500)])
PRODUCTS = np.array([f"P{i:04d}" for i in range(900)])


def parts(n_rows: int, rows: int = PART) -> Iterator[pd.DataFrame]:
    """Yield the table, this many rows at a time; each part has a seed of its own."""
    for number, first in enumerate(range(0, n_rows, rows)):
        yield _part(first, min(rows, n_rows - first), np.random.default_rng([2026, number]))


def _part(first: int, n: int, rng: np.random.Generator) -> pd.DataFrame:
    city = np.minimum(rng.zipf(1.3, n) - 1, len(CITIES) - 1)
    product = np.minimum(rng.geometric(0.01, n) - 1, len(PRODUCTS) - 1)
    age = np.clip(rng.normal(45, 15, n), 18, 99).astype(np.int64)
    start = np.datetime64("2015-01-01T00:00", "us") + rng.integers(0, 3650 * 1440, n) * np.timedelta64(60_000_000, "us")
    stay = rng.gamma(2, 90, n).astype(np.int64)
    net = rng.lognormal(3 + 0.01 * age, 0.8).round(2)
    tax = (net * rng.choice([0.07, 0.19], n)).round(2)
    late = rng.random(n) < 1 / (1 + np.exp(3 - 0.02 * age - 0.004 * stay))
    frame = pd.DataFrame(
        {
            "order_id": np.arange(first, first + n),
            "customer": [f"C-{i:07d}" for i in rng.integers(0, 3_000_000, n)],
            "start": start,
            "end": start + stay * np.timedelta64(60_000_000, "us"),
            "birthday": np.datetime64("2024-01-01", "s") - age * np.timedelta64(365 * 86_400, "s"),
            "age": age,
            "city": CITIES[city],
            "country": COUNTRIES[city],
            "product": PRODUCTS[product],
            "channel": rng.choice(["shop", "web", "phone", "partner"], n, p=[0.4, 0.45, 0.1, 0.05]),
            "member": rng.random(n) < 0.3 + 0.004 * age,
            "quantity": rng.poisson(2, n) + 1,
            "net": net,
            "tax": tax,
            "total": (net + tax).round(2),
            "weight": rng.lognormal(0, 1, n),
            "score": rng.normal(0.02 * age, 1, n).round(3),
            "visits": pd.array(rng.negative_binomial(2, 0.2, n), dtype="Int64"),
            "rating": pd.array(rng.integers(1, 6, n), dtype="Int64"),
            "late": np.where(late, "yes", "no"),
        }
    )
    frame["visits"] = frame["visits"].mask(rng.random(n) < 0.05)
    frame["rating"] = frame["rating"].mask(rng.random(n) < 0.4)
    frame.loc[rng.random(n) < 0.02, "weight"] = np.nan
    return frame


def write(path: Path, n_rows: int) -> None:
    """Write the table as Parquet, a part a row group, or as CSV."""
    if path.suffix == ".csv":
        for number, part in enumerate(parts(n_rows)):
            part.to_csv(path, mode="a" if number else "w", header=not number, index=False)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for part in parts(n_rows):
        table = pa.Table.from_pandas(part, preserve_index=False)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=int)
    parser.add_argument("path", type=Path)
    arguments = parser.parse_args()
    write(arguments.path, arguments.rows)
    print(f"wrote {arguments.rows:,} rows to {arguments.path}, {arguments.path.stat().st_size / 2**20:,.0f} MiB")
