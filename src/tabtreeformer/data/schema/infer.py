"""Choose the kind of a column as a careful analyst would, and give the reason in a sentence."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types as ptypes

from ...errors import SchemaError
from .column import DATE_OBJECT, DATETIME_OBJECT, DECIMAL_OBJECT, NUMBER_OBJECT, Column
from .dtypes import arrow_family, dtype_name
from .forms import DAY_NUMBER, NumberForm, day_or_month_first, find_date_form, find_number_form, read_dates
from .kinds import BOOLEAN, CATEGORICAL, CONSTANT, DATETIME, FEW_CLASSES, IDENTIFIER, NUMERIC, TEXT, TIMEDELTA
from .meanings import HEX, JSON, PERSONAL, POSTAL, SAID, UUID, find_meaning
from .numbers import decimals_under_noise
from .values import LABEL, NUMBER, SINGLE, TIME, as_scalar, is_widened, sort_of

FEW_VALUES = 20
"""Text with at most this many values is categorical, however few rows each has, unless no value repeats."""
MANY_VALUES = 1000
"""Text with more values than this is of kind text: rare values are not kept."""
REPEATS = 3
"""Text with fewer rows per value than this, on average, is not categorical."""
ROWS_OF_A_CODE = 10
"""With fewer rows per postal code than this, on average, rare ones are made up to match their town."""
ENOUGH_ROWS = 20
"""With fewer rows, the absence of repeats proves nothing."""
MANY_REPEATS = 2
"""With more rows per key than this, on average, keys are categories: a country code is not a key."""
MANY_WORDS = 4
LONG_KEY = 8
"""Minimum characters of a hexadecimal key."""
RUNNING = "a running number"
"""The reason given for a key that only the order of the rows reveals."""

_KEY_WORDS = {"id", "uuid", "guid", "key", "pk", "identifier", "oid", "rowid", "serial", "rownames", "unnamed"}
_OWNERS = "user|customer|client|order|product|account|patient|person|transaction|invoice|item|row"
_JOINED_KEY = re.compile(rf"({_OWNERS})id$|(nr|nummer|number)$")
_ZIP_WORDS = {"zip", "zipcode", "postcode", "postal", "plz", "postleitzahl"}


def describe(series: pd.Series, name: str | int, target: bool = False) -> Column:
    """Describe one column; a target is never treated as an identifier."""
    name = int(name) if isinstance(name, np.integer) else name
    column = _dtype_facts(series, name)
    present = series.dropna()
    check_text(present, name)
    if not len(present):
        return replace(column, kind=CONSTANT, form=None, why="it has no value at all")
    if column.categories is None and column.sort == LABEL:
        column = _form_of_objects(column, present)
    distinct = present.unique()
    if len(distinct) == 1 and len(present) == len(series):
        return replace(column, kind=CONSTANT, why="every row has the same value")
    if column.categories is not None:
        return replace(column, why=f"its dtype is category, with {len(column.categories):,} values")
    if column.kind == BOOLEAN:
        return replace(column, why="true or false")
    if column.sort == NUMBER:
        return _number(column, present, distinct, target, complete=len(present) == len(series))
    if column.sort == TIME:
        return replace(
            column, kind=DATETIME, why="dates, each a Python object" if column.form else "its dtype is a date"
        )
    if isinstance(series.dtype, pd.IntervalDtype):
        return replace(column, why=f"its dtype is an interval, with {len(distinct):,} values")
    if column.sort != LABEL:
        return replace(column, kind=TIMEDELTA, why="its dtype is a duration")
    if not all(isinstance(value, str) for value in distinct):
        return replace(column, why=f"values of several types, {len(distinct):,} different ones")
    return _text(column, present, [str(value) for value in distinct], target)


def check_text(series: pd.Series, name: str | int) -> None:
    """Reject text that no file can store: lone surrogates, which faulty decoding leaves behind."""
    values: Any = series
    if isinstance(series.dtype, pd.CategoricalDtype):
        values = series.cat.categories
    if values.dtype != object:
        return  # text dtypes store UTF-8 or were checked when created
    texts = [value for value in values if isinstance(value, str)]
    try:
        "".join(texts).encode("utf-8")
    except UnicodeEncodeError:
        bad = next(text for text in texts if any("\ud800" <= letter <= "\udfff" for letter in text))
        raise SchemaError(
            f"column {name!r} holds {bad!r}, which is not valid text (a lone surrogate); decode the table again, or "
            f"clean it with .str.encode('utf-8', 'replace').str.decode('utf-8')"
        ) from None


# ---- dtypes


def _dtype_facts(series: pd.Series, name: str | int) -> Column:
    """The column as described by its dtype alone; a dtype that cannot be learned is rejected."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _categories(dtype, name)
    if ptypes.is_complex_dtype(dtype):
        raise SchemaError(f"column {name!r} holds complex numbers; split it into two columns of numbers")
    column = Column(name, CATEGORICAL, dtype_name(dtype))
    if isinstance(dtype, pd.ArrowDtype):
        family = arrow_family(dtype)
        if family == "other":
            raise _cannot_learn(name, dtype)
        return replace(column, kind=BOOLEAN) if family == "bool" else column
    if ptypes.is_bool_dtype(dtype):
        return replace(column, kind=BOOLEAN)
    if ptypes.is_object_dtype(dtype):
        return replace(column, missing=_marker(series))
    if sort_of(dtype) != LABEL or isinstance(dtype, pd.StringDtype | pd.IntervalDtype):
        return column
    raise _cannot_learn(name, dtype)


