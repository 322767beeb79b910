"""Laws, limits, numbers of children and gaps, on the shop of the examples."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import RelationalTabTreeFormer, evaluate_database
from tabtreeformer.errors import ConfigError, SchemaError, TabTreeFormerError
from tabtreeformer.tokens.conditions import between, ge

from .conftest import TINY

ROOT = Path(__file__).parents[2]


def example_shop(n: int, seed: int = 0) -> dict[str, pd.DataFrame]:
    spec = importlib.util.spec_from_file_location("shop", ROOT / "examples" / "shop.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make(n, seed)


@pytest.fixture(scope="module")
def shop():
    return example_shop(400)


@pytest.fixture(scope="module")
def model(shop):
    return RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(shop)


def test_laws_of_a_child_table_hold_in_every_new_row(model, shop):
    orders = model.sample(random_state=1)["orders"]
    assert list(orders.columns) == list(shop["orders"].columns)
    assert np.allclose(orders["net"] + orders["tax"], orders["total"], atol=0.005)


def test_no_event_is_before_its_cause_nor_after_the_end(model):
    texts = {bound.text for bound in model.tables_["orders"].bounds}
    assert texts == {"date >= customers.signed_up", "date <= customers.left"}
    new = model.sample(random_state=2)
    both = new["orders"].merge(new["customers"], left_on="customer_id", right_on="id")
    assert not (both["date"] < both["signed_up"]).any()
    assert not (both["date"] > both["left"]).any()
    assert both["left"].notna().sum() > 20


@pytest.mark.parametrize("preset", ["trees", "auto"])
def test_lists_and_ranges_hold_in_the_rows_of_children(preset, model):
    scale = 0.5
    if preset == "auto":
        model, scale = RelationalTabTreeFormer(**TINY).fit(example_shop(150)), 1.2
    asked = {
        "customers.country": ["DE", "FR"],
        "customers.age": (30, 50),
        "orders.paid_by": ["card", "cash"],
        "orders.net": between(10, 40),
        "lines.pieces": ge(2),
    }
    new = model.sample(given=asked, scale=scale, random_state=0)
    assert set(new["customers"]["country"]) == {"DE", "FR"}
    assert new["customers"]["age"].between(30, 50).all()
    assert set(new["orders"]["paid_by"]) == {"card", "cash"}
    assert new["orders"]["net"].between(10, 40).all()
    assert (new["lines"]["pieces"] >= 2).all()
    assert len(new["orders"]) > 100
    assert np.allclose(new["orders"]["net"] + new["orders"]["tax"], new["orders"]["total"], atol=0.005)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"orders.total": ge(5)}, "it is computed \\(total = net \\+ tax"),
        ({"orders.date": ge("2023-01-01")}, "orders the rows of its table"),
        ({"orders.paid_by": ["shells"]}, "shells"),
        ({"orders.net": (50, 10)}, "50"),
    ],
)
def test_conditions_that_cannot_be_met_are_named(model, asked, message):
    with pytest.raises(TabTreeFormerError, match=message):
        model.sample(given=asked)


def test_laws_and_limits_are_kept_by_a_file(model, tmp_path):
    model.save(tmp_path / "shop.tabtree")
    again = RelationalTabTreeFormer.load(tmp_path / "shop.tabtree", verbose=False)
    new, read = model.sample(random_state=3), again.sample(random_state=3)
    for name, table in new.items():
        pd.testing.assert_frame_equal(read[name], table)


def test_the_number_of_children_can_be_given(model):
    new = model.sample({"customers": 15}, children={"orders": 3, "lines": 2}, random_state=4)
    assert (new["orders"].groupby("customer_id").size() == 3).all()
    assert len(new["orders"]) == 45
    assert len(new["lines"]) == 90
    mixed = model.sample({"customers": 3}, children={"orders": [0, 1, 5]}, random_state=4)
    sizes = mixed["orders"].groupby("customer_id").size().reindex(mixed["customers"]["id"], fill_value=0)
    assert sizes.tolist() == [0, 1, 5]
    for wrong, message in (({"products": 2}, "tables with parents"), ({"orders": -1}, "whole number")):
        with pytest.raises(ConfigError, match=message):
            model.sample(children=wrong)
    with pytest.raises(ConfigError, match="2 numbers of children were given for 3 rows"):
        model.sample({"customers": 3}, children={"orders": [1, 2]})


def test_gaps_of_a_child_row_are_filled_given_its_parent_and_the_rest_stays(model, shop):
    gappy = {name: table.copy() for name, table in shop.items()}
    holes = np.arange(len(shop["orders"])) % 5 == 0
    gappy["orders"].loc[holes, "paid_by"] = None
    gappy["customers"].loc[::9, "country"] = None
    whole = model.impute(gappy, random_state=0)
    assert whole["orders"]["paid_by"].notna().all()
    assert whole["customers"]["country"].isin(["DE", "FR", "IT", "PL"]).all()
    pd.testing.assert_frame_equal(whole["orders"][~holes], shop["orders"][~holes])
    pd.testing.assert_frame_equal(whole["lines"], shop["lines"])
    gappy["orders"].loc[3, "date"] = pd.NaT
    with pytest.raises(SchemaError, match="orders its rows"):
        model.impute(gappy)


def test_sequences_keep_lengths_spacing_order_and_drift():
    rng = np.random.default_rng(0)
    n = 300
    counts = rng.integers(2, 9, n)
    who = np.repeat(np.arange(n), counts)
    place = pd.Series(who).groupby(who).cumcount().to_numpy()
    day = rng.integers(0, 200, n)[who] + 7 * place
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 10_000, n), unit="D")
    died = pd.Timestamp("2024-01-01") + pd.to_timedelta(day + 30, unit="D")
    frame = pd.DataFrame(
        {
            "patient": who,
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)][who],
            "born": born[who],
            "died": pd.Series(died).groupby(who).transform("max").where(who % 3 == 0),
            "visit": pd.Timestamp("2024-01-01") + pd.to_timedelta(day, unit="D"),
            "weight": np.round(rng.normal(80, 10, n)[who] - 1.5 * place + rng.normal(0, 0.5, len(who)), 1),
        }
    )
    model = RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False)
    new = model.fit(frame, group="patient", order="visit").sample(random_state=0)
    groups = new.groupby("patient")
    assert (groups[["sex", "born", "died"]].nunique(dropna=False) == 1).all(axis=None)
    assert groups["visit"].apply(lambda days: days.is_monotonic_increasing).all()
    assert not (new["visit"] > new["died"]).any()
    assert (new["visit"].diff().dt.days[new["patient"].duplicated()] == 7).mean() > 0.95  # equal spacing
    drift = new["weight"].diff()[new["patient"].duplicated()].mean()
    assert drift == pytest.approx(-1.5, abs=0.7)
    assert groups.size().mean() == pytest.approx(counts.mean(), rel=0.1)
    gappy = frame.copy()
    gappy.loc[::11, "weight"] = np.nan
    whole = model.impute(gappy, random_state=0)
    assert whole["weight"].notna().all()
    near = (whole["weight"] - frame["weight"])[::11].abs().median()
    assert near < 5  # people differ by 10


def test_scores_stand_beside_unseen_and_independent_ones(model, shop):
    new = model.sample(random_state=0)
    scores = evaluate_database(
        shop, new, model.links_, holdout=example_shop(400, 1), orders={"orders": "date"}, references=True
    )
    table = scores.compared()
    assert list(table.columns) == ["synthetic", "real held-out", "independent children"]
    for measure in ("spacing", "order", "autocorrelation"):
        assert table.loc[measure, "synthetic"] > table.loc[measure, "independent children"] + 0.2
    assert table.loc["broken keys"].eq(0).all()
    assert scores.detection["customers"] < scores.independent.detection["customers"]
    assert {"customers.country", "customers.signed_up"} <= set(scores.utility)
    assert scores.utility["customers.signed_up"] > scores.independent.utility["customers.signed_up"]


def test_a_report_has_a_page_per_table_and_a_drawing_of_the_links(model, shop, tmp_path):
    pytest.importorskip("jinja2")
    from tabtreeformer.evaluation.database_report import write_database_report

    new = model.sample(random_state=0)
    scores = evaluate_database(shop, new, model.links_)
    write_database_report(tmp_path / "report", scores, shop, new, show_rows=False)
    index = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    for number, name in enumerate(shop):
        assert f'<a href="table{number}.html">{name}</a>' in index
        assert f"Table {name}" in (tmp_path / "report" / f"table{number}.html").read_text(encoding="utf-8")
    for link in model.links_:
        assert f"<title>{link.text.replace('>', '&gt;')}</title>" in index
    assert "keys that point to no row or occur twice; 0 is best" in index
    orders = (tmp_path / "report" / "table1.html").read_text(encoding="utf-8")
    assert "customer_id" not in orders  # no new key equals a real one, and that is right


def test_the_report_fits_a_phone_and_its_drawing_stays_readable(model, shop, tmp_path, open_browser):
    pytest.importorskip("jinja2")
    from tabtreeformer.evaluation.database_report import write_database_report

    scores = evaluate_database(shop, shop, model.links_)
    write_database_report(tmp_path / "report", scores, shop, shop, show_rows=False)
    with open_browser() as driver:
        size = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": True}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get((tmp_path / "report" / "index.html").as_uri())
        assert driver.execute_script("return document.documentElement.scrollWidth") == 400
        assert driver.execute_script("return document.querySelector('svg text').getBoundingClientRect().height") > 10
        assert driver.get_log("browser") == []
