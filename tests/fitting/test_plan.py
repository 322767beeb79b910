"""A budget chooses how many rows are learned, and says when it was not kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.fitting import plan
from tabtreeformer.fitting.plan import MIN_ROWS, overrun, rows_in_time


def table(n_rows: int) -> pd.DataFrame:
    """Two columns of which one follows the other."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 50, n_rows)
    return pd.DataFrame({"x": x, "y": x // 10 + rng.integers(0, 2, n_rows)})


def test_more_time_fewer_columns_and_trees_learn_more_rows(monkeypatch):
    monkeypatch.setattr(plan, "available_cores", lambda: 2)
    minute = rows_in_time("auto", 60, 19)
    assert 10_000 < minute < 50_000  # of 336,776 flights
    assert rows_in_time("auto", 600, 19) == pytest.approx(10 * minute, rel=0.01)
    assert rows_in_time("auto", 60, 190) == pytest.approx(minute / 10, rel=0.01)
    assert rows_in_time("trees", 60, 19) > 5 * minute
    assert rows_in_time("auto", 0.1, 500) == MIN_ROWS
    assert rows_in_time("S", 60, 19) is None
    monkeypatch.setattr(plan, "available_cores", lambda: 1)
    assert rows_in_time("auto", 60, 19) == pytest.approx(minute / 2, rel=0.01)


def test_a_budget_that_is_too_small_for_all_rows_learns_some_of_them_and_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(plan.CELLS_PER_SECOND, "trees", 100)
    model = TabTreeFormer(preset="trees", budget_seconds=50, random_state=0).fit(table(4_000))
    said = " ".join(capsys.readouterr().err.split())
    assert "enough for about 2,500 of 4,000 rows" in said
    assert model.fitted_.record["rows"] == 2_500
    assert model.fitted_.record["of_rows"] == 4_000
    model.save(tmp_path / "m.tabtree")
    assert TabTreeFormer.load(tmp_path / "m.tabtree", verbose=False).summary()["of_rows"] == 4_000


def test_a_budget_that_is_enough_changes_nothing():
    df = table(300)
    free, limited = (
        TabTreeFormer(preset="trees", privacy="off", budget_seconds=seconds, random_state=0, verbose=False).fit(df)
        for seconds in (None, 600)
    )
    assert "of_rows" not in limited.fitted_.record
    pd.testing.assert_frame_equal(free.sample(50, random_state=1), limited.sample(50, random_state=1))


@pytest.mark.parametrize(("took", "said"), [(60, False), (70, False), (427, True)])
def test_a_fit_that_takes_much_longer_than_its_budget_says_why(took, said):
    record = {"fit_seconds": float(took), "training": [{"seconds": 20.0}, {"seconds": 13.0}]}
    line = overrun(record, 60.0)
    assert (line is not None) == said
    if line:
        assert "427 s" not in line
        assert "7 min instead of 60 s" in line
        assert "33 s of them" in line
    assert overrun(record, None) is None
