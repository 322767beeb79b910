"""Tables in parts: the same rows and dtypes as the whole table has, whatever it is read from."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tabtreeformer import SchemaError, read_table, write_table
from tabtreeformer.data.io import chunked as chunked_module
from tabtreeformer.data.io import chunks as chunks_module
from tabtreeformer.data.io.chunks import open_chunks, take_any
from tabtreeformer.errors import ConfigError


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "count": pd.array(np.where(np.arange(n) == 250, None, np.arange(n)), dtype="Int64"),
            "price": rng.random(n).round(2),
            "code": [f"0{i}" for i in range(n)],
            "late": ["x"] * 290 + ["y"] * 10,
            "flag": pd.array([None if i == 299 else bool(i % 2) for i in range(n)], dtype="boolean"),
            "day": pd.date_range("2024-01-01", periods=n),
        }
    )
    frame["price"] = frame["price"].mask(rng.random(n) < 0.1)
    return frame


def joined(chunks):
    parts = list(chunks)
    assert len(parts) > 1
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "feather"])
def test_the_parts_of_a_file_are_the_whole_file(tmp_path, table, ending):
    path = tmp_path / f"t.{ending}"
    write_table(table, path)
    chunks = open_chunks(path, rows=40)
    assert chunks.n_rows == len(table)
    pd.testing.assert_frame_equal(joined(chunks), read_table(path))
    pd.testing.assert_frame_equal(joined(chunks), read_table(path))  # and again


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_the_files_of_a_folder_are_one_table(tmp_path, table, ending):
    write_table(table, tmp_path / f"whole.{ending}")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "_SUCCESS").write_text("")
    for i in range(3):
        write_table(table.iloc[i * 100 : (i + 1) * 100], folder / f"part{i}.{ending}")
    pd.testing.assert_frame_equal(joined(open_chunks(folder, rows=64)), read_table(tmp_path / f"whole.{ending}"))


def test_a_type_that_one_late_field_of_a_csv_decides_holds_in_every_part(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,1\n" * 99 + "1.5,x\n")
    first = next(iter(open_chunks(path, rows=10)))
    assert first["a"].dtype == "float64"
    assert first["b"].tolist() == ["1"] * 10


def test_categories_of_all_parts_make_one_list(tmp_path):
    values = pd.Series(["b"] * 50 + ["a", "c"] * 25)
    pieces = [pa.table({"k": pa.array(values[i : i + 50]).dictionary_encode()}) for i in (0, 50)]
    for i, piece in enumerate(pieces):
        pq.write_table(piece, tmp_path / f"{i}.parquet")
    whole = pa.concat_tables(pieces).unify_dictionaries().to_pandas()
    pd.testing.assert_frame_equal(joined(open_chunks(tmp_path, rows=10)), whole)


def test_folders_that_are_named_by_a_value_are_a_column(tmp_path, table):
    for year, part in ((2023, table[:100]), (2024, table[100:])):
        (tmp_path / f"year={year}").mkdir()
        write_table(part, tmp_path / f"year={year}" / "t.parquet")
    assert joined(open_chunks(tmp_path, rows=100))["year"].value_counts().to_dict() == {2024: 200, 2023: 100}


@pytest.mark.parametrize("form", ["dataset", "reader"])
def test_datasets_and_readers_of_pyarrow_are_read_as_often_as_asked(table, form):
    arrow = pa.Table.from_pandas(table)
    source = (
        ds.dataset(arrow)
        if form == "dataset"
        else pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(max_chunksize=70))
    )
    chunks = open_chunks(source, rows=50)
    for _ in range(2):
        pd.testing.assert_frame_equal(joined(chunks), table)
    assert chunks.kind.library == "pyarrow"


def test_a_small_source_is_read_whole_and_a_large_one_in_parts(tmp_path, table, monkeypatch):
    write_table(table, tmp_path / "t.csv")
    write_table(table, tmp_path / "t.parquet")
    for source in (tmp_path / "t.csv", str(tmp_path / "t.parquet"), ds.dataset(pa.Table.from_pandas(table))):
        assert isinstance(take_any(source)[0], pd.DataFrame)
    monkeypatch.setattr(chunked_module, "MANY_ROWS", 100)
    for module in (chunked_module, chunks_module):
        monkeypatch.setattr(module, "MANY_BYTES", 100)
    for source in (tmp_path / "t.csv", str(tmp_path / "t.parquet"), ds.dataset(pa.Table.from_pandas(table))):
        assert isinstance(take_any(source)[0], chunks_module.Chunks)


def test_files_that_do_not_fit_together_are_named_with_the_column(tmp_path, table):
    write_table(table, tmp_path / "a.parquet")
    write_table(table.astype({"price": "str"}), tmp_path / "b.parquet")
    with pytest.raises(
        SchemaError, match=r"b\.parquet: column 'price' is of type .*string, in .*a\.parquet it is double"
    ):
        open_chunks(tmp_path)
    write_table(table.drop(columns="price"), tmp_path / "b.parquet")
    with pytest.raises(SchemaError, match=r"b\.parquet lacks the column 'price' that .*a\.parquet has"):
        open_chunks(tmp_path)


def test_csv_files_with_other_headers_are_named_with_the_column(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,z\n1,2\n")
    with pytest.raises(SchemaError, match=r"b\.csv has the column 'z' where .*a\.csv has 'y'"):
        open_chunks(tmp_path)


def test_a_column_without_values_in_one_file_is_of_the_type_of_the_others(tmp_path, table):
    write_table(table.assign(late=None), tmp_path / "a.parquet")
    write_table(table, tmp_path / "b.parquet")
    frame = joined(open_chunks(tmp_path, rows=100))
    assert frame["late"].isna().sum() == 300
    assert set(frame["late"].dropna()) == {"x", "y"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "without a file that is a table"),
        (["a.csv", "b.parquet"], "is not one table"),
        (["a.jsonl"], "not one table"),
    ],
)
def test_a_folder_that_is_no_table_is_refused(tmp_path, table, names, message):
    for name in names:
        write_table(table, tmp_path / name)
    with pytest.raises(SchemaError, match=message):
        open_chunks(tmp_path)


def test_what_cannot_be_read_in_parts_says_so(tmp_path, table):
    write_table(table, tmp_path / "t.jsonl")
    with pytest.raises(SchemaError, match="write it as Parquet first"):
        open_chunks(tmp_path / "t.jsonl")
    with pytest.raises(ConfigError, match="rows must be"):
        open_chunks(tmp_path / "t.jsonl", rows=0)
    with pytest.raises(ConfigError, match="cache_dir"):
        open_chunks(tmp_path / "t.jsonl", cache_dir=tmp_path / "none")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(SchemaError, match=r"t\.parquet cannot be read as parquet"):
        open_chunks(tmp_path / "t.parquet")
