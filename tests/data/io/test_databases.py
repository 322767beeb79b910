"""DuckDB and SQLAlchemy: read by table or query, written whole or not at all, passwords never shown."""

import contextlib
import sqlite3

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import OutputError, SchemaError, TabTreeFormerError, read_table, write_table
from tabtreeformer.data.io import TableOptions, check_target, locate
from tabtreeformer.data.io.location import hide_passwords
from tabtreeformer.data.io.several import check_tables_target, read_tables
from tabtreeformer.errors import ConfigError, MissingExtraError

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

FRAME = pd.DataFrame(
    {
        "zip": ["01234", "99999", "00007"],
        "id": pd.array([9007199254740993, None, 3], dtype="Int64"),
        "x": [0.1, 2.5, np.nan],
        "when": pd.to_datetime(["2024-01-05 10:00", "2024-02-29 11:30", "2024-03-01 00:00"]),
    }
)


@pytest.fixture(params=["sqlite", "duckdb"])
def shop(request, tmp_path, monkeypatch):
    """The name of a database that does not exist yet; its file is shop.*."""
    monkeypatch.chdir(tmp_path)
    return "sqlite:///shop.db" if request.param == "sqlite" else "shop.duckdb"


def files(tmp_path):
    return sorted(p.name for p in tmp_path.iterdir())


def test_a_table_comes_back_as_it_was_written(shop):
    write_table(FRAME, shop, table="orders")
    for again in (read_table(shop), read_table(shop, table="orders"), read_table(f"{shop}#orders")):
        again["when"] = again["when"].astype(FRAME["when"].dtype)
        pd.testing.assert_frame_equal(again, FRAME)


def test_a_query_chooses_rows_and_columns(shop):
    write_table(FRAME, f"{shop}#orders")
    frame = read_table(shop, query="select zip, id + 1 as next from orders where x > 0 order by zip -- a:b 10%")
    assert frame["zip"].tolist() == ["01234", "99999"]
    assert frame["next"].tolist() == [9007199254740994, pd.NA]


def test_one_of_several_tables_has_to_be_named(shop):
    for name in ("orders", "customers"):
        write_table(FRAME, shop, table=name)
    with pytest.raises(
        SchemaError, match=r"has 2 tables \((customers, orders|orders, customers)\); say which with --t"
    ):
        read_table(shop)
    with pytest.raises(SchemaError, match=r"has no table 'order'; did you mean orders\?"):
        read_table(shop, table="order")


def test_a_table_that_is_there_is_kept_unless_told(shop, tmp_path):
    write_table(FRAME, shop, table="orders")
    other = FRAME.iloc[:1]
    for attempt in (lambda: write_table(other, shop, table="orders"), lambda: check_target(shop, table="orders")):
        with pytest.raises(OutputError, match="has a table 'orders' already; name another, or replace it with --overw"):
            attempt()
    assert len(read_table(shop, table="orders")) == 3
    write_table(other, shop, table="orders", overwrite=True)
    assert len(read_table(shop)) == 1


def test_a_table_to_write_has_to_be_named(shop, tmp_path):
    with pytest.raises(OutputError, match=r"name the table of .*shop\.\w+ to write with --table"):
        write_table(FRAME, shop)
    assert files(tmp_path) == []


def test_a_failed_write_keeps_the_old_table_and_leaves_no_other(shop):
    write_table(FRAME, shop, table="orders")
    broken = pd.DataFrame({"a": [1, {2}, "x"]}, dtype=object)
    with pytest.raises(TabTreeFormerError):
        write_table(broken, shop, table="orders", overwrite=True)
    with pytest.raises(TabTreeFormerError):
        write_table(broken, shop, table="others")
    again = read_table(shop)  # of one table only
    assert again["zip"].tolist() == FRAME["zip"].tolist()


