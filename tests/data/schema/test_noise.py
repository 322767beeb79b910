"""Floats in which arithmetic left noise: 0.1 + 0.2 is 0.30000000000000004."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.data.schema import Column, Schema
from tabtreeformer.data.schema.infer import describe
from tabtreeformer.data.schema.values import SINGLE


def prices(decimals=2, n=300):
    r = np.random.default_rng(0)
    return r.gamma(3, 20, n).round(decimals), r.gamma(2, 10, n).round(decimals)


def test_differences_of_decimals_are_read_without_their_noise():
    revenue, cost = prices()
    profit = pd.Series(revenue - cost)
    assert (profit.round(2) != profit).any()
    column = describe(profit, "profit")
    assert column.decimals == 2
    assert (column.read(profit) == profit.round(2)).all()
    assert Column.from_json(column.to_json()) == column


def test_noise_of_32_bits_is_larger_and_is_seen_too():
    revenue, cost = prices(1)
    profit = pd.Series((revenue.astype(np.float32) - cost.astype(np.float32)).astype(float))
    column = describe(profit, "profit")
    assert (column.form, column.decimals) == (SINGLE, 1)
    assert (column.read(profit) == (revenue - cost).round(1)).all()


@pytest.mark.parametrize(
    "values",
    [
        prices()[0],  # no noise
        prices(9)[0] / 7,  # no grid
        np.concatenate([prices()[0], [1e-9]]),  # a small number is no noise
        np.array([0.1 + 0.2, 0.3, 0.7]),  # too few to know
    ],
)
def test_other_numbers_keep_every_digit(values):
    series = pd.Series(values)
    column = describe(series, "x")
    assert column.decimals is None
    assert (column.read(series) == series).all()


def test_new_rows_have_the_decimals_without_noise():
    revenue, cost = prices()
    df = pd.DataFrame({"profit": revenue - cost, "shop": np.random.default_rng(1).choice(["a", "b"], 300)})
    model = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(df, schema=Schema.infer(df))
    profit = model.sample(200, random_state=0)["profit"]
    assert (profit.round(2) == profit).all()
