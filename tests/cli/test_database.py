import pandas as pd
import pytest

from tabtreeformer.cli import main
from tabtreeformer.data.io import read_table
from tabtreeformer.data.io.several import read_tables, write_tables

FAST = ["--preset", "trees", "--privacy", "off", "--quiet", "--seed", "0"]


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    return int(stop.value.code or 0)


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    customers = pd.DataFrame({"id": range(30), "country": ["DE", "FR", "IT"] * 10})
    orders = pd.DataFrame({"order_no": range(90), "customer_id": [i % 25 for i in range(90)], "amount": range(90)})
    return {"customers": customers, "orders": orders}


@pytest.mark.parametrize("place", ["shop/", "shop.duckdb", "sqlite:///{}/shop.db"])
def test_a_database_is_learned_and_written(tables, tmp_path, place):
    source = place.format(tmp_path) if "{}" in place else str(tmp_path / place) + "/" * place.endswith("/")
    write_tables(tables, source)
    assert list(read_tables(source)) == list(tables)
    model = tmp_path / "shop.tabtree"
    assert run("fit", source, "-o", model, *FAST) == 0
    assert run("sample", model, "-o", f"{tmp_path}/new/", "-n", "customers=12", "--seed", "1", "-q") == 0
    new = {name: read_table(tmp_path / "new" / f"{name}.csv") for name in tables}
    assert len(new["customers"]) == 12
    assert set(new["orders"]["customer_id"]) <= set(new["customers"]["id"])


def test_tables_that_exist_are_replaced_only_when_asked(tables, tmp_path, capsys):
    write_tables(tables, f"{tmp_path}/shop/")
    model = tmp_path / "shop.tabtree"
    assert run("fit", tmp_path / "shop", "-o", model, *FAST) == 0
    assert run("fit", tmp_path / "shop", "-o", model, *FAST) == 2
    assert run("sample", model, "-o", f"{tmp_path}/shop/", "-q") == 2
    assert "it exists" in capsys.readouterr().err
    pd.testing.assert_frame_equal(read_table(tmp_path / "shop" / "orders.csv"), tables["orders"])


def test_a_link_that_cannot_be_read_is_one_line(tables, tmp_path, capsys):
    write_tables(tables, f"{tmp_path}/shop/")
    assert run("fit", tmp_path / "shop", "--link", "orders", *FAST) == 2
    assert "cannot read the link" in capsys.readouterr().err
