"""A small shop: customers, their orders in time, products, and employees with managers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

TINY = {
    "model": {"width": 16, "feed_forward": 32, "heads": 2, "layers": 1},
    "train": {"steps": 4, "batch_size": 32},
    "privacy": "off",
    "random_state": 0,
    "verbose": False,
}
"""Settings under which a table takes a fraction of a second."""


def shop(n_customers: int = 60, seed: int = 0) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    customers = pd.DataFrame(
        {
            "id": np.arange(100, 100 + n_customers),
            "country": rng.choice(["DE", "FR", "IT"], n_customers),
            "age": rng.integers(18, 80, n_customers),
        }
    )
    counts = rng.poisson(2.0, n_customers)
    owner = np.repeat(customers["id"].to_numpy(), counts)
    n_orders = len(owner)
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 100, n_customers), unit="D")
    gap = pd.to_timedelta(rng.integers(1, 30, n_orders), unit="D")
    first = pd.Series(np.repeat(start.to_numpy(), counts))
    date = first + pd.Series(gap).groupby(owner).cumsum().to_numpy()
    products = pd.DataFrame({"sku": [f"P{i:03d}" for i in range(12)], "price": np.round(rng.uniform(5, 90, 12), 2)})
    orders = pd.DataFrame(
        {
            "order_no": np.arange(1, n_orders + 1),
            "customer_id": owner,
            "sku": rng.choice(products["sku"], n_orders),
            "date": date.to_numpy(),
            "amount": np.round(rng.gamma(2, 20, n_orders), 2),
            "gift": rng.random(n_orders) < 0.2,
        }
    )
    boss = [np.nan, 1, 1, 2, 2, 3, 3, 3]
    employees = pd.DataFrame({"id": range(1, 9), "manager_id": boss, "level": list("abbccccc")})
    return {"customers": customers, "orders": orders, "products": products, "employees": employees}


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    return shop()


@pytest.fixture
def tiny() -> dict[str, object]:
    return dict(TINY)