def _categories(dtype: Any, name: str | int) -> Column:
    inner_name = dtype_name(dtype.categories.dtype)
    if isinstance(dtype.categories.dtype, pd.IntervalDtype):
        categories: tuple[Any, ...] = tuple(str(value) for value in dtype.categories)
    elif sort_of(dtype.categories.dtype) == LABEL:
        categories = tuple(_plain(value, name) for value in dtype.categories)
    else:
        categories = tuple(Column(name, CATEGORICAL, inner_name).read(pd.Series(dtype.categories)).tolist())
    return Column(name, CATEGORICAL, "category", categories, inner_name, bool(dtype.ordered))


def _marker(series: pd.Series) -> str:
    """The most common missing-value marker of an object column."""
    markers = Counter(
        "None" if value is None else "NA" if value is pd.NA else "NaT" if value is pd.NaT else "NaN"
        for value in series[series.isna()].tolist()
    )
    return markers.most_common(1)[0][0] if markers else "None"


def _form_of_objects(column: Column, present: pd.Series) -> Column:
    """Determine what an object column contains; values that are not plain are rejected."""
    if column.dtype != "object":
        return column
    found = ptypes.infer_dtype(present, skipna=True)
    if found == "string":
        return column
    forms = {"decimal": DECIMAL_OBJECT, "date": DATE_OBJECT, "floating": NUMBER_OBJECT}
    if found in forms:
        return replace(column, form=forms[found])
    if found == "integer" and all(-(2**63) <= value < 2**63 for value in present.tolist()):
        return replace(column, form=NUMBER_OBJECT)
    if found == "datetime" and all(value.tzinfo is None for value in present.tolist()):
        return replace(column, form=DATETIME_OBJECT)
    if found == "boolean":
        return replace(column, kind=BOOLEAN)
    for value in present:
        if isinstance(value, list | dict | set | np.ndarray):
            raise SchemaError(
                f"column {column.name!r} holds a {type(value).__name__}, {value!r}; only plain values can be learned"
            )
    for value in present.unique():
        _plain(value, column.name)
    return column


def _plain(value: Any, name: str | int) -> Any:
    """Return text, a number or a boolean as a plain Python object; reject anything else."""
    value = as_scalar(value)
    if isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise SchemaError(
        f"column {name!r} holds {value!r} of type {type(value).__name__}; "
        f"only text, numbers, dates and truth values can be learned: convert it, for example with .astype(str)"
    )


def _cannot_learn(name: str | int, dtype: Any) -> SchemaError:
    return SchemaError(
        f"column {name!r} has dtype {dtype}, which cannot be learned; convert it to numbers, dates or text, or drop it"
    )


# ---- numbers


