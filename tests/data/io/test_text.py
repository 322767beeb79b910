"""CSV: what a careful analyst expects of a reader that must not harm the data."""

import bz2
import gzip
import lzma

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tabtreeformer import OutputError, ReadingWarning, SchemaError, read_table, write_table
from tabtreeformer.errors import ConfigError

TEXT = pd.Series(["a"]).dtype
"""What this pandas makes of text."""


def put(path, text, encoding="utf-8"):
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def read(tmp_path, text, **options):
    return read_table(put(tmp_path / "t.csv", text), **options)


def column(tmp_path, *fields, **options):
    """Read one column of fields, beside a column that keeps the lines from being blank."""
    return read(tmp_path, "x;y\n" + "".join(f"{f};.\n" for f in fields), sep=";", **options)["x"]


@pytest.mark.parametrize(
    ("fields", "dtype"),
    [
        (["1", "-2", "0"], "int64"),
        (["1", "", "3"], "Int64"),
        (["1", "NA", "3"], "Int64"),
        (["18446744073709551615", "0"], "uint64"),
        (["1.5", "2"], "float64"),
        (["1.5", "", "NaN"], "float64"),
        (["1e-05", "1.5E5", "1e+20", ".5", "5."], "float64"),
        (["+1.5", "-2"], "float64"),
        (["1.5", "inf"], "float64"),
        ([" 5", "6 ", " 7.5 "], "float64"),
        (["", ""], "float64"),
        (["True", "False"], "bool"),
        (["True", "", "False"], "boolean"),
    ],
)
def test_numbers_and_truth_values_are_known(tmp_path, fields, dtype):
    assert str(column(tmp_path, *fields).dtype) == dtype


def test_a_postal_code_is_text_whether_or_not_one_begins_with_zero(tmp_path):
    frame = read_table(put(tmp_path / "t.csv", b"PLZ;zip_code;n\n80331;;1\n50667;99501;2\n"))
    assert [str(dtype) for dtype in frame.dtypes] == [str(TEXT), str(TEXT), "int64"]
    assert frame["PLZ"].tolist() == ["80331", "50667"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (["01234", "99999"], "a zip code has leading zeros"),
        (["007", "12"], "so has a number of a catalogue"),
        (["00.5", "1.5"], "no program writes such a number"),
        (["12e4", "1234", "56e7"], "a hexadecimal part number is no power of ten"),
        (["+491701234567", "+491701234568"], "a telephone number has a plus that counts"),
        (["12345678901234567890123", "1"], "a code of 23 digits fits no number"),
        (["NA", "DE", "FR"], "Namibia is not missing"),
        (["None", "Gravel", "nan"], "a word is a word among words"),
        (["true", "false"], "another program's spelling comes back as it was"),
        (["True", "1"], "a mixture is text"),
        (["2024-01-05", "2024-01-06"], "a date comes back as it was written"),
        (["1,234", "5,678"], "thousands or decimals: nobody knows"),
        (["12%", "€ 5", "1 000"], "units belong to the value"),
        (["NA", "NA"], "nothing says that numbers were meant"),
        (["1_000", "2"], "Python's underscores are not data's"),
        (["1٣", "٤"], "digits of other scripts would come back as ours"),
    ],
)
def test_what_only_looks_like_numbers_stays_text(tmp_path, fields, why):
    values = column(tmp_path, *fields)
    assert values.dtype == TEXT, why
    assert values.tolist() == fields, why


def test_whole_numbers_beside_gaps_keep_every_digit(tmp_path):
    assert column(tmp_path, "9007199254740993", "", " 12").tolist() == [9007199254740993, pd.NA, 12]


def test_decimals_are_the_nearest_numbers(tmp_path):
    fields = ["0.1", "2.50", "1.7976931348623157e+308", "5e-324", "0.12345678901234567"]
    assert column(tmp_path, *fields).tolist() == [float(f) for f in fields]


def test_what_stands_for_a_missing_value_can_be_named(tmp_path):
    assert column(tmp_path, "1", "!", "3").tolist() == ["1", "!", "3"]
    assert column(tmp_path, "1", "!", "3", missing=["!"]).isna().tolist() == [False, True, False]
    assert column(tmp_path, "1", "?", "3", missing=["?"]).isna().tolist() == [False, True, False]
    assert column(tmp_path, "a", "?", missing=["?"]).isna().tolist() == [False, True]


