import numpy as np
import pandas as pd
import pytest

from tabtreeformer.data.schema import Schema
from tabtreeformer.laws import find_laws

N = 300


def find_constraints(df):
    schema = Schema.infer(df)
    return find_laws(schema.validate(df), schema, floor=1, rng=np.random.default_rng(0)).texts


def rng():
    return np.random.default_rng(0)


def orders(n=N):
    r = rng()
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(r.integers(0, 300, n), unit="D")
    city = r.choice(["Köln", "Ulm", "Bern", "Lyon"], n)
    net = r.lognormal(3, 1, n).round(2)
    tax = (net * r.choice([0.07, 0.19], n)).round(2)
    pieces = r.integers(1, 9, n)
    return pd.DataFrame(
        {
            "start": start,
            "end": start + pd.to_timedelta(r.integers(0, 10, n), unit="D"),
            "city": city,
            "country": pd.Series(city).map({"Köln": "DE", "Ulm": "DE", "Bern": "CH", "Lyon": "FR"}),
            "net": net,
            "tax": tax,
            "gross": (net + tax).round(2),
            "pieces": pieces,
            "all pieces": pieces * (net * 100).astype(int),
        }
    )


def test_orders_totals_and_functions_are_found():
    found = find_constraints(orders())
    assert set(found) >= {"gross = net + tax", "country from city", "end >= start"}
    assert "gross >= net" not in found  # it follows
    assert "city from country" not in found


def test_a_product_is_found_to_the_last_decimal():
    df = orders()[["net", "pieces"]].assign(total=lambda d: (d["net"] * d["pieces"]).round(2))
    assert find_constraints(df) == ("total = net * pieces",)


def test_a_chain_is_listed_link_by_link():
    df = orders()[["start", "end"]].assign(paid=lambda d: d["end"] + pd.to_timedelta(rng().integers(0, 9, N), unit="D"))
    found = set(find_constraints(df))
    assert {"end >= start", "paid >= end"} <= found
    assert "paid >= start" not in found


def test_columns_that_are_the_same_are_found():
    df = orders()[["net", "tax"]].assign(copy=lambda d: d["net"])
    assert "copy = net" in find_constraints(df)


def test_two_names_for_one_thing_are_a_function_one_way_only():
    df = orders()[["city"]].assign(code=lambda d: d["city"].map({"Köln": 1, "Ulm": 2, "Bern": 3, "Lyon": 4}))
    assert find_constraints(df) in (("code from city",), ("city from code",))


def test_relations_hold_where_both_values_are_there():
    df = orders().mask(rng().random((N, 9)) < 0.1)
    found = find_constraints(df)
    assert {"gross = net + tax", "end >= start"} <= set(found)
    assert "country from city" not in found  # a city without its country is not one with it


@pytest.mark.parametrize("n", [5, 20, 49])
def test_few_rows_prove_nothing(n):
    assert find_constraints(orders(n)) == ()


@pytest.mark.parametrize("seed", range(5))
def test_independent_columns_have_no_relations(seed):
    r = np.random.default_rng(seed)
    df = pd.DataFrame({f"n{i}": r.normal(size=120).round(1) for i in range(6)})
    df = df.assign(**{f"c{i}": r.choice(list("abcdefgh"), 120) for i in range(4)})
    df = df.assign(**{f"k{i}": r.integers(0, 4, 120) for i in range(4)}, flag=r.random(120) < 0.02)
    df["far"] = df["n0"] + 100  # never below any other, and no relation
    assert find_constraints(df.assign(far=df["far"].sample(frac=1, random_state=seed).to_numpy())) == ()


def test_a_value_that_few_rows_have_proves_no_function():
    r = rng()
    df = pd.DataFrame({f"p{i}": np.where(r.random(1500) < 0.001, 1, 0) for i in range(8)}).assign(
        k=r.integers(0, 400, 1500)
    )
    assert find_constraints(df) == ()


def test_many_columns_take_seconds_not_minutes():
    r = rng()
    df = pd.DataFrame(r.normal(size=(400, 70)).round(3)).rename(columns=lambda i: f"s{i}")
    df["total"] = (df["s3"] + df["s60"]).round(3)
    assert find_constraints(df) == ("total = s3 + s60",)