def _number(column: Column, present: pd.Series, distinct: Any, target: bool, *, complete: bool) -> Column:
    """Numbers are numeric, except for keys, postal codes and days written as numbers."""
    numeric = replace(column, kind=NUMERIC)
    if not (column.whole or (column.form == NUMBER_OBJECT and ptypes.infer_dtype(present) == "integer")):
        return replace(numeric, why="numbers") if column.form else _real(numeric, present)
    few = len(distinct)
    values = pd.Series(column.read(present)).to_numpy()
    if target:
        why = f"the target, whole numbers with {few:,} values"
        return (
            replace(column, kind=CATEGORICAL, form=None, why=why) if few <= FEW_CLASSES else replace(numeric, why=why)
        )
    if is_postal(column.name):
        return replace(column, kind=CATEGORICAL, form=None, why="a postal code by its name: digits, not a quantity")
    if column.form is None and _are_days(values):
        return replace(column, kind=DATETIME, form=DAY_NUMBER, why="whole numbers that are days, e.g. 20240131")
    if complete and few == len(present) >= ENOUGH_ROWS:
        if _named_as_key(column.name) and column.form is None:
            return replace(column, kind=IDENTIFIER, why="no value repeats, and the name says that it is a key")
        if _is_running(values) and column.form is None and not _are_years(column.name, values):
            return replace(column, kind=IDENTIFIER, why=RUNNING)
    if complete and column.form is None and _repeats_as_key(column.name, few, len(present)):
        return replace(column, kind=IDENTIFIER, why="a key by its name; some rows share one")
    if _are_years(column.name, values):
        return replace(numeric, why="years, as numbers")
    why = f"whole numbers with {few} values, each kept exactly" if few <= FEW_VALUES else "whole numbers"
    return replace(numeric, why=why)


def _real(column: Column, present: pd.Series) -> Column:
    """Detect 64-bit floats that have passed through 32 bits, and floats with noise from arithmetic."""
    column = replace(column, why="numbers")
    if not column.single and is_widened(column.read(present).to_numpy()):
        column = replace(column, form=SINGLE, why="numbers that have passed through 32 bits")
    decimals = decimals_under_noise(column.read(present).to_numpy(), single=column.single)
    if decimals is None:
        return column
    return replace(column, decimals=decimals, why=f"{column.why}, of {decimals} decimals beside noise of arithmetic")