@pytest.mark.parametrize("sign", ["-", "--", "?", "."])
def test_a_sign_among_numbers_is_a_missing_value_and_that_is_said(tmp_path, sign):
    with pytest.warns(ReadingWarning, match=r"was read as missing among the numbers of column 'x'") as said:
        values = column(tmp_path, "1", sign, "3")
    assert len(said) == 1
    assert values.tolist() == [1, pd.NA, 3]
    assert column(tmp_path, "a", sign, "c").tolist() == ["a", sign, "c"]  # among words it is a word
    assert column(tmp_path, sign, sign).tolist() == [sign, sign]


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_the_separator_is_found_out(tmp_path, sep):
    frame = read(tmp_path, f'name{sep}"a, b; c|d\te"\nx{sep}1\ny{sep}2\n')
    assert frame.to_numpy().tolist() == [["x", 1], ["y", 2]]
    assert list(frame.columns) == ["name", "a, b; c|d\te"]


def test_the_separator_that_fits_all_rows_wins(tmp_path):
    frame = read(tmp_path, "price, EUR;weight, kg;n\n1,5;2,25;1\n2,5;3,75;2\n")
    assert list(frame.columns) == ["price, EUR", "weight, kg", "n"]
    assert frame["weight, kg"].tolist() == [2.25, 3.75]
    assert frame["n"].dtype == "int64"


def test_any_other_separator_can_be_named(tmp_path):
    for sep, named in (("^", "^"), ("\t", "tab"), ("\t", "\\t"), (" ", " ")):
        assert read(tmp_path, f"a{sep}b\n1{sep}2\n", sep=named).shape == (1, 2)


def test_one_column_needs_no_separator(tmp_path):
    frame = read(tmp_path, 'x\n1\n""\n3\n\n')
    assert frame["x"].tolist() == [1, pd.NA, 3]


def test_decimal_commas_are_known_where_the_comma_is_free(tmp_path):
    assert read(tmp_path, "a;b\n1,5;1\n2,25;2\n")["a"].tolist() == [1.5, 2.25]
    assert read(tmp_path, "a;b\n1,500;1\n2,250;2\n")["a"].tolist() == ["1,500", "2,250"]
    assert read(tmp_path, "a;b\n1,500;1\n2,250;2\n", decimal=",")["a"].tolist() == [1.5, 2.25]
    assert read(tmp_path, "a;b\n1,5;1.5\n2,25;2.5\n")["a"].tolist() == ["1,5", "2,25"]


