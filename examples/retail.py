"""A shop's orders: running keys, UUIDs, names, business days, money as text, shipping dates after order dates.

    python examples/retail.py

Nothing in this table was prepared for the model: kinds are inferred, and relations between columns are found and kept.
"""

from __future__ import annotations

import uuid

import numpy as np
import pandas as pd

from tabtreeformer import Schema, TabTreeFormer

CITIES = {"Köln": "DE", "Ulm": "DE", "Bern": "CH", "Basel": "CH", "Lyon": "FR", "Nice": "FR"}
FIRST, LAST = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn"), ("Moor", "Ek", "Li", "Rossi", "Haas", "Okafor", "Sato")


def make(n_rows: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Write a table of orders."""
    rng = np.random.default_rng(seed)
    days = pd.bdate_range("2022-01-03", "2024-06-28")
    ordered = days[np.sort(rng.integers(len(days), size=n_rows))]
    shipped = ordered + pd.to_timedelta(rng.geometric(0.4, n_rows), unit="D")
    quantity = rng.integers(1, 8, n_rows)
    price = np.round(rng.lognormal(3, 0.6, n_rows), 2)
    city = rng.choice(list(CITIES), n_rows, p=[0.3, 0.1, 0.2, 0.1, 0.2, 0.1])
    return pd.DataFrame(
        {
            "order_id": [f"R-{100_000 + i}" for i in range(n_rows)],
            "token": [str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in range(n_rows)],
            "customer": [f"{a} {b} {c}." for a, b, c in zip(*_names(n_rows, rng), strict=True)],
            "ordered": ordered,
            "shipped": pd.Series(shipped).where(rng.random(n_rows) > 0.08),  # some never are
            "city": city,
            "country": [CITIES[c] for c in city],
            "quantity": quantity.astype("int8"),
            "price": price,
            "total": np.round(quantity * price, 2),
            "discount": [f"{d}%" for d in rng.choice([0, 5, 10, 15], n_rows, p=[0.6, 0.2, 0.15, 0.05])],
            "channel": pd.Categorical(rng.choice(["web", "shop"], n_rows), categories=["shop", "web", "phone"]),
        }
    )


def _names(n_rows: int, rng: np.random.Generator) -> tuple[list[str], list[str], list[str]]:
    letters = [chr(c) for c in rng.integers(65, 91, n_rows)]
    return rng.choice(FIRST, n_rows).tolist(), rng.choice(LAST, n_rows).tolist(), letters


def main(n_rows: int = 1000, **settings: object) -> pd.DataFrame:
    """Fit the table, show what was found, and sample from it."""
    df = make(n_rows)
    for column in Schema.infer(df).columns:
        print(f"{column.name:10} {column.kind:12} {column.why}")
    model = TabTreeFormer(target="total", random_state=0, **settings).fit(df)
    new = model.sample(n_rows)
    print(new.head(8).to_string())
    return new


if __name__ == "__main__":
    main()
