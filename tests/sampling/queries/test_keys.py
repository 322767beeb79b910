"""Keys go on from call to call when asked, whatever the seeds of the calls."""

import uuid

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tabtreeformer import ConditionError, ConfigError, Schema, TabTreeFormer, read_table
from tabtreeformer.cli import app

N = 60


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    df = pd.DataFrame(
        {
            "order_id": np.arange(100, 100 + N),
            "token": [str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in range(N)],
            "code": [f"K-{k:04d}" for k in rng.permutation(N)],
            "x": rng.normal(size=N),
        }
    )
    return TabTreeFormer("trees", random_state=0, verbose=False).fit(df)


def test_keys_of_several_calls_are_all_different(model):
    calls = [model.sample(50, random_state=seed, start_keys=50 * seed) for seed in range(3)]
    for name in ("order_id", "token", "code"):
        assert pd.concat(calls)[name].is_unique, name
    assert calls[1]["order_id"].min() == calls[0]["order_id"].max() + 1
    again = pd.concat([model.sample(5, random_state=seed) for seed in range(2)])
    assert not again["order_id"].is_unique  # unless asked, each call starts anew


def test_parts_of_a_stream_go_on_too(model, tmp_path):
    model.sample_to(tmp_path / "new.csv", 30, random_state=1, start_keys=1000)
    whole = model.sample(30, random_state=1, start_keys=1000)
    assert pd.read_csv(tmp_path / "new.csv")["order_id"].tolist() == whole["order_id"].tolist()


def test_the_number_of_rows_before_is_a_whole_one(model):
    with pytest.raises(ConfigError, match="start_keys must be a whole number of at least 0"):
        model.sample(5, start_keys=-1)


@pytest.fixture(scope="module")
def orders():
    """A model of orders: each has a number of its own, and customers have one, two or three."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 4, 300)
    owners = np.repeat(rng.permutation(90_000)[:300] + 10_000, sizes)
    n = len(owners)
    df = pd.DataFrame({"order_id": np.arange(n) + 1, "customer_id": owners, "amount": rng.gamma(2, 10, n).round(2)})
    schema = Schema.infer(df).with_kind("customer_id", "identifier")
    return TabTreeFormer("trees", random_state=0, privacy="off", verbose=False).fit(df, schema=schema)


def test_rows_are_of_the_customers_that_are_asked_for(orders, tmp_path):
    mine = [7, 8, 9, 15]
    free, rows = orders.sample(200, random_state=1), orders.sample(200, random_state=1, keys={"customer_id": mine})
    assert set(rows["customer_id"]) == set(mine)
    assert rows["customer_id"].dtype == free["customer_id"].dtype
    assert rows.drop(columns="customer_id").equals(free.drop(columns="customer_id"))
    assert (rows.groupby(free["customer_id"])["customer_id"].nunique() == 1).all()  # shared before, shared after
    orders.sample_to(tmp_path / "new.csv", 200, random_state=1, keys={"customer_id": mine}, workers=2)
    assert read_table(tmp_path / "new.csv")["customer_id"].tolist() == rows["customer_id"].tolist()


def test_keys_of_one_row_each_are_taken_in_order(orders):
    numbers = list(range(900, 950))
    assert orders.sample(30, random_state=1, keys={"order_id": numbers})["order_id"].tolist() == numbers[:30]


@pytest.mark.parametrize(
    ("keys", "error"),
    [
        ({"order_id": [1, 2]}, "5 rows need as many keys"),
        ({"order_id": [1, 1, 2, 3, 4]}, "given twice"),
        ({"customer_id": []}, "5 rows need as many keys"),
        ({"customer_id": ["a"]}, "do not fit its dtype int64"),
        ({"amount": [1.0]}, "not a key: its values are learned"),
    ],
)
def test_keys_that_cannot_be_taken_are_an_error(orders, keys, error):
    with pytest.raises(ConditionError, match=error):
        orders.sample(5, keys=keys)


def test_keys_come_from_a_table_on_the_command_line(orders, tmp_path):
    orders.save(tmp_path / "m.tabtree")
    pd.DataFrame({"customer_id": [3, 4, 4], "town": "Ulm"}).to_csv(tmp_path / "customers.csv", index=False)
    words = ["sample", str(tmp_path / "m.tabtree"), "-n", "20", "-o", str(tmp_path / "new.csv"), "--quiet"]
    result = CliRunner().invoke(app, [*words, "--keys", f"customer_id={tmp_path / 'customers.csv'}"])
    assert result.exit_code == 0, result.output
    assert set(read_table(tmp_path / "new.csv")["customer_id"]) == {3, 4}
