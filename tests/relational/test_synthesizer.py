import numpy as np
import pandas as pd
import pytest
from benchmarks.random_databases import random_database, wrong_in
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tabtreeformer.data.link_search import find_links
from tabtreeformer.errors import ArchiveError, ConfigError, NotFittedError, SchemaError
from tabtreeformer.evaluation.databases import broken_keys
from tabtreeformer.relational import RelationalTabTreeFormer


@pytest.fixture(scope="module")
def fitted():
    from .conftest import TINY, shop

    return RelationalTabTreeFormer(**TINY).fit(shop())


def check(new, tables, links=None):
    """Same columns, order and dtypes; keys that match."""
    for name, table in tables.items():
        assert list(new[name].columns) == list(table.columns)
        assert (new[name].dtypes == table.dtypes).all(), name
    assert broken_keys(new, links or find_links(tables)) == 0


def test_new_tables_have_the_same_columns_and_dtypes_and_keys_that_match(fitted, tables):
    new = fitted.sample(random_state=1)
    check(new, tables)
    assert len(new["customers"]) == len(tables["customers"])
    assert new["orders"]["order_no"].is_unique


def test_no_key_of_a_real_row_is_written(fitted, tables):
    new = fitted.sample(random_state=1)
    assert not set(new["customers"]["id"]) & set(tables["customers"]["id"])
    assert not set(new["orders"]["order_no"]) & set(tables["orders"]["order_no"])


def test_rows_of_a_parent_are_in_the_order_that_was_found(fitted):
    assert fitted.tables_["orders"].plan.order == "date"
    orders = fitted.sample(random_state=2)["orders"]
    assert orders.groupby("customer_id")["date"].apply(lambda values: values.is_monotonic_increasing).all()


def test_nobody_is_his_own_manager_nor_manages_in_a_circle(fitted):
    employees = fitted.sample({"employees": 40}, random_state=3)["employees"]
    boss = dict(zip(employees["id"], employees["manager_id"], strict=True))
    for person in boss:
        seen = set()
        while not np.isnan(boss[person]):
            assert person not in seen
            seen.add(person)
            person = boss[person]


def test_the_same_seed_gives_the_same_tables(fitted):
    first, second, other = (fitted.sample(random_state=seed) for seed in (5, 5, 6))
    pd.testing.assert_frame_equal(first["orders"], second["orders"])
    assert not first["orders"].equals(other["orders"])


def test_scale_and_numbers_of_rows_are_kept(fitted, tables):
    assert len(fitted.sample(scale=0.5)["customers"]) == round(len(tables["customers"]) * 0.5)
    assert len(fitted.sample({"customers": 17})["customers"]) == 17
    with pytest.raises(ConfigError, match="not for 'orders'"):
        fitted.sample({"orders": 5})


def test_conditions_hold_in_parents_and_children(fitted):
    new = fitted.sample(given={"customers.country": "FR", "orders.gift": True}, random_state=0)
    assert (new["customers"]["country"] == "FR").all()
    assert new["orders"]["gift"].all()
    with pytest.raises(ConfigError, match="no learned column"):
        fitted.sample(given={"orders.nothing": 1})


def test_children_are_written_for_parents_that_are_given(fitted, tables):
    own = tables["customers"].head(5)
    new = fitted.sample(given={"customers": own}, random_state=0)
    pd.testing.assert_frame_equal(new["customers"], own)
    assert set(new["orders"]["customer_id"]) <= set(own["id"])


def test_a_saved_database_writes_the_same_tables(fitted, tmp_path, tables):
    fitted.save(tmp_path / "shop.tabtree")
    loaded = RelationalTabTreeFormer.load(tmp_path / "shop.tabtree", verbose=False)
    expected, found = fitted.sample(random_state=9), loaded.sample(random_state=9)
    for name in tables:
        pd.testing.assert_frame_equal(found[name], expected[name])


def test_a_damaged_file_is_refused(fitted, tmp_path):
    path = tmp_path / "shop.tabtree"
    fitted.save(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ArchiveError):
        RelationalTabTreeFormer.load(path)


def test_one_table_with_groups_comes_back_as_one_table(tiny):
    rng = np.random.default_rng(0)
    n = 40
    size = rng.integers(1, 5, n)
    frame = pd.DataFrame(
        {
            "patient": np.repeat(np.arange(n), size),
            "day": pd.Timestamp("2023-05-01") + pd.to_timedelta(rng.integers(0, 400, size.sum()), unit="D"),
            "sex": np.repeat(rng.choice(["f", "m"], n), size),
            "pressure": rng.normal(120, 10, size.sum()).round(),
        }
    )
    new = RelationalTabTreeFormer(**tiny).fit(frame, group="patient", order="day").sample(30, random_state=1)
    assert list(new.columns) == list(frame.columns)
    assert (new.dtypes == frame.dtypes).all()
    assert (new.groupby("patient")["sex"].nunique() == 1).all()
    assert new.groupby("patient")["day"].apply(lambda values: values.is_monotonic_increasing).all()
    assert new["patient"].nunique() <= 30