def _are_days(values: Any) -> bool:
    if values.min() < 19000101 or values.max() > 21001231 or len(np.unique(values // 10000)) == len(values):
        return False
    return read_dates([str(value) for value in np.unique(values).tolist()], DAY_NUMBER) is not None


def _are_years(name: str | int, values: Any) -> bool:
    return bool(values.min() >= 1500 and values.max() <= 2200 and _words(name) & {"year", "jahr", "yr"})


def _is_running(values: Any) -> bool:
    """Whether whole numbers increase from row to row, mostly by one; a few rows may have been removed."""
    steps = np.diff(values.astype(np.float64))
    return bool((steps > 0).all() and steps.sum() <= 3 * len(steps))


def _words(name: str | int) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", str(name))}


def is_postal(name: str | int) -> bool:
    """Whether the name says that a column contains postal codes."""
    return bool(_words(name) & _ZIP_WORDS)


def _named_as_key(name: str | int) -> bool:
    return bool(_words(name) & _KEY_WORDS) or bool(_JOINED_KEY.search(str(name).lower().rstrip(".")))


def _repeats_as_key(name: str | int, few: int, n_rows: int) -> bool:
    """Whether numbers are keys shared by some rows: named like a key, and mostly unique."""
    return _named_as_key(name) and n_rows >= ENOUGH_ROWS and few > FEW_VALUES and n_rows < MANY_REPEATS * few


# ---- text


def _text(column: Column, present: pd.Series, distinct: list[str], target: bool) -> Column:
    """Dates and numbers written as text are dates and numbers; the rest is a key, free text or a category."""
    meaning = find_meaning(column.name, distinct)
    if meaning is not None and not target:
        return _text_with_meaning(replace(column, meaning=meaning), len(present), distinct)
    if form := find_date_form(distinct):
        why = f"dates written as text, {form}{day_or_month_first(distinct, form)}"
        return replace(column, kind=DATETIME, form=form, why=why)
    number = find_number_form(distinct)
    if number and _is_quantity(column, distinct, number):
        return replace(column, kind=NUMERIC, form=str(number), why=f"numbers written as text, e.g. {number}")
    n_rows, few = len(present), len(distinct)
    if target:
        return replace(column, kind=CATEGORICAL, why=f"the target, text with {few:,} values")
    if few == n_rows >= ENOUGH_ROWS:
        if _named_as_key(column.name) or _are_codes(distinct):
            return replace(column, kind=IDENTIFIER, why="no value repeats, and all have the form of a key")
        return replace(column, kind=TEXT, why="text, and no value repeats")
    if _named_as_key(column.name) and _are_codes(distinct) and few > FEW_VALUES and n_rows < MANY_REPEATS * few:
        return replace(column, kind=IDENTIFIER, why="a key by its name and form; some rows share one")
    return _words_or_classes(column, n_rows, distinct)


def _words_or_classes(column: Column, n_rows: int, distinct: list[str]) -> Column:
    few = len(distinct)
    words = float(np.mean([len(text.split()) for text in distinct[:1000]]))
    if words >= MANY_WORDS and few > n_rows / 2:
        return replace(column, kind=TEXT, why=f"sentences, {words:.0f} words each")
    if few > FEW_VALUES and n_rows < REPEATS * few:
        return replace(column, kind=TEXT, why=f"text with {few:,} values in {n_rows:,} rows: most are rare")
    if few > MANY_VALUES:
        return replace(column, kind=TEXT, why=f"text with {few:,} values")
    return replace(column, kind=CATEGORICAL, why=f"text with {few:,} values")


def _text_with_meaning(column: Column, n_rows: int, distinct: list[str]) -> Column:
    """Texts with a meaning: categories if there are few, otherwise made up according to their meaning."""
    said = SAID.get(str(column.meaning), f"{column.meaning}s")
    if column.meaning == JSON:
        return replace(column, kind=TEXT, why="JSON or lists, kept as text: nothing inside is learned")
    if len(distinct) == n_rows >= ENOUGH_ROWS:
        kind = IDENTIFIER if column.meaning in (UUID, HEX) and len(distinct[0]) >= LONG_KEY else TEXT
        return replace(column, kind=kind, why=f"{said}, and no value repeats")
    if column.meaning in PERSONAL and len(distinct) > FEW_VALUES:
        return replace(column, kind=TEXT, why=f"{said}: they belong to somebody, so that none is kept")
    if column.meaning == POSTAL and len(distinct) > FEW_VALUES and n_rows < ROWS_OF_A_CODE * len(distinct):
        return replace(column, kind=TEXT, why=f"{said}: {len(distinct):,} in {n_rows:,} rows, and most are rare")
    found = _words_or_classes(column, n_rows, distinct)
    return replace(found, why=f"{said}: {found.why}")


def _is_quantity(column: Column, distinct: list[str], number: NumberForm) -> bool:
    """Whether numbers written as text are quantities: they have a currency or percent sign, or many values."""
    if is_postal(column.name) or _named_as_key(column.name) or _one_width(distinct, number):
        return False
    marked = number.prefix.strip() or number.suffix.strip() or number.group
    return bool(marked) or len(distinct) > FEW_VALUES


def _one_width(distinct: list[str], number: NumberForm) -> bool:
    """Plain digits of one width are codes: if they were numbers, some would have fewer digits."""
    plain = not (number.prefix or number.suffix or number.group or number.decimals)
    return plain and len({len(text) for text in distinct}) == 1


def _are_codes(distinct: list[str]) -> bool:
    """Whether texts look machine-made: no spaces, some digits, a common structure."""
    shapes = set()
    for text in distinct:
        if re.search(r"\s|@", text) or not any(c.isdigit() for c in text):
            return False
        shapes.add(re.sub(r"[0-9A-Za-z]+", "x", text))
        if len(shapes) > 1:
            return False
    return True