def test_quoted_fields_hold_separators_quotes_and_line_ends(tmp_path):
    frame = read(tmp_path, 'a,b\n"x, ""y""\nz",1\nw,2\n')
    assert frame["a"].tolist() == ['x, "y"\nz', "w"]
    assert read(tmp_path, "a,b\n'x, y',1\n", quote="'")["a"].tolist() == ["x, y"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings_that_show_are_found_out(tmp_path, encoding):
    put(tmp_path / "t.csv", "stadt,n\nKöln,1\nZürich,2\n", encoding)
    frame = read_table(tmp_path / "t.csv")
    assert list(frame.columns) == ["stadt", "n"]
    assert frame["stadt"].tolist() == ["Köln", "Zürich"]


def test_western_letters_are_read_by_their_code_page_and_that_is_said(tmp_path):
    path = put(tmp_path / "t.csv", "stadt,preis\nKöln,5 €\nMálaga,7 €\n", "cp1252")
    with pytest.warns(ReadingWarning, match=r"t\.csv is not UTF-8 and was read as cp1252"):
        assert read_table(path)["stadt"].tolist() == ["Köln", "Málaga"]
    put(path, "stadt,n\nGöteborg,1\nÅrhus,2\n", "latin-1")
    with pytest.warns(ReadingWarning, match="read as cp1252"):
        assert read_table(path)["stadt"].tolist() == ["Göteborg", "Århus"]


@pytest.mark.parametrize(
    "content",
    [
        "город,n\nМосква,1\nТула,2\n".encode("cp1251"),
        "町,n\n東京,1\n大阪,2\n".encode("shift_jis"),
        "stadt,n\nKöln,1\n".encode() + "Köln,2\n".encode("latin-1"),
    ],
)
def test_letters_that_do_not_fit_the_code_page_are_asked_for(tmp_path, content):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(SchemaError, match="name its encoding, e.g"):
        read_table(tmp_path / "t.csv")


def test_an_encoding_that_does_not_show_is_asked_for_and_taken(tmp_path):
    path = put(tmp_path / "t.csv", "stadt,n\nUlm,1\nKöl\x85n,2\n", "latin-1")
    path.write_bytes(path.read_bytes().replace(b"\x85", b"\x81"))  # no letter of cp1252
    with pytest.raises(SchemaError, match=r"t\.csv is not UTF-8: byte 0xf6 in line 3; name its encoding, e.g"):
        read_table(path)
    assert read_table(path, encoding="latin-1")["stadt"].tolist() == ["Ulm", "Köl\x81n"]
    with pytest.raises(ConfigError, match="there is no encoding 'latin-99'"):
        read_table(path, encoding="latin-99")


def test_mixed_encodings_are_refused_with_the_line(tmp_path):
    rows = ["n,stadt"] + [f"{i},Köln" for i in range(200_000)]
    mixed = "\n".join(rows).encode() + b"\n7,K\xf6ln\n"
    with pytest.raises(SchemaError, match="byte 0xf6 in line 200002"):
        read_table(put(tmp_path / "t.csv", mixed))
    with pytest.raises(SchemaError, match="is not ascii: byte 0xc3 in line 2; name the right one"):
        read_table(tmp_path / "t.csv", encoding="ascii")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.csv is empty"),
        ("\n\n  \n", "t.csv is empty"),
        ("a,b\n", "t.csv has 2 columns and no rows"),
        ("a,b,a\n1,2,3\n", "column name 'a' occurs more than once"),
        ("a,b\n1,2\n3\n", "line 3 has 1 field but the header has 2"),
        ("a,b\n1,2\n\n3,4,5\n", "line 4 has 3 fields but the header has 2"),
        ("a,b\n1,2,\n3,4,\n", "line 2 has 3 fields but the header has 2"),
        ('a,b\n1,"2\n3,4\n5,6\n', "cannot be read as csv: Error tokenizing data"),
        ('a,b\n1,"' + "2\n3,4\n" * 50_000, "is a quote never closed?"),
        (b"a,b\n1,\x002\n", "line 2 holds a zero byte"),
        (b"PAR1xxxxxxxxx", "not a text file but a Parquet file; name it .parquet"),
        (b"PK\x03\x04xxxx", "not a text file but a zip or Excel file"),
        (b"SQLite format 3\x00xxx", "an SQLite database; name it as sqlite:///FILE"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "a picture"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused_by_name_and_line(tmp_path, text, message):
    path = put(tmp_path / "t.csv", text)
    with pytest.raises(SchemaError) as error:
        read_table(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


PACK = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("ending", [*PACK, "zst"])
def test_packed_files_in_and_out(tmp_path, ending):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1, 2], "zip": ["01234", "00001"]})
    path = tmp_path / f"t.csv.{ending}"
    write_table(frame, path)
    assert not path.read_bytes().startswith(b"a,")
    pd.testing.assert_frame_equal(read_table(path), frame)
    before = path.read_bytes()
    write_table(frame, path)
    assert path.read_bytes() == before, "the same rows make the same file"


