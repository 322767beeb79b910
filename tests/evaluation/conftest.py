"""A small world of which any number of rows can be drawn, and tables that a good or a bad generator would return."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


def _draw(n_rows: int, seed: int) -> pd.DataFrame:
    """Rows of a world in which columns hang together: numbers, whole numbers, text and a target of two classes."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n_rows)
    city = rng.choice(["Bern", "Köln", "Ulm"], n_rows, p=[0.5, 0.3, 0.2])
    pay = np.round(age * 40 + (city == "Bern") * 900 + rng.normal(0, 300, n_rows), 2)
    # Every sample has both ends: Trend cuts each table by its own extremes, and would fall where one lacks them.
    rooms = np.clip(pay / 900 + rng.random(n_rows), 1, 5).astype(int)
    tax = np.round(pay * np.where(city == "Ulm", 0.1, 0.3) + rng.normal(0, 30, n_rows), 2)
    owner = np.where(pay + 400 * rooms + rng.normal(0, 500, n_rows) > 3600, "yes", "no")
    return pd.DataFrame({"age": age, "city": city, "pay": pay, "rooms": rooms, "tax": tax, "owner": owner})


def _shuffled(df: pd.DataFrame, *columns: str, seed: int = 9) -> pd.DataFrame:
    """Return the table with each of those columns in an order of its own."""
    rng = np.random.default_rng(seed)
    return df.assign(**{name: rng.permutation(df[name].to_numpy()) for name in columns or df.columns})


@pytest.fixture(scope="session")
def draw():
    return _draw


@pytest.fixture(scope="session")
def shuffled():
    return _shuffled


@pytest.fixture(scope="session")
def train() -> pd.DataFrame:
    return _draw(800, seed=0)


@pytest.fixture(scope="session")
def test() -> pd.DataFrame:
    return _draw(300, seed=1)


@pytest.fixture(scope="session")
def fresh() -> pd.DataFrame:
    """Real rows in neither: what a perfect generator returns."""
    return _draw(800, seed=3)
