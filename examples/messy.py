"""A messy file: semicolons, decimal commas, dates without zeros, marks for missing values, people, keys.

    python examples/messy.py

The script reads the file, prints how each column was interpreted, and writes new rows in the same dialect. With the
extra `fakes` installed, people and addresses look like those of a given country; without it they are placeholders.
"""

from __future__ import annotations

import json
import tempfile
import uuid
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tabtreeformer import Schema, TabTreeFormer, read_table, write_table

FIRST = ("Anna", "Bernd", "Clara", "Dieter", "Elena", "Franz", "Greta", "Hans", "Ines", "Jonas", "Käthe", "Ludwig")
LAST = ("Müller", "Schmidt", "Weber", "Wagner", "Becker", "Hoffmann", "Koch", "Richter", "Wolf", "Neumann", "Krüger")
TOWNS = {"Köln": "50667", "Dresden": "01067", "Ulm": "89073", "Kiel": "24103", "Mainz": "55116"}
POOLS = ("none", "fair", "good", "excellent")


def make(n_rows: int = 600, seed: int = 0) -> pd.DataFrame:
    """Write a table of house sales in which everything is messy."""
    rng = np.random.default_rng(seed)
    day = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 1400, n_rows), unit="D")
    first, last = rng.choice(FIRST, n_rows), rng.choice(LAST, n_rows)
    town = rng.choice(list(TOWNS), n_rows, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    area = rng.gamma(9, 13, n_rows).round(1)
    rooms = np.clip(np.rint(area / 28 + rng.normal(0, 0.7, n_rows)), 1, 9).astype(int)
    repeats = np.sort(rng.integers(0, int(n_rows * 0.9), n_rows))  # some houses are sold twice
    return pd.DataFrame(
        {
            "house_id": 7_000_000 + 13 * repeats,
            "sale": [str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in range(n_rows)],
            "sold": [f"{d.day}.{d.month}.{d.year}" for d in day],
            "entered": day.strftime("%Y%m%dT%H%M%S"),
            "buyer name": [f"{a} {b}" for a, b in zip(first, last, strict=True)],
            "email": [
                f"{a}.{b}{k}@mail.de".lower() for a, b, k in zip(first, last, rng.integers(1, 999, n_rows), strict=True)
            ],
            "phone": [f"+49 {rng.integers(150, 180)} {rng.integers(10**6, 10**7)}" for _ in range(n_rows)],
            "iban": [_iban(int(rng.integers(10**17, 10**18))) for _ in range(n_rows)],
            "town": town,
            "plz": [str(int(TOWNS[t]) + int(rng.integers(0, 40))).zfill(5) for t in town],
            "ip": [f"192.168.{rng.integers(0, 256)}.{rng.integers(1, 255)}" for _ in range(n_rows)],
            "link": [f"https://houses.de/{rng.integers(10**6)}" for _ in range(n_rows)],
            "colour": [f"#{rng.integers(0, 2**24):06x}" for _ in range(n_rows)],
            "tags": [json.dumps(sorted(set(rng.choice(["new", "sea", "park"], 2)))) for _ in range(n_rows)],
            "area": area,
            "rooms": pd.Series(rooms.astype(str)).mask(rng.random(n_rows) < 0.04, "-"),
            "garden": pd.Series(rng.integers(0, 900, n_rows).astype(str)).mask(rng.random(n_rows) < 0.1, "n/a"),
            "pool": rng.choice(POOLS, n_rows, p=[0.94, 0.04, 0.015, 0.005]),
            "price": (area * 3100 + rooms * 9000 + rng.normal(0, 2e4, n_rows)).round(-2).clip(20_000),
        }
    )


def _iban(account: int) -> str:
    """A German account number with the right check digits."""
    digits = f"{account:018d}"
    return f"DE{98 - int(digits + '131400') % 97:02d}{digits}"


def main(n_rows: int = 600, folder: str | None = None, **settings: Any) -> pd.DataFrame:
    """Read the file, fit it, print what was understood, and return new rows."""
    place = Path(folder or tempfile.mkdtemp())
    path = place / "messy.csv"
    table = make(n_rows)
    table.to_csv(path, sep=";", decimal=",", index=False, encoding="cp1252")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        df = read_table(path)
    for warning in said:
        print(f"while reading: {warning.message}")
    schema = Schema.infer(df).with_public("pool", values=POOLS)  # however rare an excellent pool is, it is no secret
    for column in schema.columns:
        print(f"{column.name!s:12} {column.kind:12} {column.meaning or '':12} {column.why}")
    model = TabTreeFormer(random_state=0, **settings).fit(df, schema=schema)
    new = model.sample(n_rows, random_state=0)
    write_table(new, place / "new.csv")
    print((place / "new.csv").read_text(encoding="utf-8")[:900])
    return new


if __name__ == "__main__":
    main()
