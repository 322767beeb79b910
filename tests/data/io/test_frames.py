"""Tables of polars and pyarrow: what goes in comes out, of the same kind and types."""

import datetime
import decimal
import subprocess
import sys

import pandas as pd
import pytest

import tabtreeformer
from tabtreeformer import ConfigError, SchemaError, TabTreeFormer, read_table, write_report, write_table
from tabtreeformer._runtime.progress import Console
from tabtreeformer.data.io.frames import Kind, kind_named, take_in

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")


@pytest.fixture
def arrow():
    """Every type that pandas does not have in just this way, each with a gap."""
    return pa.table(
        {
            "i8": pa.array([1, None, 3], pa.int8()),
            "u64": pa.array([2**64 - 1, None, 3], pa.uint64()),
            "i64": pa.array([2**53 + 1, None, -1], pa.int64()),
            "f32": pa.array([0.5, None, 1.5], pa.float32()),
            "flag": pa.array([True, None, False]),
            "day": pa.array([datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1)]),
            "when": pa.array([0, None, 1], pa.timestamp("ms", tz="Europe/Berlin")),
            "took": pa.array([0, None, 1], pa.duration("s")),
            "price": pa.array([decimal.Decimal("2.50"), None, decimal.Decimal("0.10")], pa.decimal128(9, 2)),
            "word": pa.array(["a", None, "ü"]),
            "large": pa.array(["a", None, "b"], pa.large_string()),
            "group": pa.array(["x", None, "y"]).dictionary_encode(),
            "": pa.array([1, 2, 3]),
        }
    )


def test_an_arrow_table_survives_pandas(arrow):
    frame, kind = take_in(arrow)
    assert kind.build(frame).equals(arrow)


def test_a_polars_table_survives_pandas(arrow):
    table = pl.from_arrow(arrow).with_columns(
        pl.Series("size", ["S", None, "L"], dtype=pl.Enum(["S", "M", "L"])),
        pl.Series("kind", ["p", None, "q"], dtype=pl.Categorical),
    )
    frame, kind = take_in(table)
    again = kind.build(frame)
    assert again.schema == table.schema
    assert again.equals(table)


def test_whole_numbers_beside_gaps_stay_whole(arrow):
    frame, _ = take_in(arrow)
    assert str(frame["i8"].dtype) == "Int8"
    assert frame["u64"].tolist() == [2**64 - 1, pd.NA, 3]


def test_a_pandas_table_goes_through_untouched(mixed):
    frame, kind = take_in(mixed)
    assert frame is mixed
    assert kind.build(frame) is mixed


def test_what_is_no_table_is_left_for_others_to_refuse():
    assert take_in([1])[0] == [1]
    assert take_in(None)[0] is None
    with pytest.raises(SchemaError, match=r"LazyFrame is a query plan, .* call \.collect\(\)"):
        take_in(pl.LazyFrame({"a": [1]}))
    with pytest.raises(SchemaError, match="column name 'a' occurs more than once"):
        take_in(pa.table([[1], [2]], names=["a", "a"]))


def test_the_kind_can_be_asked_for_by_name(mixed):
    assert isinstance(kind_named("polars").build(mixed), pl.DataFrame)
    assert isinstance(kind_named("pyarrow").build(mixed), pa.Table)
    with pytest.raises(ConfigError, match="output must be one of pandas, polars, pyarrow, got 'dask'"):
        kind_named("dask")


@pytest.fixture
def plain(mixed):
    return mixed.drop(columns="size")


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_fit_and_sample_keep_the_kind_and_types(plain, tiny, library, tmp_path):
    table = Kind(library).build(plain)
    model = TabTreeFormer(random_state=0, verbose=False, **tiny).fit(table)
    new = model.sample(20, random_state=1)
    assert type(new) is type(table)
    assert new.schema == table.schema if library == "polars" else new.schema.equals(table.schema)
    assert new.shape == (20, 5)
    assert isinstance(model.sample(2, output="pandas"), pd.DataFrame)
    with pytest.raises(ConfigError, match="output must be one of"):
        model.sample(2, output="csv")
    model.save(tmp_path / "m.tabtree")
    loaded = TabTreeFormer.load(tmp_path / "m.tabtree", verbose=False)
    rows = loaded.sample(20, random_state=1)
    assert isinstance(rows, pd.DataFrame)
    pd.testing.assert_frame_equal(rows, model.sample(20, random_state=1, output="pandas"))
    assert type(loaded.sample(3, output=library)) is type(table)


def test_the_same_rows_are_learned_whatever_the_library(plain, tiny):
    rows = []
    for kind in (Kind(), Kind("polars"), Kind("pyarrow")):
        model = TabTreeFormer(random_state=0, verbose=False, **tiny).fit(kind.build(plain))
        rows.append(model.sample(20, random_state=1, output="pandas"))
    pd.testing.assert_frame_equal(rows[0], rows[1])
    pd.testing.assert_frame_equal(rows[0], rows[2])


def test_evaluate_and_the_report_take_them_too(plain, tmp_path):
    train, test, new = plain.iloc[:30], plain.iloc[30:45], plain.iloc[45:]
    expected = tabtreeformer.evaluate(train, test, new, metrics=["shape"])
    tables = [Kind("polars").build(train), Kind("pyarrow").build(test), Kind("polars").build(new)]
    found = tabtreeformer.evaluate(*tables, metrics=["shape"])
    assert found.scores["shape"].value == expected.scores["shape"].value
    assert tabtreeformer.evaluate(train=tables[0], test=None, synthetic=tables[2], metrics=["shape"]).scores
    pytest.importorskip("jinja2")
    write_report(tmp_path / "r.html", found, *tables)
    assert (tmp_path / "r.html").stat().st_size > 1000


def test_tables_of_other_libraries_are_written_too(plain, tmp_path):
    for library in ("polars", "pyarrow"):
        write_table(Kind(library).build(plain), tmp_path / f"{library}.csv")
        assert read_table(tmp_path / f"{library}.csv").shape == plain.shape


def test_an_index_is_ignored_and_that_is_said_once(plain, tiny, monkeypatch):
    notes = []
    monkeypatch.setattr(Console, "note", lambda self, message: notes.append(message))

    def learn(df):
        notes.clear()
        model = TabTreeFormer(random_state=0, **tiny).fit(df)
        assert list(model.sample(2).columns) == list(df.columns)
        return [note for note in notes if "index" in note]

    assert learn(plain) == []
    assert learn(plain.iloc[::2]) == []
    named = plain.set_axis(pd.Index([f"p{i}" for i in range(60)], name="person"))
    assert learn(named) == ["the index (person) is ignored; to learn it, make it a column: df.reset_index()"]
    assert len(learn(plain.sort_values("age"))) == 1


def test_neither_library_is_imported_for_others():
    script = (
        "import sys, pandas as pd; from tabtreeformer.data.io.frames import take_in; "
        "take_in(pd.DataFrame({'a': [1]})); "
        "print('polars' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
