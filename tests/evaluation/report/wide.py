"""A made-up table of house sales with 80 columns: numbers with a grain, dates, categories, gaps that go together."""

import numpy as np
import pandas as pd

ROOMS = ("kitchen", "bath", "hall", "garage", "attic", "cellar", "porch", "study")
GRADES = ["Po", "Fa", "TA", "Gd", "Ex"]


def houses(n: int, seed: int) -> pd.DataFrame:
    """Sales of houses: total areas are sums, prices end in 000 or 500, a house without a garage has no garage data."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    built = np.clip(rng.normal(1975 + 12 * quality, 22, n), 1890, 2024).astype(int)
    above = np.exp(rng.normal(7.2 + 0.2 * quality, 0.25, n)).round(-1)
    below = np.where(rng.random(n) < 0.4, 0, np.exp(rng.normal(6.3, 0.3, n)).round(-1))
    sold = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 1400, n), unit="D")
    sold = sold - pd.to_timedelta(np.where(sold.day_of_week >= 5, sold.day_of_week - 4, 0), unit="D")
    price = np.exp(11.2 + 0.35 * quality + 0.45 * np.log((above + below / 2) / 1500) + rng.normal(0, 0.12, n))
    zips = rng.choice(np.arange(98001, 98031), n, p=np.arange(30, 0, -1) / 465)
    garage = rng.random(n) < 0.85
    table = {
        "sale_id": np.arange(n) + 10_000,
        "sold_on": sold,
        "viewed_at": sold
        - pd.to_timedelta(rng.integers(1, 60, n), unit="D")
        + pd.to_timedelta(rng.choice([9, 10, 11, 14, 15, 17, 18], n) * 60 + 15 * rng.integers(0, 4, n), unit="min"),
        "price": np.where(rng.random(n) < 0.7, price.round(-3), (price / 500).round() * 500),
        "area_above": above,
        "area_below": below,
        "area_total": above + below,
        "lot": np.exp(rng.normal(9, 0.7, n)).round(),
        "built": built,
        "renovated": np.where(rng.random(n) < 0.8, np.nan, np.minimum(built + rng.integers(5, 60, n), 2024)),
        "zip": zips.astype(str),
        "latitude": (47.2 + (zips - 98001) / 60 + rng.normal(0, 0.02, n)).round(4),
        "longitude": (-122.3 + rng.normal(0, 0.15, n)).round(3),
        "floors": rng.choice([1.0, 1.5, 2.0, 3.0], n, p=[0.45, 0.1, 0.4, 0.05]),
        "bedrooms": np.clip((above / 550 + rng.normal(0.5, 0.7, n)).round(), 1, 8).astype(int),
        "view": rng.choice(["none", "street", "park", "lake"], n, p=[0.7, 0.2, 0.07, 0.03]),
        "waterfront": rng.random(n) < 0.02,
        "agent": rng.choice([f"agent {i:02d}" for i in range(40)], n),
        "garage_type": np.where(garage, rng.choice(["attached", "detached", "carport"], n), None),
        "garage_cars": np.where(garage, rng.integers(1, 4, n), np.nan),
        "garage_built": np.where(garage, np.maximum(built, built + rng.integers(-2, 15, n)), np.nan),
        "tax": (price * 0.011).round(2),
        "fee": (price * rng.choice([0.02, 0.025, 0.03], n)).round(2),
        "days_listed": rng.negative_binomial(3, 0.08, n),
    }
    for room in ROOMS:
        there = rng.random(n) < 0.93
        table[f"{room}_area"] = np.where(there, np.exp(rng.normal(4.5 + 0.1 * quality, 0.4, n)).round(1), np.nan)
        grade = np.clip(np.digitize(quality + rng.normal(0, 0.8, n), [-2, -0.8, 0.8, 2]), 0, 4)
        table[f"{room}_grade"] = np.where(there, np.array(GRADES)[grade], None)
    for i in range(28):
        table[f"sensor_{i:02d}"] = (quality * rng.normal(0, 0.6) + rng.normal(size=n) * (1 + i % 3)).round(1 + i % 3)
    for i in range(12):
        names = [f"{'abcdefghijkl'[i]}{k}" for k in range(2 + i)]
        table[f"code_{i:02d}"] = rng.choice(names, n)
    return pd.DataFrame(table)
