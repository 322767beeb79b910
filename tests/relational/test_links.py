import numpy as np
import pandas as pd
import pytest

from tabtreeformer.data.link_search import find_links, search_links
from tabtreeformer.data.links import Link, check_links, dangling, order_tables, parent_numbers, parse_link
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


@pytest.mark.parametrize(
    ("column", "link"),
    [
        ("manager_no", "staff.manager_no -> staff.emp_no"),
        ("reports_to", "staff.reports_to -> staff.emp_no"),
        ("originalEmpNo", "staff.originalEmpNo -> staff.emp_no"),
        ("parent", None),
        ("salary_no", None),
    ],
)
def test_a_column_that_points_to_its_own_table_is_found_by_its_name(column, link):
    staff = pd.DataFrame({"emp_no": range(10, 40), column: [np.nan, *np.repeat([10, 11, 12], 10)[1:]]})
    assert [found.text for found in find_links({"staff": staff})] == ([] if link is None else [link])
    assert find_links({"staff": staff.assign(**{column: staff["emp_no"]})}) == []  # itself, in every row


def test_the_end_of_a_name_says_where_a_column_points():
    teams = pd.DataFrame({"id": range(5), "city": list("abcde")})
    games = pd.DataFrame({"home_team_id": [0, 1, 2], "guest_team_id": [3, 4, 0], "valid": [1, 2, 3]})
    games["host_city"] = ["a", "b", "c"]
    found = {link.text for link in find_links({"teams": teams, "games": games})}
    assert found == {"games.home_team_id -> teams.id", "games.guest_team_id -> teams.id"}


def test_tables_with_the_same_key_point_to_the_one_that_it_is_named_after():
    film = pd.DataFrame({"film_id": range(9), "title": list("abcdefghi")})
    facts = pd.DataFrame({"film_id": range(9), "length": 90})
    actors = pd.DataFrame({"film_id": [1, 1, 4], "actor": ["x", "y", "x"]})
    tables = {"film_facts": facts, "film": film, "film_actor": actors}
    found = [link.text for link in find_links(tables)]
    assert found == ["film_facts.film_id -> film.film_id", "film_actor.film_id -> film.film_id"]
    assert order_tables(list(tables), find_links(tables))[0] == "film"


def test_a_link_by_the_end_of_a_name_is_left_out_where_it_would_make_a_cycle():
    staff = pd.DataFrame({"staff_id": [1, 2, 3], "store_id": [1, 1, 2]})
    store = pd.DataFrame({"store_id": [1, 2], "manager_staff_id": [1, 3]})
    search = search_links({"store": store, "staff": staff})
    assert [link.text for link in search.links] == ["staff.store_id -> store.store_id"]
    assert [link.text for link in search.left_out] == ["store.manager_staff_id -> staff.staff_id"]


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