def test_a_table_that_a_view_reads_is_replaced_and_the_view_reads_the_new_one(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.executescript("CREATE TABLE orders (n INT); CREATE VIEW seen AS SELECT n FROM orders")
    write_table(pd.DataFrame({"n": [1, 2]}), f"sqlite:///{tmp_path}/shop.db#orders", overwrite=True)
    assert read_table(f"sqlite:///{tmp_path}/shop.db", query="SELECT * FROM seen")["n"].tolist() == [1, 2]


def test_a_table_is_not_dropped_where_the_new_one_cannot_take_its_name(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/shop.db#orders"
    write_table(FRAME, url)
    from sqlalchemy.engine import Connection

    execute = Connection.execute

    def fails(self, statement, *rest):
        if "RENAME" in str(statement):
            raise sqlite3.OperationalError("no")
        return execute(self, statement, *rest)

    monkeypatch.setattr(Connection, "execute", fails)
    with pytest.raises(sqlite3.OperationalError):
        write_table(FRAME.iloc[:1], url, overwrite=True)
    monkeypatch.undo()
    assert len(read_table(url)) == 3


def test_names_of_tables_differ_by_more_than_case(shop):
    write_table(FRAME, f"{shop}#orders")
    with pytest.raises(OutputError, match="has a table 'Orders' already"):
        write_table(FRAME.iloc[:1], f"{shop}#Orders")
    assert len(read_table(shop)) == 3


def test_tables_that_belong_together_are_written_only_where_there_is_room_for_all(shop):
    write_table(FRAME, f"{shop}#orders")
    with pytest.raises(OutputError, match="has a table 'orders' already"):
        check_tables_target(shop, ["customers", "orders"], ending=".csv", overwrite=False)


def test_a_view_is_not_a_table_to_learn(tmp_path):
    import duckdb

    with duckdb.connect(tmp_path / "shop.duckdb") as database:
        database.execute("CREATE TABLE a AS SELECT 1 AS n; CREATE VIEW b AS SELECT * FROM a")
    assert list(read_tables(tmp_path / "shop.duckdb")) == ["a"]


@pytest.mark.parametrize(
    "query", ["drop table orders", " -- x\n DELETE from orders", "/* */insert into orders values (1)"]
)
def test_a_query_that_writes_is_refused(shop, query):
    write_table(FRAME, shop, table="orders")
    with pytest.raises(ConfigError, match="the query must read rows, but it starts with"):
        read_table(shop, query=query)
    assert len(read_table(shop)) == 3


WRITING = [
    "with x as (select 1) delete from orders",
    "with x as (select 1) insert into orders select * from orders returning *",
    "insert into orders select * from orders returning *",
    "delete from orders returning *",
    "update orders set zip = 'x' returning zip",
    "select 1 as a; delete from orders",
    "vacuum into 'copy.db'",
    "attach 'other.db' as other",
    "pragma user_version = 7",
    "copy orders to 'orders.csv'",
    "copy (select * from orders) to 'orders.parquet'",
    "export database 'all'",
    "select * into other from orders",
    "create table other as select * from orders",
]


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("query", WRITING)
def test_no_query_writes_even_where_its_words_are_not_looked_at(shop, query, checked, tmp_path, monkeypatch):
    write_table(FRAME, shop, table="orders")
    if not checked:  # the database itself refuses too
        for module in ("database", "duck"):
            monkeypatch.setattr(f"tabtreeformer.data.io.{module}.check_query", lambda query: None)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(TabTreeFormerError) as error:
        read_table(shop, query=query)
    assert "\n" not in str(error.value)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "query",
    [
        "select replace(zip, '0', 'x') as zip from orders",
        "with x as (select * from orders) select * from x;",
        "select 'insert into; delete' as words from orders -- drop it",
        'select zip as "update" from orders',
    ],
)
def test_a_query_that_only_looks_like_writing_reads(shop, query):
    write_table(FRAME, shop, table="orders")
    assert len(read_table(shop, query=query)) == 3


def test_a_query_of_a_duckdb_file_reaches_no_other_file(tmp_path):
    write_table(FRAME, tmp_path / "shop.duckdb", table="orders")
    FRAME.to_csv(tmp_path / "secret.csv")
    with pytest.raises(SchemaError, match="disabled|Permission"):
        read_table(tmp_path / "shop.duckdb", query=f"select * from '{tmp_path}/secret.csv'")


def test_servers_are_asked_for_a_transaction_that_only_reads(monkeypatch):
    """No server here: what is sent to one is what counts."""
    from tabtreeformer.data.io import database

    said = []
    monkeypatch.setitem(database.READ_ONLY, "sqlite", "select 'READ ONLY'")
    monkeypatch.setattr(database, "read_only", lambda sql, engine, path: sql.event.listen(
        engine, "before_cursor_execute", lambda c, cursor, statement, *rest: said.append(statement)
    ))  # fmt: skip
    assert len(read_table("sqlite://", query="select 1 as a union select 2")) == 2
    assert said == ["select 'READ ONLY'", "select 1 as a union select 2"]
    assert set(database.READ_ONLY) >= {"postgresql", "mysql", "mariadb", "oracle"}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select * from nowhere", "nowhere"),
        ("select 1 as a, 2 as a", "column name 'a' occurs more than once"),
        ("select * from orders where 1 = 0", "has 4 columns and no rows"),
        ("selec 1", "syntax error"),
    ],
)
def test_a_query_that_gives_no_table_is_said_in_one_line(shop, query, message):
    write_table(FRAME, shop, table="orders")
    with pytest.raises(SchemaError) as error:
        read_table(shop, query=query)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_database_that_is_not_there_is_not_made_by_reading(shop, tmp_path):
    write_table(FRAME, shop, table="orders")
    with pytest.raises(SchemaError, match=r"there is no file shpo\.\w+; did you mean shop\.\w+\?"):
        read_table(shop.replace("shop", "shpo"))
    assert len(files(tmp_path)) == 1


def test_a_file_that_is_no_database_is_said(shop, tmp_path):
    name = shop.split("/")[-1]
    (tmp_path / name).write_bytes(b"no database " * 1000)
    with pytest.raises(SchemaError, match=name):
        read_table(shop, table="orders")
    with pytest.raises(OutputError, match=name):
        write_table(FRAME, shop, table="orders")
    assert (tmp_path / name).read_bytes() == b"no database " * 1000


