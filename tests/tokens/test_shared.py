"""What all rows of a key have in common is written once per key."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.tokens import TableCodec


def orders(n=1500, seed=0):
    """Lines of orders: an order has a time, a customer's sex and a first name that says it; each line has a pizza."""
    rng = np.random.default_rng(seed)
    order = np.sort(rng.integers(0, n * 3 // 4, n))
    time = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 500_000, n), unit="min")
    name = rng.choice(["ann", "bea", "cid", "dan"], n)
    return pd.DataFrame(
        {
            "order_id": 20_000 + order,
            "time": time[order],
            "name": name[order],
            "sex": np.where(np.isin(name, ["ann", "bea"]), "f", "m")[order],
            "pizza": rng.choice(["margherita", "funghi", "hawaii"], n),
            "price": rng.integers(900, 2000, n) / 100,
        }
    )


def differing(rows, name):
    """Keys whose rows differ in a column."""
    return int((rows.groupby("order_id")[name].nunique(dropna=False) > 1).sum())


@pytest.fixture(scope="module")
def model():
    return TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(orders())


def test_rows_of_one_order_have_one_time_and_one_customer(model):
    rows = model.sample(1500, random_state=0)
    assert rows["order_id"].duplicated().sum() > 200
    assert [differing(rows, name) for name in ("time", "name", "sex")] == [0, 0, 0]
    assert differing(rows, "pizza") > 50
    assert differing(rows, "price") > 100
    assert set(zip(rows["name"], rows["sex"], strict=True)) == {("ann", "f"), ("bea", "f"), ("cid", "m"), ("dan", "m")}


def test_conditions_hold_and_rows_of_an_order_still_agree(model):
    rows = model.sample(400, given={"sex": "f", "pizza": "funghi"}, random_state=0)
    assert set(rows["sex"]) == {"f"}
    assert set(rows["pizza"]) == {"funghi"}
    assert differing(rows, "time") == 0


def test_it_is_said_and_comes_back_from_a_file(model):
    codec = model.fitted_.codec
    assert any("rows that share 'order_id' have the same 'time', 'name'" in note for note in codec.notes)
    of_a_law = replace(codec, shared=("time", "time is start"))
    assert any(note.endswith("rows that share 'order_id' have the same 'time'") for note in of_a_law.notes)
    assert TableCodec.from_json(codec.to_json(), codec.schema).shared == codec.shared
    with pytest.raises(ValueError, match="share a column that there is not"):
        TableCodec.from_json(codec.to_json() | {"shared": ["pie"]}, codec.schema)


def test_filled_gaps_belong_to_their_own_row(model):
    given = orders(60, seed=1).assign(sex=None, pizza=None)
    filled = model.impute(given, random_state=0)
    assert (filled["time"] == given["time"]).all()
    assert set(filled["sex"]) == {"f", "m"}


def test_what_rows_of_a_key_do_not_have_in_common_stays_as_drawn():
    df = orders().assign(order_id=lambda d: np.random.default_rng(1).permutation(d["order_id"]))
    model = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(df)
    assert model.fitted_.codec.shared == ()
