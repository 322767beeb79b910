"""Parquet, Feather, JSON lines and Excel; and what is said when nothing is there."""

import datetime
import json
import os

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import OutputError, SchemaError, read_table, write_table
from tabtreeformer.data.io import check_target

pytest.importorskip("pyarrow")


@pytest.fixture
def frame():
    """Text that looks like numbers, whole numbers beside gaps and beyond 2**53, decimals, truth values."""
    return pd.DataFrame(
        {
            "zip": ["01234", "99999", "00007"],
            "id": pd.array([9007199254740993, None, 3], dtype="Int64"),
            "n": [1, 2, 3],
            "x": [0.1, 2.5, np.nan],
            "": ["Köln", "a, b", 'c "d"'],
            "ok": [True, False, True],
        }
    )


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.jsonl", "t.ndjson.gz", "t.parquet", "t.pq", "t.feather", "t.xlsx"]
)
def test_every_form_gives_back_what_was_written(tmp_path, frame, name):
    pytest.importorskip("openpyxl")
    if name == "t.xlsx":
        frame.loc[0, "id"] = 10**15 - 1
    write_table(frame, tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), frame)
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_forms_with_types_keep_them(tmp_path, mixed, name):
    mixed["when"] = pd.date_range("2024-01-01", periods=60, freq="h", tz="Europe/Berlin")
    mixed["small"] = mixed["age"].astype("int8")
    mixed["gap"] = pd.array([None, *[True] * 59], dtype="boolean")
    write_table(mixed, tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), mixed)


