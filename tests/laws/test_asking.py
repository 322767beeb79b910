"""Questions about columns that a law computes: rows that are drawn, filled and predicted keep the law exactly."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import ConditionError, TabTreeFormer, ge


@pytest.fixture(scope="module")
def invoices():
    r = np.random.default_rng(0)
    n = 800
    df = pd.DataFrame({"quantity": r.integers(1, 20, n), "price": r.lognormal(2, 1, n).round(2)})
    df["net"] = (df["price"] * df["quantity"]).round(2)
    df["rate"] = r.choice([7, 19], n)
    df["tax"] = (df["net"] * df["rate"] / 100).round(2)
    df["shipping"] = r.choice([0.0, 4.9, 9.9], n, p=[0.6, 0.2, 0.2])
    df["total"] = (df["net"] + df["tax"] + df["shipping"]).round(2)
    stamp = pd.DatetimeIndex(pd.Timestamp("2024-01-01") + pd.to_timedelta(r.integers(0, 300 * 24, n), unit="h"))
    return df.assign(sold=stamp, month=stamp.month, weekday=stamp.strftime("%a"))


@pytest.fixture(scope="module")
def model(invoices):
    return TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(invoices)


def obeys(rows):
    assert np.allclose(rows["total"], rows["net"] + rows["tax"] + rows["shipping"], atol=0.001)
    assert np.allclose(rows["net"], (rows["price"] * rows["quantity"]).round(2), atol=0.001)
    assert (rows["month"] == rows["sold"].dt.month).all()
    assert (rows["weekday"] == rows["sold"].dt.strftime("%a")).all()


def test_free_rows_obey(model):
    obeys(model.sample(500, random_state=0))


def test_given_a_total_the_parts_add_up_and_keep_their_values(model):
    rows = model.sample(50, given={"total": 100.0}, random_state=0)
    assert (rows["total"] == 100.0).all()
    assert set(rows["shipping"]) <= {0.0, 4.9, 9.9}
    obeys(rows)


def test_ranges_labels_and_learned_columns_together(model):
    rows = model.sample(
        40, given={"total": (50, 80), "month": 3, "weekday": ["Mon", "Tue"], "rate": 19}, random_state=0
    )
    assert rows["total"].between(50, 80).all()
    assert (rows["month"] == 3).all()
    assert rows["weekday"].isin(["Mon", "Tue"]).all()
    assert (rows["rate"] == 19).all()
    obeys(rows)
    assert (model.sample(20, given={"total": ge(300)}, random_state=0)["total"] >= 300).all()


def test_what_no_row_can_be_is_an_error(model):
    with pytest.raises(ConditionError, match="cannot meet the conditions and keep the laws"):
        model.sample(5, given={"month": 12, "sold": (pd.Timestamp("2024-02-01"), pd.Timestamp("2024-03-01"))})


def test_gaps_are_filled_by_the_law_or_solved_for(model, invoices):
    holes = invoices.head(40).copy()
    holes.loc[::2, "total"] = np.nan
    holes.loc[1::2, "shipping"] = np.nan
    holes["month"] = np.nan
    filled = model.impute(holes, random_state=0)
    pd.testing.assert_frame_equal(filled, invoices.head(40), check_dtype=False)


def test_a_computed_column_is_predicted_by_its_law(model, invoices):
    some = invoices.head(10)
    assert np.allclose(model.predict(some.drop(columns="total"), "total"), some["total"])
    assert model.predict(some.drop(columns="weekday"), "weekday").tolist() == some["weekday"].tolist()


def test_computed_columns_add_nothing_to_the_likelihood(model, invoices):
    parts = model.log_prob(invoices.head(20), by_column=True)
    assert list(parts) == list(invoices)
    assert (parts[["net", "tax", "total", "month", "weekday"]] == 0).all().all()
    assert (parts["price"] < 0).any()