@pytest.mark.parametrize("ending", PACK)
def test_a_packed_file_cut_in_half_is_refused(tmp_path, ending):
    rows = "a,b\n" + "".join(f"{i},{i * i % 977}\n" for i in range(5000))
    packed = PACK[ending](rows.encode())
    path = put(tmp_path / f"t.csv.{ending}", packed[: len(packed) // 2])
    with pytest.raises(SchemaError, match=r"t\.csv\.\w+ is truncated"):
        read_table(path)


def test_a_packed_file_that_is_damaged_is_refused(tmp_path):
    packed = bytearray(gzip.compress(("a,b\n" + "1,2\n" * 5000).encode()))
    packed[-6] ^= 0xFF
    with pytest.raises(SchemaError, match=r"t\.csv\.gz cannot be read: CRC"):
        read_table(put(tmp_path / "t.csv.gz", bytes(packed)))


def test_a_packed_file_is_known_by_its_content(tmp_path):
    assert read_table(put(tmp_path / "t.csv", gzip.compress(b"a,b\n1,2\n"))).shape == (1, 2)
    assert read_table(put(tmp_path / "t.csv.gz", b"a,b\n1,2\n")).shape == (1, 2)


def test_tab_separated_files_are_written_with_tabs(tmp_path):
    frame = pd.DataFrame({"a": [1], "b": ["x,y"]})
    for name in ("t.tsv", "t.tab", "t.tsv.gz"):
        write_table(frame, tmp_path / name)
        pd.testing.assert_frame_equal(read_table(tmp_path / name), frame)
    assert (tmp_path / "t.tsv").read_text() == "a\tb\n1\tx,y\n"


def test_the_dialect_that_is_asked_for_is_written(tmp_path):
    frame = pd.DataFrame({"stadt": ["Köln", None], "x": [1.5, 2.0]})
    write_table(frame, tmp_path / "t.csv", sep=";", decimal=",", encoding="latin-1", missing=["-"])
    assert (tmp_path / "t.csv").read_bytes() == "stadt;x\nKöln;1,5\n-;2,0\n".encode("latin-1")


def test_a_letter_that_the_encoding_has_not_leaves_the_old_file(tmp_path):
    path = put(tmp_path / "t.csv", "old")
    with pytest.raises(OutputError, match="latin-1 has no 'Ł'; choose utf-8"):
        write_table(pd.DataFrame({"a": ["Łódź"]}), path, encoding="latin-1")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": ";;"}, "sep must be a single character"),
        ({"quote": ""}, "quote must be a single character"),
        ({"decimal": "x"}, "decimal must be"),
        ({"sep": ",", "decimal": ","}, "must differ"),
        ({"format": "word"}, "format must be one of csv"),
        ({"query": "select 1"}, "--query is for duckdb and sql"),
        ({"sheet": "x"}, "--sheet is for excel"),
    ],
)
def test_options_that_cannot_be_are_refused(tmp_path, options, message):
    with pytest.raises(ConfigError, match=message):
        read(tmp_path, "a,b\n1,2\n", **options)


@pytest.mark.parametrize("field", ["1.E400", "-1.5e+999", "9" * 320 + ".5"])
def test_a_number_that_no_float_holds_stays_text(tmp_path, field):
    (tmp_path / "t.csv").write_text(f"a,b\n{field},1.5\n2.5,inf\n")
    frame = read_table(tmp_path / "t.csv")
    assert frame["a"].tolist() == [field, "2.5"]
    assert frame["b"].tolist() == [1.5, float("inf")]


FIELDS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
    st.integers(-(10**25), 10**25).map(str),
    st.floats().map(repr),
    st.from_regex(r"[+-]?[0-9.,eE]{1,8}", fullmatch=True),
    st.sampled_from(["", "NA", "nan", "True", "False", "inf", " 1", "1 ", "1e5", "00", "-0", '"', "None", "null"]),
)


@pytest.mark.filterwarnings("ignore::tabtreeformer.errors.ReadingWarning")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.integers(1, 4), st.integers(1, 6))
def test_no_field_is_harmed_on_its_way(tmp_path, data, width, length):
    """Every field comes back as the same text, the same number, or missing where it was empty or marked so."""
    rows = data.draw(st.lists(st.lists(FIELDS, min_size=width, max_size=width), min_size=length, max_size=length))
    sep = data.draw(st.sampled_from([",", ";", "\t", "|"]))
    header = [f"c{j}" for j in range(width)]
    raw = pd.DataFrame(rows, columns=header, dtype=object)
    path = tmp_path / "t.csv"
    raw.to_csv(path, index=False, sep=sep, quoting=1, encoding="utf-8")
    frame = read_table(path, sep=sep)
    assert list(frame.columns) == header
    assert len(frame) == length
    for name in header:
        for old, new in zip(raw[name], frame[name], strict=True):
            if pd.isna(new):
                assert old == "" or frame[name].dtype != TEXT
            elif frame[name].dtype == TEXT:
                assert old == new
            elif isinstance(new, bool | np.bool_):
                assert old == str(bool(new))
            elif pd.api.types.is_integer(new):
                assert int(old) == new
            else:
                assert float(old.replace(",", ".")) == new
