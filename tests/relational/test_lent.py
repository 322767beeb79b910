"""Laws between the rows of a child and columns of the parent, and the order of rows that are counted."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import RelationalTabTreeFormer
from tabtreeformer.relational import gaps
from tabtreeformer.relational.learned import filled


def clinic(n: int = 200, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Patients with a date of birth, and their monthly visits, which are counted and have the age."""
    rng = np.random.default_rng(seed)
    born = pd.Timestamp("1940-01-01") + pd.to_timedelta(rng.integers(0, 20_000, n), unit="D")
    patients = pd.DataFrame({"id": np.arange(n) + 500, "born": born, "sex": rng.choice(["f", "m"], n)})
    counts = rng.integers(0, 6, n)
    owner = np.repeat(np.arange(n), counts)
    place = pd.Series(owner).groupby(owner).cumcount().to_numpy()
    start = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    day = pd.Series(start[owner]) + pd.to_timedelta(place * 30, unit="D")
    age = ((day - pd.Series(born[owner])).dt.days // 365.25).astype(int)
    visits = pd.DataFrame({"patient_id": owner + 500, "number": place + 1, "day": day, "age": age})
    visits["pulse"] = rng.integers(50, 100, len(visits))
    return {"patients": patients, "visits": visits}


@pytest.fixture(scope="module")
def model():
    return RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(clinic())


def check_ages(tables: dict[str, pd.DataFrame]) -> None:
    both = tables["visits"].merge(tables["patients"], left_on="patient_id", right_on="id")
    assert (both["age"] == (both["day"] - both["born"]).dt.days // 365.25).all()


def test_an_age_follows_from_the_birth_date_of_the_parent(model, tmp_path):
    new = model.sample(random_state=1)
    check_ages(new)
    model.save(tmp_path / "clinic.tabtree")
    again = RelationalTabTreeFormer.load(tmp_path / "clinic.tabtree", verbose=False).sample(random_state=1)
    pd.testing.assert_frame_equal(again["visits"], new["visits"])
    check_ages(model.sample(given={"patients": clinic(seed=3)["patients"]}, random_state=0))


def test_a_missing_age_is_filled_from_the_birth_date(model):
    real = clinic()
    visits = real["visits"].assign(age=real["visits"]["age"].astype(float).where(real["visits"].index % 9 > 0))
    filled = model.impute({**real, "visits": visits}, random_state=0)
    check_ages(filled)


def test_rows_that_are_counted_keep_their_steps_in_time(model):
    assert str(model.tables_["visits"].plan.order) == "day"
    visits = model.sample(random_state=2)["visits"]
    place = visits.groupby("patient_id").cumcount() + 1
    assert (visits["number"] == place).all()
    steps = visits.groupby("patient_id")["day"].diff().dropna()
    assert (steps.dt.days == 30).mean() > 0.95  # the last ones end where enough rows do


def test_a_gap_that_a_law_keeps_is_tried_once(monkeypatch):
    real = clinic()
    last = real["visits"].groupby("patient_id")["day"].max()
    number = real["visits"].groupby("patient_id").size()
    patients = real["patients"].assign(last=real["patients"]["id"].map(last))
    patients["number"] = patients["id"].map(number).fillna(0).astype(int)
    model = RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False)
    model.fit({**real, "patients": patients})
    calls = []
    monkeypatch.setattr(gaps, "filled", lambda *asked: calls.append(len(asked[1])) or filled(*asked))
    whole = model.impute({**real, "patients": patients}, random_state=0)
    assert len(calls) == 1
    pd.testing.assert_frame_equal(whole["visits"], real["visits"])
