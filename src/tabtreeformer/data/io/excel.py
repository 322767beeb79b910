"""Excel workbooks (extra `excel`): the first row of a sheet names the columns."""

from __future__ import annotations

import itertools
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ..._runtime.files import replacing
from ...errors import OutputError, SchemaError, import_extra
from .columns import from_rows
from .location import Place, TableOptions, check_names, choose_table

MAX_ROWS, MAX_COLUMNS = 1_048_575, 16_384
"""Maximum rows (below the header) and columns of a sheet."""
MAX_DIGITS = 10**15
"""Excel keeps fifteen digits of a number."""
ERRORS = ("#DIV/0!", "#REF!", "#NAME?", "#VALUE!", "#NUM!", "#NULL!")


def read_excel(place: Place, options: TableOptions) -> pd.DataFrame:
    """Read a sheet: text cells stay text, formulas give their last computed value."""
    openpyxl = import_extra("openpyxl", "excel")
    assert place.path is not None
    with place.path.open("rb") as stream:
        try:
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            sheet = book[choose_table(place, options.sheet, [s.title for s in book.worksheets], "sheet")]
            return _read(place, sheet.iter_rows(values_only=True))
        except SchemaError:
            raise
        except (zipfile.BadZipFile, zlib.error, KeyError, OSError, ValueError, SyntaxError) as error:
            raise SchemaError(
                f"{place.name} cannot be read as excel: it is damaged or of another kind ({error})"
            ) from error


def _read(place: Place, rows: Iterator[tuple[Any, ...]]) -> pd.DataFrame:
    header = _header(place, next(rows, ()))
    columns: list[list[Any]] = [[] for _ in header]
    blank = 0
    for number, row in enumerate(rows, start=2):
        if all(cell is None for cell in row):
            blank += 1  # empty rows count only if others follow
            continue
        _refuse_beyond(place, row, header, number)
        for name, values, cell in zip(header, columns, itertools.chain(row, itertools.repeat(None)), strict=False):
            values.extend([None] * blank)
            values.append(_cell(cell, f"{place.name}, row {number}, column {name!r}"))
        blank = 0
    return from_rows(header, columns)


def write_excel(df: pd.DataFrame, place: Place, options: TableOptions) -> None:
    """Write a workbook with one sheet."""
    assert place.path is not None
    import_extra("openpyxl", "excel")
    if len(df) > MAX_ROWS or df.shape[1] > MAX_COLUMNS:
        raise OutputError(
            f"cannot write {place.name}: a sheet holds at most {MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns, "
            f"got {len(df):,} and {df.shape[1]:,}; write .csv or .parquet"
        )
    for name in df.columns:
        if isinstance(df[name].dtype, pd.DatetimeTZDtype):
            raise OutputError(
                f"cannot write {place.name}: column {name!r} has a time zone, which Excel cannot store; write .parquet"
            )
    df = df.copy(deep=False)
    for j in range(df.shape[1]):
        df.isetitem(j, _within_excel(df.iloc[:, j]))
    sheet = options.sheet or place.table
    if sheet is not None:
        _refuse_loss(place, sheet)
    with replacing(place.path) as temporary, temporary.open("wb") as stream:
        try:
            with pd.ExcelWriter(stream, engine="openpyxl") as writer:
                df.to_excel(writer, sheet_name=sheet or "Sheet1", index=False)
                for written in writer.sheets.values():
                    _as_text(written)
        except ValueError as error:  # a character that XML does not allow, a sheet name of more than 31 characters
            raise OutputError(f"cannot write {place.name}: {error}") from error


def check_excel(place: Place, options: TableOptions) -> None:
    """Fail early if a sheet cannot be written."""
    sheet = options.sheet or place.table
    if sheet is not None and not place.is_pipe:
        _refuse_loss(place, sheet)


def _refuse_loss(place: Place, sheet: str) -> None:
    """Keep a user who names one sheet from losing the others: writing replaces the whole workbook."""
    assert place.path is not None
    if not place.path.is_file():
        return
    openpyxl = import_extra("openpyxl", "excel")
    try:
        names = openpyxl.load_workbook(place.path, read_only=True).sheetnames
    except (zipfile.BadZipFile, zlib.error, KeyError, OSError, ValueError, SyntaxError):
        return  # not a workbook, and replaced only on request
    if others := [name for name in names if name != sheet]:
        raise OutputError(
            f"cannot write sheet {sheet!r} of {place.name}: its other sheets ({', '.join(others[:5])}) would be lost; "
            "name another file"
        )


def _as_text(sheet: Any) -> None:
    """Keep text that starts with = as text; openpyxl would make it a formula, which Excel computes on opening."""
    for row in sheet.iter_rows():
        for cell in row:
            if cell.data_type == "f":
                cell.data_type, cell.quotePrefix = "s", True


def _within_excel(series: pd.Series) -> pd.Series:
    """Turn integers with more digits than Excel keeps into text, so that no key changes."""
    if not pd.api.types.is_integer_dtype(series.dtype):
        return series
    known = series.dropna()
    if known.empty or (known.min() > -MAX_DIGITS and known.max() < MAX_DIGITS):
        return series
    return series.astype(object).map(lambda v: None if v is pd.NA else str(v))


def _header(place: Place, row: tuple[Any, ...]) -> list[str]:
    names = list(row)
    while names and names[-1] is None:
        names.pop()
    if not names:
        raise SchemaError(f"{place.name} is empty: the sheet has nothing in its first row")
    header = ["" if name is None else str(name) for name in names]
    check_names(place, header)
    return header


def _refuse_beyond(place: Place, row: tuple[Any, ...], header: list[str], number: int) -> None:
    beyond = [cell for cell in row[len(header) :] if cell is not None]
    if beyond:
        raise SchemaError(f"{place.name}, row {number} holds {beyond[0]!r} to the right of the last named column")


def _cell(value: Any, where: str) -> Any:
    if isinstance(value, str):
        if value in ERRORS:
            raise SchemaError(f"{where} holds the error {value}; correct the formula or clear the cell")
        return None if value in ("", "#N/A") else value
    return value
