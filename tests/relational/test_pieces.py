"""Large tables that no other table points to are written piece by piece."""

import functools

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import RelationalTabTreeFormer
from tabtreeformer.data.io import read_table
from tabtreeformer.errors import ConfigError, OutputError
from tabtreeformer.evaluation.databases import broken_keys
from tabtreeformer.relational import drawing
from tabtreeformer.relational.drawing import Drawing, piece_ends
from tabtreeformer.relational.requests import Asked
from tabtreeformer.relational.unrepeated import with_numbers, without_repeats

from .conftest import shop

PIECE = 30
"""Rows of a piece."""


@pytest.fixture(scope="module")
def fitted():
    tables = shop(80)
    tables["orders"].loc[::9, "customer_id"] = np.nan  # rows without a parent go to the last piece
    return RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(tables)


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(drawing, "PIECE_ROWS", PIECE)


@pytest.fixture(scope="module")
def sampled(fitted):
    """A function that samples in small pieces, each table once."""

    @functools.cache
    def sampled(**asked):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(drawing, "PIECE_ROWS", PIECE)
            return fitted.sample(**asked)

    return sampled


def test_pieces_end_where_enough_rows_belong_to_the_parents_before(monkeypatch):
    monkeypatch.setattr(drawing, "PIECE_ROWS", 60)
    ends = piece_ends(np.array([30, 30, 500, 0, 1, 0]))
    assert ends == [2, 3, 6]
    assert piece_ends(np.zeros(0, dtype=np.int64)) == [0]


def test_pieces_are_the_table_and_its_keys_match(fitted, sampled, small_pieces):
    asked = Asked.of(fitted.tables_, None, 1.0, None, None)
    pieces = [p for name, p in Drawing(fitted.tables_, asked, np.random.SeedSequence(5)).pieces() if name == "orders"]
    assert len(pieces) > 4
    assert max(map(len, pieces)) < 60
    whole = sampled(random_state=5)
    pd.testing.assert_frame_equal(pd.concat(pieces, ignore_index=True), whole["orders"])
    assert broken_keys(whole, fitted.links_) == 0
    assert whole["orders"]["order_no"].is_unique
    assert whole["orders"]["customer_id"].isna().any()


def test_further_parents_get_their_numbers_of_children_in_pieces_too(fitted, sampled):
    def counts(new):
        orders = new["orders"].groupby("sku").size()
        return new["products"]["sku"].map(orders).fillna(0).to_numpy()

    in_pieces, at_once = counts(sampled(random_state=5)), counts(fitted.sample(random_state=5))
    assert np.abs(in_pieces - at_once).max() <= 2


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
def test_files_hold_the_rows_of_sample(fitted, sampled, tmp_path, small_pieces, ending):
    written = fitted.sample_to(tmp_path / "new", ending=ending, scale=0.5, random_state=3)
    new = sampled(scale=0.5, random_state=3)
    assert written == {name: len(table) for name, table in new.items()}
    for name, table in new.items():
        found = read_table(tmp_path / "new" / f"{name}{ending}")
        assert list(found.columns) == list(table.columns)
        pd.testing.assert_series_equal(found.iloc[:, 0], table.iloc[:, 0], check_dtype=False)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(f"{name}{ending}" for name in new)


def test_files_that_exist_or_cannot_be_in_pieces_are_refused(fitted, tmp_path):
    (tmp_path / "orders.csv").write_text("mine")
    with pytest.raises(OutputError, match="it already exists"):
        fitted.sample_to(tmp_path)
    with pytest.raises(ConfigError, match="not to excel"):
        fitted.sample_to(tmp_path / "new", ending=".xlsx")
    assert (tmp_path / "orders.csv").read_text() == "mine"


def test_one_table_with_groups_is_written_in_pieces(tmp_path, small_pieces):
    rows = pd.DataFrame({"who": [i // 4 for i in range(400)], "day": range(400), "sex": ["f", "f", "f", "f"] * 100})
    model = RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False)
    model.fit(rows, group="who", order="day").sample_to(tmp_path / "new.csv", random_state=1)
    pd.testing.assert_frame_equal(read_table(tmp_path / "new.csv"), model.sample(random_state=1), check_dtype=False)


@pytest.mark.parametrize("text", ["", "no "])
def test_keys_of_several_columns_match(small_pieces, text):
    rng = np.random.default_rng(0)
    numbers = [f"{text}{i}" if text else i for i in [*range(60), *range(60)]]
    orders = pd.DataFrame({"shop": np.repeat(["a", "b"], 60), "no": numbers, "paid": rng.random(120)})
    owner = orders.take(np.sort(rng.integers(0, 120, 300))).reset_index(drop=True)
    lines = pd.DataFrame({"shop": owner["shop"], "order": owner["no"], "amount": rng.integers(1, 9, 300)})
    model = RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False)
    model.fit({"orders": orders, "lines": lines}, ["lines.(order, shop) -> orders.(no, shop)"])
    new = model.sample(random_state=0)
    assert broken_keys(new, model.links_) == 0
    assert (new["lines"].dtypes == lines.dtypes).all()


def test_what_would_repeat_is_counted_on():
    groups = pd.DataFrame({"shop": list("aaabb")})
    assert without_repeats(pd.Series([3, 3, 4, 3, 9]), groups).tolist() == [3, 4, 5, 3, 9]
    assert with_numbers(pd.Series(["x", "x", "x 2", "x", "y"]), groups).tolist() == ["x", "x 2", "x 2 2", "x", "y"]
