"""Tables that are kept as they are."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import RelationalTabTreeFormer
from tabtreeformer.data.link_search import find_links
from tabtreeformer.errors import ConfigError, SchemaError
from tabtreeformer.evaluation.databases import broken_keys
from tabtreeformer.relational.kept import keep_table, scaled

SETTINGS = {"preset": "trees", "privacy": "off", "random_state": 0, "verbose": False}
N = 120
"""Customers."""


def regions(seed: int = 0) -> dict[str, pd.DataFrame]:
    """Ten regions, the customers of each, and their orders; region R9 has a single customer."""
    rng = np.random.default_rng(seed)
    region = pd.DataFrame(
        {
            "code": [f"R{i}" for i in range(10)],
            "capital": [f"city {i}" for i in range(10)],
            "founded": pd.date_range("1900-03-01", periods=10, freq="YS"),
            "area": [None, *np.arange(1.0, 10.0)],
            "coast": [i % 2 == 0 for i in range(10)],
        }
    )
    home = np.append(rng.choice(region["code"][:9], N - 1, p=np.arange(1, 10) / 45), "R9")
    customers = pd.DataFrame({"id": range(N), "region_code": home, "age": rng.integers(18, 80, N)})
    orders = pd.DataFrame({"customer_id": np.sort(rng.integers(0, N, 2 * N)), "amount": rng.integers(1, 50, 2 * N)})
    return {"region": region, "customers": customers, "orders": orders}


@pytest.fixture(scope="module")
def fitted():
    return RelationalTabTreeFormer(keep=["region"], **SETTINGS).fit(regions())


@pytest.mark.parametrize("scale", [0.2, 1.0, 2.5])
def test_every_row_is_there_with_its_key_and_children_grow_with_the_database(fitted, scale):
    tables = regions()
    new = fitted.sample(scale=scale, random_state=1)
    pd.testing.assert_frame_equal(new["region"], tables["region"])
    assert len(new["customers"]) == pytest.approx(scale * N, abs=1)
    assert broken_keys(new, find_links(tables)) == 0
    real = tables["customers"]["region_code"].value_counts(normalize=True)
    drawn = new["customers"]["region_code"].value_counts(normalize=True).reindex(real.index, fill_value=0)
    assert (real - drawn)[real > 0.1].abs().max() < 1.2 / (scale * N)


def test_rows_that_are_kept_may_be_given_by_their_keys(fitted):
    some = regions()["region"].iloc[[3, 5]]
    new = fitted.sample(given={"region": some}, random_state=1)
    assert set(new["customers"]["region_code"]) == {"R3", "R5"}
    with pytest.raises(SchemaError, match="has no row with the key"):
        fitted.sample(given={"region": some.assign(code="R77")})


def test_a_file_keeps_them(fitted, tmp_path):
    fitted.save(tmp_path / "m.tabtree")
    again = RelationalTabTreeFormer.load(tmp_path / "m.tabtree", verbose=False)
    new, before = again.sample(random_state=2), fitted.sample(random_state=2)
    for name in before:
        pd.testing.assert_frame_equal(new[name], before[name])


def test_children_of_few_units_are_not_told_from_those_of_others():
    facts = pd.DataFrame({"n": [1, 2, 3, 4, 4, 400], "typical": [99.0, 1.0, 2.0, 3.0, 4.0, 5.0]})
    support = facts["n"].to_numpy()
    kept = keep_table(pd.DataFrame(index=range(6)), facts, {"n": support, "typical": support}, 5)
    assert kept.facts["typical"].iloc[:5].nunique() == 1
    assert kept.facts["n"].iloc[:5].eq(2.8).all()
    assert kept.facts["n"].iloc[5] == 400
    open_facts = keep_table(pd.DataFrame(index=range(6)), facts, {"n": support, "typical": support}, 0).facts
    assert open_facts["n"].tolist() == facts["n"].tolist()


def test_numbers_of_children_keep_their_sum():
    counts = pd.Series([3, 0, 5, 1])
    assert scaled(counts, 1.0, np.random.default_rng(0)).tolist() == [3, 0, 5, 1]
    assert scaled(counts, 1 / 3, np.random.default_rng(0)).sum() in (2, 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep": "region"}, "keep takes a list"),
        ({"keep": ["regions"]}, "keep names a table 'regions'"),
        ({"keep": ["orders"]}, "has the parent 'customers'"),
        ({"keep": ["region"], "unit": "region"}, "are protected"),
    ],
)
def test_what_cannot_be_kept_is_named(settings, message):
    with pytest.raises(ConfigError, match=message):
        RelationalTabTreeFormer(**SETTINGS, **settings).fit(regions())


def test_a_kept_table_takes_no_size_and_no_conditions(fitted):
    with pytest.raises(ConfigError, match="kept unchanged"):
        fitted.sample({"region": 3})
    with pytest.raises(ConfigError, match="give scale"):
        fitted.sample(7)
    with pytest.raises(ConfigError, match="takes no conditions"):
        fitted.sample(given={"region.capital": "city 1"})


def test_a_small_parent_table_hints_at_it(capsys):
    RelationalTabTreeFormer(**{**SETTINGS, "verbose": True}).fit(regions())
    assert "keep=['region']" in capsys.readouterr().err