def test_parquet_of_other_programs_keeps_whole_numbers_dates_and_decimals(tmp_path):
    import decimal

    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = pa.table(
        {
            "id": pa.array([2**53 + 1, None], pa.int64()),
            "small": pa.array([1, None], pa.uint8()),
            "flag": pa.array([True, None]),
            "day": pa.array([datetime.date(2024, 2, 29), None]),
            "price": pa.array([decimal.Decimal("2.50"), None], pa.decimal128(9, 2)),
            "sum": pa.array([decimal.Decimal(2**60), None], pa.decimal128(38, 0)),
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    frame = read_table(tmp_path / "t.parquet")
    dtypes = dict(frame.dtypes.astype(str))
    assert dtypes.pop("day").startswith("datetime64")
    assert dtypes == {"id": "Int64", "small": "UInt8", "flag": "boolean", "price": "float64", "sum": "Int64"}
    assert frame["id"][0] == 2**53 + 1
    assert frame["sum"][0] == 2**60
    assert frame["price"][0] == 2.5


def test_a_folder_beside_a_parquet_file_adds_no_columns(tmp_path, frame):
    folder = tmp_path / "year=2024"
    folder.mkdir()
    write_table(frame, folder / "t.parquet")
    assert list(read_table(folder / "t.parquet").columns) == list(frame.columns)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.xlsx"])
def test_a_file_cut_in_half_is_refused(tmp_path, frame, name):
    path = tmp_path / name
    write_table(frame, path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(SchemaError, match=rf"{name} cannot be read as \w+: it is damaged"):
        read_table(path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["", " "], "t.jsonl is empty"),
        (['{"a": 1}', "", '{"a": '], "line 3 is not JSON: Expecting value at character 7"),
        (['{"a": 1}', "[1]"], "line 2 is a list; each line must be an object"),
        (["a,b", "1,2"], "line 1 is not JSON"),
        (['{"a": 1, "a": 2}'], "column name 'a' occurs more than once"),
        (["[" * 100_000], "line 1 is nested too deeply"),
    ],
)
def test_json_lines_that_are_none_are_refused_with_the_line(tmp_path, lines, message):
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(SchemaError) as error:
        read_table(path)
    assert message in str(error.value)


def test_json_says_what_is_text_and_lines_may_lack_keys(tmp_path):
    rows = [{"zip": "01234", "n": 1}, {"n": None, "late": 2.0, "zip": "12"}, {"zip": "5", "n": 3, "flag": True}]
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    frame = read_table(tmp_path / "t.jsonl")
    assert sorted(frame.columns) == ["flag", "late", "n", "zip"]
    assert frame["zip"].tolist() == ["01234", "12", "5"]
    assert frame["n"].tolist() == [1, pd.NA, 3]
    assert frame["late"].isna().tolist() == [True, False, True]
    assert frame["flag"].tolist() == [pd.NA, pd.NA, True]


def test_columns_of_json_keep_the_order_of_the_first_line(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"z": 1, "a": 2, "m": 3}\n{"b": 1, "a": 3}\n')
    assert list(read_table(tmp_path / "t.jsonl").columns) == ["z", "a", "m", "b"]


def test_json_lines_are_written_with_every_digit_and_dates_as_iso(tmp_path):
    frame = pd.DataFrame(
        {"x": [0.1234567890123456, 1e300], "d": pd.to_datetime(["2024-01-05", None]), "s": ["ü", None]}
    )
    write_table(frame, tmp_path / "t.jsonl")
    first, second = ((tmp_path / "t.jsonl").read_text(encoding="utf-8")).splitlines()
    assert json.loads(first) == {"x": 0.1234567890123456, "d": "2024-01-05T00:00:00", "s": "ü"}
    assert json.loads(second) == {"x": 1e300, "d": None, "s": None}


class TestExcel:
    @pytest.fixture
    def book(self, tmp_path):
        """A workbook of two sheets as people make them."""
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        people = book.active
        people.title = "people"
        for row in (
            ["zip", "born", "n", None], ["01234", datetime.datetime(2024, 1, 5), 1], [], ["777", None, "#N/A"], [None],
        ):  # fmt: skip
            people.append(row)
        book.create_sheet("notes")
        book.save(tmp_path / "book.xlsx")
        return tmp_path / "book.xlsx"

    def test_a_sheet_is_chosen_by_name_and_never_guessed(self, book):
        with pytest.raises(SchemaError, match=r"book\.xlsx has 2 sheets \(people, notes\); say which with --sheet"):
            read_table(book)
        with pytest.raises(SchemaError, match=r"has no sheet 'peple'; did you mean people\?"):
            read_table(book, sheet="peple")
        pd.testing.assert_frame_equal(read_table(book, sheet="people"), read_table(f"{book}#people"))

    def test_text_stays_text_dates_are_dates_and_blank_rows_count_inside_only(self, book):
        frame = read_table(book, sheet="people")
        assert frame["zip"].tolist()[::2] == ["01234", "777"]
        assert str(frame["born"].dtype).startswith("datetime64")
        assert frame["n"].tolist() == [1, pd.NA, pd.NA]
        with pytest.raises(SchemaError, match="is empty: the sheet has nothing in its first row"):
            read_table(book, sheet="notes")

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ([1, 2, 3, 4], "row 2 holds 4 to the right of the last named column"),
            ([1, "#DIV/0!", 3], "row 2, column 'b' holds the error #DIV/0!"),
        ],
    )
    def test_cells_that_are_no_values_are_refused(self, tmp_path, row, message):
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        book.active.append(["a", "b", "c"])
        book.active.append(row)
        book.save(tmp_path / "t.xlsx")
        with pytest.raises(SchemaError) as error:
            read_table(tmp_path / "t.xlsx")
        assert message in str(error.value)

    def test_what_excel_cannot_hold_is_refused_before_anything_is_written(self, tmp_path):
        zoned = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=2, tz="UTC")})
        long = pd.DataFrame({"n": np.arange(1_048_576)})
        for df, message in ((zoned, "column 'when' has a time zone"), (long, "at most 1,048,575 rows")):
            with pytest.raises(OutputError, match=message):
                write_table(df, tmp_path / "t.xlsx")
        assert not list(tmp_path.iterdir())

    def test_a_key_of_more_digits_than_excel_keeps_becomes_text(self, tmp_path):
        pytest.importorskip("openpyxl")
        write_table(pd.DataFrame({"id": pd.array([2**53 + 1, None], dtype="Int64"), "n": 1}), tmp_path / "t.xlsx")
        assert read_table(tmp_path / "t.xlsx")["id"].tolist()[0] == "9007199254740993"


def test_a_missing_file_is_said_with_what_may_have_been_meant(tmp_path):
    (tmp_path / "people.csv").write_text("a\n1\n")
    with pytest.raises(SchemaError, match=r"there is no file .*peopel\.csv; did you mean people\.csv\?"):
        read_table(tmp_path / "peopel.csv")
    with pytest.raises(SchemaError, match=r"there is no file .*x\.csv$"):
        read_table(tmp_path / "nowhere" / "x.csv")


def test_a_folder_is_no_table(tmp_path):
    (tmp_path / "parts.parquet").mkdir()
    with pytest.raises(SchemaError, match=r"parts\.parquet is a folder; name a file in it"):
        read_table(tmp_path / "parts.parquet")


