"""What follows across tables: totals of children, and columns that repeat those of a parent."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import RelationalTabTreeFormer, Schema
from tabtreeformer.data.links import Link
from tabtreeformer.errors import ConfigError
from tabtreeformer.laws import given_laws
from tabtreeformer.relational.beside import Balance
from tabtreeformer.relational.copied import find_copied
from tabtreeformer.relational.followed import with_values
from tabtreeformer.relational.totals import find_totals
from tabtreeformer.tokens.conditions import ge


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


def clinic(n: int = 200, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Visits with samples that are taken on the same day, and accounts whose balance adds up."""
    rng = np.random.default_rng(seed)
    day = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    visits = pd.DataFrame({"visit_id": np.arange(n), "day": day, "until": day + pd.Timedelta(days=1)})
    owner = np.repeat(np.arange(n), rng.integers(1, 9, n))
    taken = day.to_numpy()[owner] + pd.to_timedelta(rng.integers(7 * 60, 17 * 60, len(owner)), unit="min")
    paid = rng.normal(0, 50, len(owner)).round(2)
    samples = pd.DataFrame({"visit_id": owner, "taken": taken, "paid": paid})
    return {"visits": visits, "samples": samples.assign(balance=samples.groupby("visit_id")["paid"].cumsum().round(2))}


@pytest.fixture(scope="module")
def counting():
    settings = {"privacy": "off", "random_state": 0, "verbose": False}
    return RelationalTabTreeFormer("trees", **settings).fit(clinic())


def test_times_are_on_the_day_of_the_parent_and_balances_add_up(counting, tmp_path):
    table = counting.tables_["samples"]
    assert [balance.text for balance in table.balances] == ["balance = running total of paid, for each parent"]
    counting.save(tmp_path / "clinic.tabtree")
    new = RelationalTabTreeFormer.load(tmp_path / "clinic.tabtree", verbose=False).sample(random_state=1)
    samples = new["samples"].merge(new["visits"], on="visit_id")
    assert (samples["taken"].dt.normalize() == samples["day"]).mean() > 0.98
    assert samples["taken"].dt.hour.between(6, 17).all()
    sums = samples.groupby("visit_id")["paid"].cumsum()
    assert np.allclose(sums, samples["balance"], atol=0.006)
    assert (new["samples"].dtypes == clinic()["samples"].dtypes).all()


def test_gaps_in_times_that_are_counted_are_filled_near_the_parent(counting):
    gappy = clinic()
    holes = gappy["samples"].index % 10 == 0
    gappy["samples"].loc[holes, ["taken", "paid"]] = None
    whole = counting.impute(gappy, random_state=0)["samples"]
    pd.testing.assert_frame_equal(whole[~holes], gappy["samples"][~holes])
    day = whole["visit_id"].map(gappy["visits"].set_index("visit_id")["day"])
    assert (whole["taken"].dt.normalize() == day).mean() > 0.98


def test_what_is_counted_takes_no_condition(counting):
    with pytest.raises(ConfigError, match="learned as the time since"):
        counting.sample(given={"samples.taken": ge("2022-03-01")})


def test_balances_of_one_parent_do_not_go_on_in_the_next():
    parents = np.array([0, 0, 0, 1, 1, -1, -1])
    balance = Balance("b", "a", 1, True, 2)
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4, 5, 6, 7], "b": [9.0] * 7})
    assert balance.added_up(frame, parents).tolist() == [1, 3, 6, 4, 9, 6, 7]
    started = Balance("b", "a", 1, False, 2)
    assert started.added_up(frame, parents).tolist() == [9, 11, 14, 9, 14, 9, 9]


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


def test_a_sum_of_equal_rows_is_a_total():
    link = Link("invoices", ("customer",), "customers", ("id",))
    parents = np.repeat(np.arange(40), np.arange(40) % 7 + 1)
    fee = np.array([9.0, 19.0, 49.0])[parents % 3]
    invoices = pd.DataFrame({"customer": parents, "fee": fee})
    paid = invoices.groupby("customer")["fee"].sum().to_numpy()
    customers = pd.DataFrame({"id": range(40), "paid": paid})
    found = find_totals(customers, invoices, parents, link, (["paid"], ["fee"]))
    assert [total.text for total in found] == ["customers.paid = sum of invoices.fee"]


def test_what_a_law_cannot_reach_keeps_the_total_and_moves_nothing_else():
    frame = pd.DataFrame({"start": range(100, 160), "end": range(110, 170)})
    schema = Schema.infer(frame).with_kind("start", "numeric").with_kind("end", "numeric")
    laws = given_laws(["end >= start"], frame, schema, floor=1)
    new = frame["end"].where(frame.index > 2, 50)
    changed = with_values(frame, {"end": new}, laws, 0)
    assert changed["end"].tolist() == new.tolist()
    assert changed["start"].tolist() == frame["start"].tolist()