def test_dangling_keys_are_an_error_or_missing_if_asked(tables, tiny):
    tables = {name: tables[name] for name in ("customers", "orders")}
    tables["orders"].loc[[0, 1, 2], "customer_id"] = 7
    link = ["orders.customer_id -> customers.id"]
    with pytest.raises(SchemaError, match="3 rows of 'orders' have a key without a matching row, e.g. \\[7\\]"):
        RelationalTabTreeFormer(**tiny).fit(tables, link)
    new = RelationalTabTreeFormer(dangling="missing", **tiny).fit(tables, link).sample(random_state=0)
    assert new["orders"]["customer_id"].isna().any()


@pytest.mark.parametrize(
    ("tables", "message"),
    [({}, "no tables"), ({"a": pd.DataFrame({"x": []})}, "no rows"), ({"a": 3}, "must be a DataFrame")],
)
def test_what_cannot_be_learned_is_refused(tables, message, tiny):
    with pytest.raises((ConfigError, SchemaError), match=message):
        RelationalTabTreeFormer(**tiny).fit(tables, [])


def test_sampling_before_fitting_is_an_error(tiny):
    with pytest.raises(NotFittedError):
        RelationalTabTreeFormer(**tiny).sample()


@pytest.mark.parametrize("seed", [8, 15, 20, 32, 52, 93, 120, 143, 215, 500, 501, 502])
def test_keys_match_in_any_database(seed):
    assert wrong_in(seed)[1] == ""


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10_000))
def test_networks_write_keys_that_match_in_any_database(seed):
    from .conftest import TINY

    assert wrong_in(seed, **TINY)[1] == ""


def test_the_check_of_random_databases_sees_what_is_wrong(monkeypatch):
    def sample(self, **_):
        return {name: table.iloc[:0] for name, table in random_database(502)[0].items()}

    monkeypatch.setattr(RelationalTabTreeFormer, "sample", sample)
    assert wrong_in(502)[1] == ""  # empty tables have no broken key
    broken = {name: pd.concat([table, table]) for name, table in random_database(500)[0].items()}
    monkeypatch.setattr(RelationalTabTreeFormer, "sample", lambda self, **_: broken)
    assert "broken keys" in wrong_in(500)[1]


@pytest.mark.long
def test_keys_match_in_ten_thousand_databases(tmp_path):
    """`python -m benchmarks.random_databases` counts them in a file, and goes on where that ends."""
    assert [seed for seed in range(10_000) if wrong_in(seed)[1]] == []


def test_a_table_of_one_row_is_written_with_one_row_and_that_is_said(tables, capsys):
    tables = {"customers": tables["customers"].assign(shop=1), "shops": pd.DataFrame({"id": [1], "city": ["Ulm"]})}
    model = RelationalTabTreeFormer("trees", privacy="off", random_state=0).fit(tables, ["customers.shop -> shops.id"])
    assert "table shops: its only row is constant, and is written unchanged" in capsys.readouterr().err
    new = model.sample(random_state=0)
    check(new, tables, list(model.links_))
    assert new["shops"]["city"].tolist() == ["Ulm"]


def test_a_table_most_of_whose_rows_have_no_parent_keeps_its_size(tables):
    orders = tables["orders"].assign(customer_id=tables["orders"]["customer_id"].where(tables["orders"].index < 4))
    pair = {"customers": tables["customers"], "orders": orders}
    model = RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False)
    model.fit(pair, ["orders.customer_id -> customers.id"])
    for seed in range(3):
        assert abs(len(model.sample(random_state=seed)["orders"]) - len(orders)) < 10
    assert len(model.sample(scale=2.0, random_state=0)["orders"]) > 1.8 * len(orders)


def with_change(tables, name, **columns):
    return {**tables, name: tables[name].assign(**columns)}


@pytest.mark.parametrize(
    ("change", "link", "message"),
    [
        (lambda t: with_change(t, "customers", id=7), "customer_id -> customers.id", "the key repeats in 59 rows"),
        (lambda t: with_change(t, "orders", customer_id="x"), "customer_id -> customers.id", "customer_id holds text"),
        (lambda t: t, "client -> customers.id", "names a column 'client'"),
        (lambda t: t, "customer_id -> clients.id", "names a table 'clients'"),
        (lambda t: {**t, "orders": t["orders"].iloc[:0]}, "customer_id -> customers.id", "'orders' has no rows"),
        (
            lambda t: {**t, "customers": t["customers"].iloc[:0]},
            "customer_id -> customers.id",
            "'customers' has no rows",
        ),
    ],
)
def test_bad_links_and_tables_are_named(tables, tiny, change, link, message):
    wrong = change({name: tables[name] for name in ("customers", "orders")})
    with pytest.raises(SchemaError, match=message):
        RelationalTabTreeFormer(**tiny).fit(wrong, [f"orders.{link}"])


def test_keys_of_different_types_are_named(tables, tiny):
    wrong = with_change(tables, "orders", customer_id=tables["orders"]["customer_id"].astype(str))
    with pytest.raises(SchemaError, match="holds text and customers.id whole numbers"):
        RelationalTabTreeFormer(**tiny).fit(wrong, ["orders.customer_id -> customers.id"])


def test_one_parent_may_have_all_rows(tables):
    orders = tables["orders"].assign(customer_id=tables["customers"]["id"].iloc[0])
    pair = {"customers": tables["customers"], "orders": orders}
    model = RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False)
    new = model.fit(pair, ["orders.customer_id -> customers.id"]).sample(random_state=0)
    check(new, pair, list(model.links_))
