"""The worked examples run as they stand, on fewer rows and with small settings."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run(tiny):
    """The functions of an example, and the new rows that its `main` returns."""
    # Of the preset's own tokens, so that what comes back is what a user gets.
    settings = {name: tiny[name] for name in ("tree", "model", "train")} | {"verbose": False}

    def run(name, **sizes):
        module = runpy.run_path(str(EXAMPLES / f"{name}.py"))
        return module, module["make"](**sizes), module["main"](**sizes, **settings)

    return run


def test_the_shop_keeps_its_keys_its_business_days_and_its_sums(run):
    module, df, new = run("retail", n_rows=300)
    assert (new.dtypes == df.dtypes).all()
    assert new["order_id"].str.fullmatch(r"R-\d{6}").all()
    for name in ("order_id", "token", "customer"):
        assert not set(new[name]) & set(df[name])
    assert new["ordered"].dt.day_of_week.lt(5).all()
    shipped = new.dropna(subset="shipped")
    assert (shipped["shipped"] >= shipped["ordered"]).all()
    assert (new["country"] == new["city"].map(module["CITIES"])).all()
    assert (new["total"] - new["quantity"] * new["price"]).abs().max() < 0.0051
    assert new["discount"].str.fullmatch(r"\d+%").all()


def test_the_clinic_keeps_its_gaps(run):
    _, df, new = run("clinic", n_rows=300)
    assert (new.dtypes == df.dtypes).all()
    assert (new.isna().any() == df.isna().any()).all()
    whole = new.dropna(subset="discharged")
    assert (whole["discharged"] >= whole["admitted"]).all()
    assert new["visit"].min() > df["visit"].max()


def test_the_sensors_keep_every_dtype_and_their_clock(run):
    _, df, new = run("sensors", n_rows=200, n_channels=30)
    assert (new.dtypes == df.dtypes).all()
    assert (new["time"].dt.minute % 10 == 0).all()
    for name in df.columns[3:]:
        # No end is that of a single row, but about there.
        span = df[name].max() - df[name].min()
        assert new[name].min() >= df[name].min() - span / 4
        assert new[name].max() <= df[name].max() + span / 4