def test_a_format_can_be_named_where_the_ending_says_nothing(tmp_path):
    (tmp_path / "t.dat").write_text("a|b\n1|2\n")
    with pytest.raises(SchemaError, match=r"t\.dat: the ending must be one of .*--format"):
        read_table(tmp_path / "t.dat")
    assert read_table(tmp_path / "t.dat", format="csv").shape == (1, 2)
    with pytest.raises(SchemaError, match="name an SQLite file as sqlite:///FILE"):
        read_table(tmp_path / "shop.db")


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet", "t.feather", "t.xlsx", "t.duckdb#x", "t.csv.gz"])
def test_a_failed_write_leaves_nothing_behind(tmp_path, name, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    for extra in ("openpyxl", "duckdb"):
        pytest.importorskip(extra)
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OutputError, match="No space left on device"):
        write_table(pd.DataFrame({"a": [1, 2]}), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_value_that_a_form_cannot_hold_leaves_nothing_behind(tmp_path):
    mixture = pd.DataFrame({"a": [1, "x", {2}]}, dtype=object)
    for name in ("t.parquet", "t.feather", "t.jsonl"):
        with pytest.raises(OutputError, match=f"cannot write .*{name}"):
            write_table(mixture, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_targets_that_cannot_be_written_are_said_early(tmp_path, monkeypatch):
    with pytest.raises(OutputError, match="the folder .* does not exist"):
        check_target(tmp_path / "no" / "t.csv")
    with pytest.raises(OutputError, match="the ending must be one of"):
        check_target(tmp_path / "t.doc")
    (tmp_path / "t.csv").write_text("kept")
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(tmp_path / "t.csv"))
    with pytest.raises(OutputError, match=r"t\.csv: the file is write-protected"):
        check_target(tmp_path / "t.csv")
    with pytest.raises(OutputError, match="write-protected"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "kept"


def test_only_tables_are_written(tmp_path):
    with pytest.raises(SchemaError, match="only a table can be written, got list"):
        write_table([1, 2], tmp_path / "t.csv")


FORMULAS = ["=1+1", "+49 170 1", "-x", "@here", "plain", "=HYPERLINK(1)"]


def test_a_sheet_is_not_written_where_other_sheets_would_be_lost(tmp_path):
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"n": [1, 2]})
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        frame.to_excel(book, sheet_name="one", index=False)
        frame.to_excel(book, sheet_name="two", index=False)
    before = (tmp_path / "book.xlsx").read_bytes()
    for write in (check_target, lambda place: write_table(frame, place)):
        with pytest.raises(OutputError, match=r"its other sheets \(one, two\) would be lost; name another file"):
            write(f"{tmp_path}/book.xlsx#three")
    assert (tmp_path / "book.xlsx").read_bytes() == before
    assert check_target("-", format="excel", sheet="three").is_pipe
    write_table(frame, f"{tmp_path}/single.xlsx#one")
    write_table(frame.iloc[:1], f"{tmp_path}/single.xlsx#one")
    assert len(read_table(tmp_path / "single.xlsx")) == 1


def test_text_that_begins_as_a_formula_comes_back_from_excel_as_text(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"=name": FORMULAS, "n": range(6)})
    write_table(frame, tmp_path / "t.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "n"}
    assert read_table(tmp_path / "t.xlsx").astype(object).equals(frame.astype(object))


def test_csv_neutralizes_formulas_when_asked_and_leaves_numbers_alone(tmp_path):
    frame = pd.DataFrame({"=name": FORMULAS, "n": [-1.5, 2, 3, 4, 5, 6], "code": ["-1", "+2", "-3,5", "a", "b", "c"]})
    write_table(frame, tmp_path / "plain.csv")
    assert read_table(tmp_path / "plain.csv")["=name"].tolist() == FORMULAS
    write_table(frame, tmp_path / "safe.csv", neutralize=True)
    again = read_table(tmp_path / "safe.csv")
    assert again["'=name"].tolist() == [t if t == "plain" else f"'{t}" for t in FORMULAS]
    assert again["n"].tolist() == frame["n"].tolist()
    assert again["code"].tolist() == frame["code"].tolist()


@pytest.mark.parametrize("neutralize", [False, True])
def test_a_carriage_return_in_text_ends_no_line_and_hides_no_formula(tmp_path, neutralize):
    frame = pd.DataFrame({"text": ["\r=1", "a\rb", "a\r\n=1", "b"], "n": [1.5, None, 3.0, 4.0]})
    write_table(frame, tmp_path / "t.csv", neutralize=neutralize)
    again = read_table(tmp_path / "t.csv")
    assert again["text"].tolist() == [f"'{text}" if text[0] == "\r" and neutralize else text for text in frame["text"]]
    assert again["n"].equals(frame["n"])
