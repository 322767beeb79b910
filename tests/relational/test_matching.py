import numpy as np
import pandas as pd
import pytest

from tabtreeformer.relational.matching import fitted_places, match


@pytest.mark.parametrize("n_rows", [3, 10, 57])
def test_places_add_up_and_parents_without_any_stay_without(n_rows):
    places = fitted_places(np.array([0, 4, 1, 5]), n_rows, np.random.default_rng(0))
    assert places.sum() == n_rows
    assert places[0] == 0


def test_every_parent_gets_as_many_rows_as_it_has_places():
    rng = np.random.default_rng(1)
    asked = pd.DataFrame({"c": rng.choice(["x", "y"], 200), "v": rng.normal(size=200)})
    offered = pd.DataFrame({"c": rng.choice(["x", "y"], 20), "v": rng.normal(size=20)})
    places = fitted_places(rng.poisson(10, 20), 200, rng)
    parents = match(asked, offered, places, rng)
    assert np.bincount(parents, minlength=20).tolist() == places.tolist()


def test_rows_get_parents_with_the_features_that_they_ask_for():
    rng = np.random.default_rng(2)
    asked = pd.DataFrame({"c": np.repeat(["x", "y", "z"], 40), "v": np.tile(np.arange(40.0), 3)})
    offered = pd.DataFrame({"c": ["x", "x", "y", "y", "z", "z"], "v": [0.0, 39.0] * 3})
    parents = match(asked, offered, np.full(6, 20), rng)
    assert (offered["c"].to_numpy()[parents] == asked["c"]).all()
    assert ((asked["v"] >= 20) == (offered["v"].to_numpy()[parents] > 20)).all()


def test_rows_of_the_same_group_get_different_parents():
    rng = np.random.default_rng(3)
    apart = np.repeat(np.arange(30), 5)
    asked = pd.DataFrame({"c": ["x"] * 150})
    offered = pd.DataFrame({"c": ["x"] * 10})
    parents = match(asked, offered, np.full(10, 15), rng, apart)
    assert not pd.DataFrame({"a": apart, "p": parents}).duplicated().any()
    assert np.bincount(parents).tolist() == [15] * 10
