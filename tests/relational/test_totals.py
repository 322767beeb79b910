"""What follows across tables: totals of children, and columns that repeat those of a parent."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import RelationalTabTreeFormer
from tabtreeformer.data.links import Link
from tabtreeformer.relational.copied import find_copied
from tabtreeformer.relational.totals import find_totals


def store(n: int = 150, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Customers, orders and items, whose amounts add up."""
    rng = np.random.default_rng(seed)
    products = pd.DataFrame({"sku": range(40), "price": rng.lognormal(3, 0.7, 40).round(2)})
    owner = np.repeat(np.arange(n), rng.poisson(2, n))
    day = pd.Series(rng.integers(1, 60, len(owner))).groupby(owner).cumsum().to_numpy()
    orders = pd.DataFrame(
        {
            "order_id": np.arange(len(owner)) + 1,
            "customer_id": owner + 1000,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(day, unit="D"),
        }
    )
    below = np.repeat(np.arange(len(orders)), rng.integers(1, 5, len(orders)))
    sku = rng.integers(0, 40, len(below))
    items = pd.DataFrame({"order_id": below + 1, "sku": sku, "pieces": rng.geometric(0.5, len(below))})
    items["price"] = products["price"].to_numpy()[sku]
    items["sum"] = (items["pieces"] * items["price"]).round(2)
    net = items.groupby("order_id")["sum"].sum().reindex(orders["order_id"]).to_numpy()
    orders["shipping"] = rng.choice([0.0, 4.9, 9.9], len(orders))
    orders["total"] = (net + orders["shipping"]).round(2)
    orders["net"] = net.round(2)
    orders["n_items"] = orders["order_id"].map(items.groupby("order_id").size())
    customers = pd.DataFrame({"customer_id": np.arange(n) + 1000, "country": rng.choice(["DE", "FR"], n)})
    by = orders.groupby("customer_id")
    customers["spent"] = customers["customer_id"].map(by["total"].sum()).fillna(0).round(2)
    customers["last_order"] = customers["customer_id"].map(by["day"].max())
    return {"customers": customers, "products": products, "orders": orders, "items": items}


@pytest.fixture(scope="module")
def model():
    return RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(store())


def kept(new: dict[str, pd.DataFrame]) -> dict[str, float]:
    """Share of the rows that keep what holds in the store."""
    customers, orders, items = new["customers"], new["orders"], new["items"]
    by_order, by_customer = items.groupby("order_id"), orders.groupby("customer_id")
    last = customers["customer_id"].map(by_customer["day"].max())
    same_last = (last == customers["last_order"]) | (last.isna() & customers["last_order"].isna())
    spent = customers["customer_id"].map(by_customer["total"].sum()).fillna(0)
    net = orders["order_id"].map(by_order["sum"].sum())
    price = items["sku"].map(new["products"].set_index("sku")["price"])
    return {
        "price": float(np.mean(price == items["price"])),
        "sum": float(np.isclose(items["pieces"] * items["price"], items["sum"], atol=0.006).mean()),
        "net": float(np.isclose(net, orders["net"], atol=0.006).mean()),
        "total": float(np.isclose(orders["net"] + orders["shipping"], orders["total"], atol=0.006).mean()),
        "n_items": float(np.mean(orders["order_id"].map(by_order.size()) == orders["n_items"])),
        "spent": float(np.isclose(spent, customers["spent"], atol=0.006).mean()),
        "last_order": float(np.mean(same_last)),
    }


def test_everything_adds_up_in_new_tables(model):
    found = {total.text for table in model.tables_.values() for total in table.totals}
    assert found == {
        "customers.spent = sum of orders.total",
        "customers.last_order = highest orders.day",
        "orders.net = sum of items.sum",
        "orders.n_items = number of rows of items",
    }
    repeated = [copied.text for copied in model.tables_["items"].copied]
    assert repeated == ["items.price = products.price of the same products"]
    assert kept(store()) == dict.fromkeys(kept(store()), 1.0)
    new = model.sample(random_state=1)
    assert kept(new) == dict.fromkeys(kept(new), 1.0)
    assert list(new) == list(model.tables_)
    for name, table in store().items():
        assert (new[name].dtypes == table.dtypes).all()


def test_a_file_and_files_of_pieces_add_up_too(model, tmp_path):
    model.save(tmp_path / "store.tabtree")
    again = RelationalTabTreeFormer.load(tmp_path / "store.tabtree", verbose=False)
    pd.testing.assert_frame_equal(again.sample(random_state=2)["orders"], model.sample(random_state=2)["orders"])
    again.sample_to(tmp_path / "new", random_state=2, ending=".parquet")
    new = {path.stem: pd.read_parquet(path) for path in (tmp_path / "new").iterdir()}
    assert kept(new) == dict.fromkeys(kept(new), 1.0)


def test_rows_and_values_that_were_asked_for_stay(model):
    own = store()["customers"].head(20)
    pd.testing.assert_frame_equal(model.sample(given={"customers": own}, random_state=0)["customers"], own)
    rich = model.sample(given={"customers.spent": (300, 400)}, random_state=0)["customers"]
    assert rich["spent"].between(300, 400).all()


def test_chance_is_no_total():
    rng = np.random.default_rng(0)
    parent = pd.DataFrame({"a": rng.integers(0, 9, 200), "low_price": rng.random(200).round(2), "same": 3})
    owner = rng.integers(0, 200, 900)
    child = pd.DataFrame({"x": rng.integers(0, 9, 900), "y": rng.random(900), "label": rng.choice(["a", "b"], 900)})
    link = Link("child", ("parent_id",), "parent", ("id",))
    assert find_totals(parent, child, owner, link, (list(parent), list(child))) == []
    assert find_copied(child, parent, owner, link, (list(child), list(parent)), rng) == []
    # The lowest price of a product is often its price: no law, unless the column's name says so.
    child["paid"] = parent["low_price"].to_numpy()[owner] * rng.integers(1, 3, 900)
    named = find_totals(parent, child, owner, link, (list(parent), list(child)))
    other = parent.rename(columns={"low_price": "price"})
    assert len(named) <= 1
    assert find_totals(other, child, owner, link, (list(other), list(child))) == []
