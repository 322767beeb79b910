import numpy as np
import pandas as pd
import pytest

from tabtreeformer.data.links import Link, check_links, dangling, find_links, order_tables, parent_numbers, parse_link
from tabtreeformer.errors import SchemaError


def test_links_are_found_by_name_type_and_values(tables):
    assert {link.text for link in find_links(tables)} == {
        "orders.customer_id -> customers.id",
        "orders.sku -> products.sku",
        "employees.manager_id -> employees.id",
    }


def test_a_name_alone_is_no_link(tables):
    tables["orders"]["customer_id"] += 1000
    assert "orders.customer_id -> customers.id" not in {link.text for link in find_links(tables)}


@pytest.mark.parametrize("text", ["orders.sku -> products.sku", "orders.(sku, date) -> orders.(sku, date)"])
def test_a_link_is_written_as_it_is_read(tables, text):
    assert parse_link(text, tables).text == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("orders.sku", "cannot read the link"),
        ("order.sku -> products.sku", "there are 'customers'"),
        ("orders.s -> products.sku", "'orders' has"),
        ("orders.(sku, date) -> products.sku", "2 columns on the left and 1 on the right"),
    ],
)
def test_a_link_that_cannot_be_read_says_why(tables, text, message):
    with pytest.raises(SchemaError, match=message):
        parse_link(text, tables)


def test_a_key_that_repeats_has_gaps_or_another_type_is_an_error(tables):
    links = [parse_link("orders.customer_id -> customers.id", tables)]
    repeated = {**tables, "customers": pd.concat([tables["customers"], tables["customers"].head(2)])}
    with pytest.raises(SchemaError, match=r"repeats in 2 rows of 'customers'"):
        check_links(repeated, links)
    gaps = tables["customers"].astype({"id": "float"})
    gaps.loc[3, "id"] = np.nan
    with pytest.raises(SchemaError, match="missing values"):
        check_links({**tables, "customers": gaps}, links)
    texts = tables["customers"].astype({"id": str})
    with pytest.raises(SchemaError, match="holds whole numbers and customers.id text"):
        check_links({**tables, "customers": texts}, links)


def test_keys_that_point_nowhere_are_counted(tables):
    link = parse_link("orders.customer_id -> customers.id", tables)
    tables["orders"].loc[[0, 5], "customer_id"] = 7
    assert dangling(tables, link).sum() == 2


def test_parents_are_found_by_keys_of_several_columns():
    parent = pd.DataFrame({"a": [1, 1, 2], "b": ["x", "y", "x"]})
    child = pd.DataFrame({"p": [2, 1, 1, 3], "q": ["x", "y", None, "x"]})
    link = Link("c", ("p", "q"), "t", ("a", "b"))
    assert parent_numbers(child, parent, link).tolist() == [2, 1, -1, -1]


def test_parents_come_before_children_and_a_cycle_is_named():
    ab, bc, ca = (Link(x, ("k",), y, ("k",)) for x, y in ("ab", "bc", "ca"))
    assert order_tables(["a", "b", "c"], [ab, bc]) == ["c", "b", "a"]
    with pytest.raises(SchemaError, match="in a cycle"):
        order_tables(["a", "b", "c"], [ab, bc, ca])