def test_sqlite_dates_and_truth_values_have_the_types_of_their_columns(tmp_path):
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute("create table t (d date, b boolean, p numeric(9, 2), n integer)")
        connection.execute("insert into t values ('2024-01-05', 1, 2.50, null), (null, 0, 3, 4)")
    connection.close()
    frame = read_table(f"sqlite:///{tmp_path}/s.db")
    assert str(frame["d"].dtype).startswith("datetime64")
    assert frame["b"].tolist() == [True, False]
    assert frame["p"].tolist() == [2.5, 3.0]
    assert frame["n"].tolist() == [pd.NA, 4]


def test_a_value_that_is_none_of_its_columns_type_is_said(tmp_path):
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute("create table t (d date)")
        connection.execute("insert into t values ('yesterday')")
    connection.close()
    with pytest.raises(SchemaError, match=r"s\.db: a value is not of its column's type .*yesterday"):
        read_table(f"sqlite:///{tmp_path}/s.db")


def test_duckdb_asks_files_without_a_database(tmp_path):
    for part in range(2):
        FRAME.to_parquet(tmp_path / f"p{part}.parquet")
    assert len(read_table("duckdb:", query=f"select * from '{tmp_path}/p*.parquet'")) == 6
    with pytest.raises(SchemaError, match="DuckDB without a file needs a query"):
        read_table("duckdb:")
    with pytest.raises(OutputError, match="DuckDB without a file keeps nothing"):
        write_table(FRAME, "duckdb:", table="x")


def test_exact_types_of_duckdb_become_numbers(tmp_path):
    frame = read_table("duckdb:", query="select 2::hugeint as a, 2.50::decimal(9, 2) as b, null::integer as c, 1 as d")
    assert dict(frame.dtypes.astype(str)) == {"a": "int64", "b": "float64", "c": "Int32", "d": "int32"}


def test_any_file_can_be_called_a_duckdb_database(tmp_path):
    write_table(FRAME, f"duckdb:{tmp_path}/shop.db", table="t")
    assert len(read_table(f"duckdb:///{tmp_path}/shop.db")) == 3
    assert len(read_table(tmp_path / "shop.db", format="duckdb")) == 3


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://user:{}@host/nowhere/shop.db",
        "nosuchdb://user:{}@host/db",
        "postgresql+nodriver://user:{}@host:5432/db",
        "postgresql://user:{}@host:port/db",
        "mssql+pyodbc://host/db?password={}&driver=x",
        "db://{}@",
    ],
)
@pytest.mark.parametrize("secret", ["hunter2", "pa/s:sw@rd", "hun%40ter", "with blank"])
def test_no_message_shows_a_password(url, secret):
    for attempt in (
        lambda u: read_table(u, query="select 1"),
        lambda u: read_table(u, table="t"),
        lambda u: write_table(FRAME, u, table="t"),
        lambda u: check_target(u, table="t"),
    ):
        with pytest.raises(TabTreeFormerError) as error:
            attempt(url.replace("{}", secret))
        shown: BaseException | None = error.value
        while shown is not None:  # chained errors are shown too
            assert secret not in str(shown)
            assert secret.replace("%40", "@") not in str(shown)
            shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)


def test_a_driver_that_is_not_installed_is_named():
    with pytest.raises(MissingExtraError, match="the driver psycopg2 of .* is not installed"):
        read_table("postgresql+psycopg2://me:x@localhost/db", table="t")


def test_places_have_names_without_secrets():
    place = locate("postgresql://me:x#y@host/shop?password=z#public.orders", TableOptions())
    assert (place.url, place.table) == ("postgresql://me:x#y@host/shop?password=z", "public.orders")
    assert place.name == "postgresql://***@host/shop?password=***"
    assert place.stem == "shop"
    assert hide_passwords("no url, token=abc; a@b") == "no url, token=***; a@b"


@pytest.mark.parametrize(
    ("source", "stem", "ending"),
    [
        ("data/people.csv.gz", "people", ".csv.gz"),
        ("people.v2.PARQUET", "people", ".parquet"),
        ("sqlite:///data/shop.db", "shop", ".parquet"),
        ("shop.duckdb#orders", "shop", ".parquet"),
        ("book.xlsx", "book", ".xlsx"),
        ("duckdb:", "table", ".parquet"),
    ],
)
def test_files_beside_a_table_get_its_name_and_form(source, stem, ending):
    place = locate(source, TableOptions())
    assert (place.stem, place.ending) == (stem, ending)


def test_a_database_that_is_locked_is_said_and_left_alone(shop):
    import duckdb

    write_table(FRAME, shop, table="orders")
    if shop.startswith("sqlite"):
        holder = sqlite3.connect("shop.db", isolation_level=None)
        holder.execute("begin exclusive")
        shop += "?timeout=0.1"
    else:
        holder = duckdb.connect("shop.duckdb")
    try:
        for attempt in (lambda: read_table(shop, table="orders"), lambda: write_table(FRAME, shop, table="more")):
            with pytest.raises(TabTreeFormerError, match=r"shop\.\w+.*(locked|same database file)") as error:
                attempt()
            assert "\n" not in str(error.value)
    finally:
        holder.close()
    assert len(read_table(shop)) == 3
