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


@pytest.fixture(scope="module")
def shop_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    customers = pd.DataFrame({"id": range(30), "country": ["DE", "FR", "IT"] * 10})
    orders = pd.DataFrame({"customer_id": [i % 25 for i in range(90)], "gift": ["yes", "no", "no"] * 30})
    write_tables(
        {"customers": customers, "orders": orders.assign(amount=[i % 7 + 0.5 for i in range(90)])}, f"{folder}/shop/"
    )
    assert run("fit", folder / "shop", "-o", folder / "shop.tabtree", *FAST) == 0
    return folder / "shop.tabtree"


def written(folder):
    return {name: read_table(folder / f"{name}.csv") for name in ("customers", "orders")}


def test_conditions_on_parents_and_children_and_numbers_of_children(shop_model, tmp_path):
    words = ["--given", "customers.country=FR", "--given", "orders.gift=yes", "--children", "orders=3", "--seed", "1"]
    assert run("sample", shop_model, "-o", f"{tmp_path}/new/", "-n", "customers=8", *words, "-q") == 0
    new = written(tmp_path / "new")
    assert (new["customers"]["country"] == "FR").all()
    assert (new["orders"]["gift"] == "yes").all()
    assert new["orders"].groupby("customer_id").size().tolist() == [3] * 8


def test_several_values_and_ranges_are_conditions_on_any_table(shop_model, tmp_path):
    words = ["--given", "customers.country=DE,IT", "--given", "orders.amount=2..4", "--seed", "1", "-q"]
    assert run("sample", shop_model, "-o", f"{tmp_path}/new/", "--scale", "0.5", *words) == 0
    new = written(tmp_path / "new")
    assert set(new["customers"]["country"]) <= {"DE", "IT"}
    assert len(new["customers"]) == 15
    assert len(new["orders"]) > 20
    assert new["orders"]["amount"].between(2, 4).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--given", "country=FR"], "--given takes a table, a column and a condition"),
        (["--given", "orders.amount=900..950"], "950"),
        (["--given", "shops.country=FR"], "--given takes a table, a column and a condition"),
        (["--children", "orders"], "--children takes a table and a number"),
        (["--children", "customers=2"], "children must name tables with parents"),
        (["-n", "orders=5"], "not for 'orders'"),
        (["--balance", "country"], "not available for linked tables"),
    ],
)
def test_what_cannot_be_asked_is_one_line(shop_model, tmp_path, capsys, words, message):
    assert run("sample", shop_model, "-o", f"{tmp_path}/new/", *words, "-q") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "new" / "orders.csv").exists()


def test_groups_of_rows_are_learned_and_written_as_one_table(tmp_path, capsys):
    visits = pd.DataFrame({"patient": [i // 3 for i in range(90)], "day": range(90), "sex": ["f"] * 45 + ["m"] * 45})
    visits.to_csv(tmp_path / "visits.csv", index=False)
    words = ["--group", "patient", "--order", "day", "-o", tmp_path / "m.tabtree", *FAST]
    assert run("fit", tmp_path / "visits.csv", *words) == 0
    assert run("sample", tmp_path / "m.tabtree", "-o", tmp_path / "new.csv", "-n", "12", "-q") == 0
    new = read_table(tmp_path / "new.csv")
    assert list(new.columns) == list(visits.columns)
    assert new["patient"].nunique() == 12
    assert new.groupby("patient")["day"].apply(lambda days: days.is_monotonic_increasing).all()
    assert run("fit", tmp_path / "visits.csv", "--group", "nobody", "-o", tmp_path / "n.tabtree", *FAST) == 2
    assert "no column 'nobody'" in capsys.readouterr().err


def test_a_public_table_is_kept(tables, tmp_path):
    write_tables(tables, f"{tmp_path}/shop/")
    model = tmp_path / "shop.tabtree"
    assert run("fit", tmp_path / "shop", "--keep", "customers", "-o", model, *FAST) == 0
    assert run("sample", model, "-o", f"{tmp_path}/new/", "--scale", "0.3", "-q") == 0
    pd.testing.assert_frame_equal(read_table(tmp_path / "new" / "customers.csv"), tables["customers"])


def test_the_audit_of_a_database_needs_its_tables(shop_model, capsys):
    assert run("audit", shop_model) == 2
    assert "give its tables with --train" in capsys.readouterr().err
    assert run("audit", shop_model, "--train", shop_model.parent / "shop", "--unit", "customers") == 0
    assert "PASS" in capsys.readouterr().out
