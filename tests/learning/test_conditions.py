"""Conditions are answered by what was learned: frequencies under any condition are those of the table.

The table has three columns and a joint that is no product of its parts. Two things stand between its frequencies and
those of rows: chance (a share p of 1,000 rows strays by at most 0.016 once in three) and what training leaves to be
learned. A model that ignored its conditions would be off by 0.4 in many places.
"""

import itertools

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer

COLUMNS = ["first", "middle", "last"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    first = rng.choice(["a", "b"], 1600, p=[0.35, 0.65])
    middle = np.where(rng.random(1600) < np.where(first == "a", 0.8, 0.3), "u", "v")
    same = (first == "a") == (middle == "u")
    last = np.where(rng.random(1600) < 0.85, np.where(same, "x", "y"), "z")
    return pd.DataFrame({"first": first, "middle": middle, "last": last})


@pytest.fixture(scope="module")
def model(table):
    train = {"steps": 300, "batch_size": 128, "validate_every": 50}
    settings = {"constraints": None, "privacy": "off", "random_state": 0, "verbose": False}
    return TabTreeFormer(target="last", train=train, **settings).fit(table)


def by_conditions(model, condition):
    return model.sample(1000, given=condition, random_state=0)


def by_partial_rows(model, condition):
    return model.sample(1000, given=pd.DataFrame([condition] * 1000), random_state=0)


@pytest.mark.parametrize("ask", [by_conditions, by_partial_rows])
def test_every_single_and_pair_condition_in_every_place(table, model, ask):
    """With blank prompts, which agree with everything, the differences were 0.12 on average and 0.58 at worst."""
    found = {}
    for given in [*itertools.combinations(COLUMNS, 1), *itertools.combinations(COLUMNS, 2)]:
        for values, part in table.groupby(list(given)):
            if len(part) < 40:  # too few to know the truth
                continue
            condition = dict(zip(given, values, strict=True))
            rows = ask(model, condition)
            for other in set(COLUMNS) - set(given):
                real, new = (frame[other].value_counts(normalize=True) for frame in (part, rows))
                found[(*condition.items(), other)] = real.sub(new, fill_value=0).abs().max()
    assert len(found) >= 20
    assert np.mean(list(found.values())) < 0.05, found
    assert max(found.values()) < 0.15, found


def test_balanced_classes_are_each_like_their_own(table, model):
    rows = model.sample(2000, balance="first", random_state=0)
    for value, part in rows.groupby("first"):
        for other in ("middle", "last"):
            real, new = (f[other].value_counts(normalize=True) for f in (table[table["first"] == value], part))
            assert real.sub(new, fill_value=0).abs().max() < 0.15, (value, other)


def test_a_column_is_predicted_from_any_of_the_others(table, model):
    for given in (["first"], ["last"], ["first", "last"]):
        for values, part in table.groupby(given):
            if len(part) >= 40:
                row = pd.DataFrame([dict(zip(given, values, strict=True))])
                chances = model.predict_proba(row, target="middle").iloc[0]
                real = part["middle"].value_counts(normalize=True)
                assert real.sub(chances, fill_value=0).abs().max() < 0.15, (given, values)


def test_orders_agree_on_how_likely_rows_are(table, model):
    """The chain rule holds in each order by itself; that all orders tell the same is learned, and only so far."""
    orders = list(itertools.permutations(COLUMNS))
    logs = np.array([model.log_prob(table, order=order) for order in orders])  # (6, N)
    assert np.abs(logs - logs.mean(0)).mean() < 0.25  # 0.17 when this was written
