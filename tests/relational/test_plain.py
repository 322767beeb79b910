"""Dates and numbers that are written as texts, as in every CSV."""

import io

import pandas as pd
import pytest
from tests.relational.conftest import shop

from tabtreeformer import RelationalTabTreeFormer, evaluate_database
from tabtreeformer.data.link_search import find_links
from tabtreeformer.errors import TabTreeFormerError


def as_texts() -> dict[str, pd.DataFrame]:
    """The shop as files have it: dates as texts, amounts with a comma, the age of some customers missing."""
    tables = shop()
    orders = tables["orders"]
    amount = orders["amount"].map(lambda value: f"{value:.2f}".replace(".", ","))
    delivered = (orders["date"] + pd.Timedelta(days=2)).dt.strftime("%d.%m.%Y").mask(orders["gift"])
    orders = orders.assign(date=orders["date"].dt.strftime("%Y-%m-%d"), amount=amount, delivered=delivered)
    known_since = orders.groupby("customer_id")["date"].min()
    customers = tables["customers"].assign(since=tables["customers"]["id"].map(known_since).fillna("2024-02-01"))
    return {"customers": customers, "orders": orders, "products": tables["products"]}


@pytest.fixture(scope="module")
def model():
    return RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(as_texts())


def test_dates_and_numbers_as_texts_are_learned_as_what_they_are(model):
    assert str(model.tables_["orders"].plan.order) == "date"
    new, old = model.sample(random_state=1), as_texts()
    orders = new["orders"]
    for name, table in old.items():
        assert new[name].dtypes.tolist() == table.dtypes.tolist()
    assert orders["date"].str.fullmatch(r"2024-\d\d-\d\d").all()
    assert orders["amount"].str.fullmatch(r"\d+,\d\d").all()
    assert orders["delivered"].dropna().str.fullmatch(r"\d\d\.\d\d\.2024").all()
    assert orders["date"].groupby(orders["customer_id"]).apply(lambda days: days.is_monotonic_increasing).all()
    since = orders["customer_id"].map(new["customers"].set_index("id")["since"])
    assert (orders["date"] >= since).all()


def test_files_questions_and_gaps_keep_the_texts(model, tmp_path):
    model.save(tmp_path / "shop.tabtree")
    loaded = RelationalTabTreeFormer.load(tmp_path / "shop.tabtree", verbose=False)
    pd.testing.assert_frame_equal(loaded.sample(random_state=2)["orders"], model.sample(random_state=2)["orders"])
    old = as_texts()
    below = loaded.sample(given={"customers": old["customers"]}, random_state=0)
    pd.testing.assert_frame_equal(below["customers"], old["customers"])
    gappy = {**old, "orders": old["orders"].assign(amount=old["orders"]["amount"].mask(old["orders"].index < 5))}
    filled = loaded.impute(gappy, random_state=0)["orders"]
    assert filled["amount"].str.fullmatch(r"\d+,\d\d").all()
    pd.testing.assert_frame_equal(filled.iloc[5:], old["orders"].iloc[5:])


def test_a_table_that_gets_no_rows_keeps_its_columns(model):
    empty = model.sample(children={"orders": 0}, random_state=0)["orders"]
    assert len(empty) == 0
    assert list(empty.columns) == list(as_texts()["orders"].columns)


def test_rows_in_time_may_be_ordered_by_a_column_of_texts():
    text = "id,day,value\n" + "\n".join(f"{i // 4},{1 + i % 4:02d}.03.2024,{i % 7}" for i in range(120))
    frame = pd.read_csv(io.StringIO(text))
    model = RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False)
    new = model.fit(frame, group="id", order="day").sample(10, random_state=0)
    assert new["day"].str.fullmatch(r"0\d\.03\.2024").all()


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ({"orders": "none"}, "no column 'none' to order by"),
        ({"shops": "date"}, "order names a table 'shops'"),
        ({"orders": "delivered"}, "has missing values"),
        ({"orders": "sku"}, "neither numbers nor times"),
    ],
)
def test_an_order_that_cannot_be_is_refused(order, said):
    model = RelationalTabTreeFormer("trees", privacy="off", verbose=False)
    with pytest.raises(TabTreeFormerError, match=said):
        model.fit(as_texts(), order=order)


def test_the_spacing_of_dates_that_are_texts_is_compared():
    old = as_texts()
    assert evaluate_database(old, old, find_links(old), orders={"orders": "date"}).summary()["spacing"] == 1
