"""The linked tables of a small shop: customers, their orders over time, order lines, products, employees.

    python examples/shop.py shop/                # five CSV files
    python examples/shop.py shop/ --customers 5000 --seed 1
    ttf fit shop/ -o shop.tabtree --preset trees
    ttf sample shop.tabtree -o new/

Everything is made up. The rows depend on each other in several ways: countries buy different products, frequent
customers spend less per order, the amounts of one customer are similar, nobody orders before signing up or after
leaving, and the total of an order is net plus tax.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

COUNTRIES, SHARES = ("DE", "FR", "IT", "PL"), (0.4, 0.3, 0.2, 0.1)
START = np.datetime64("2022-01-01", "D")


def make(n_customers: int = 500, seed: int = 0) -> dict[str, pd.DataFrame]:
    """The five tables by name."""
    rng = np.random.default_rng(seed)
    customers, habits = _customers(n_customers, rng)
    orders = _orders(customers, habits, rng)
    products = pd.DataFrame(
        {"sku": [f"P{i:03d}" for i in range(40)], "price": np.round(rng.lognormal(3, 0.7, 40), 2)}
    ).assign(category=np.resize(["book", "toy", "food", "tool"], 40))
    return {
        "customers": customers,
        "orders": orders,
        "lines": _lines(orders, customers, products, rng),
        "products": products,
        "employees": _employees(max(n_customers // 10, 8), rng),
    }


def _customers(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    signed_up = START + rng.integers(0, 700, n)
    left = np.where(rng.random(n) < 0.3, signed_up + rng.integers(30, 500, n), np.datetime64("NaT"))
    table = pd.DataFrame(
        {
            "id": np.arange(1000, 1000 + n),
            "country": rng.choice(COUNTRIES, n, p=SHARES),
            "age": rng.normal(45, 14, n).clip(18, 90).astype(int),
            "signed_up": signed_up.astype("datetime64[s]"),
            "left": left.astype("datetime64[s]"),
        }
    )
    often = rng.gamma(1.5, 2.0, n)
    return table, pd.DataFrame({"often": often, "spends": rng.lognormal(4 - 0.1 * often, 0.5)})


def _orders(customers: pd.DataFrame, habits: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    counts = rng.poisson(habits["often"])
    owner = np.repeat(np.arange(len(customers)), counts)
    step = rng.exponential(40, len(owner)).astype(int) + 1
    days = pd.Series(step).groupby(owner).cumsum().to_numpy()
    date = customers["signed_up"].to_numpy()[owner] + days.astype("timedelta64[D]")
    left = customers["left"].to_numpy()[owner]
    kept = np.isnat(left) | (date <= left)
    net = np.round(habits["spends"].to_numpy()[owner] * rng.lognormal(0, 0.2, len(owner)), 2)
    tax = np.round(0.19 * net, 2)
    orders = pd.DataFrame(
        {
            "customer_id": customers["id"].to_numpy()[owner],
            "date": date,
            "net": net,
            "tax": tax,
            "total": np.round(net + tax, 2),
            "paid_by": rng.choice(["card", "invoice", "cash"], len(owner), p=[0.6, 0.3, 0.1]),
        }
    )[kept]
    return orders.reset_index(drop=True).rename_axis("order_no").reset_index()


def _lines(
    orders: pd.DataFrame, customers: pd.DataFrame, products: pd.DataFrame, rng: np.random.Generator
) -> pd.DataFrame:
    counts = rng.integers(1, 5, len(orders))
    owner = np.repeat(np.arange(len(orders)), counts)
    country = orders["customer_id"].map(customers.set_index("id")["country"]).map(COUNTRIES.index).to_numpy()[owner]
    sku = (rng.integers(0, 20, len(owner)) + 6 * country) % len(products)
    return pd.DataFrame(
        {
            "order_no": orders["order_no"].to_numpy()[owner],
            "line": pd.Series(owner).groupby(owner).cumcount().to_numpy() + 1,
            "sku": products["sku"].to_numpy()[sku],
            "pieces": rng.geometric(0.6, len(owner)),
        }
    )


def _employees(n: int, rng: np.random.Generator) -> pd.DataFrame:
    manager = [np.nan, *(float(rng.integers(1, max(i // 3, 1) + 1)) for i in range(1, n))]
    return pd.DataFrame({"id": np.arange(1, n + 1), "manager_id": manager, "team": rng.choice(list("abc"), n)})


def main() -> None:
    """Write the tables to a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--customers", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, table in make(options.customers, options.seed).items():
        table.to_csv(options.folder / f"{name}.csv", index=False)
        print(f"{options.folder / name}.csv: {len(table):,} rows")


if __name__ == "__main__":
    main()
