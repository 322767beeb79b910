"""The file of a database: what does not fit together is our error when it is read, not when rows are written."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import RelationalTabTreeFormer
from tabtreeformer.artifact.archive import read_archive, write_archive
from tabtreeformer.errors import ArchiveError

from .conftest import shop

FORM = "tabtreeformer database"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("shop") / "shop.tabtree"
    RelationalTabTreeFormer("trees", random_state=0, verbose=False, privacy="off").fit(shop()).save(path)
    return path


@pytest.fixture
def saved(whole, tmp_path):
    return shutil.copy(whole, tmp_path)


def table(head, name):
    return head["tables"][name]


@pytest.mark.parametrize(
    "change",
    [
        lambda h: table(h, "customers")["plan"]["own"].append("salary"),
        lambda h: table(h, "customers")["plan"]["columns"].remove("country"),
        lambda h: table(h, "orders")["plan"]["main"].update(parent="nobody"),
        lambda h: table(h, "orders")["plan"]["main"].update(columns=["x"]),
        lambda h: table(h, "orders").update(dtypes={}),
        lambda h: table(h, "customers").update(margins={}),
        lambda h: table(h, "customers").update(n_rows=0),
        lambda h: table(h, "customers").update(n_orphans=10**15),
        lambda h: table(h, "customers").update(given=["x"]),
        lambda h: h["order"].reverse(),
        lambda h: h.update(order=[]),
        lambda h: h.update(preset=[]),
        lambda h: h.update(sequences={"group": "x", "columns": []}),
    ],
)
def test_parts_that_do_not_fit_are_refused_when_the_file_is_read(saved, change):
    members = read_archive(saved, form=FORM)
    head = json.loads(members["database.json"])
    change(head)
    write_archive(saved, {**members, "database.json": json.dumps(head).encode()}, FORM)
    with pytest.raises(ArchiveError):
        RelationalTabTreeFormer.load(saved, verbose=False)


def test_members_that_no_database_has_are_refused(saved):
    members = read_archive(saved, form=FORM)
    write_archive(saved, {**members, "t0_surprise.txt": b""}, FORM)
    with pytest.raises(ArchiveError, match="does not know"):
        RelationalTabTreeFormer.load(saved, verbose=False)


def test_a_database_of_many_tables_is_read_back(tmp_path):
    rng = np.random.default_rng(0)
    tables = {f"table {k}": pd.DataFrame({"a": rng.integers(0, 9, 30), "b": rng.normal(size=30)}) for k in range(15)}
    model = RelationalTabTreeFormer("trees", random_state=0, verbose=False, privacy="off").fit(tables, links=[])
    model.save(tmp_path / "many.tabtree")
    again = RelationalTabTreeFormer.load(tmp_path / "many.tabtree", verbose=False)
    pd.testing.assert_frame_equal(again.sample(random_state=1)["table 9"], model.sample(random_state=1)["table 9"])
