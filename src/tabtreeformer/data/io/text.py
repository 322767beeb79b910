"""CSV: any separator, encoding and quoting, read without changing codes that only look like numbers.

A file is read twice. The first pass scans every field as text, checks that all rows are as long as the header and
determines the type of each column; the second lets pandas parse exactly that. pandas alone would pad short rows and
silently turn the zip code 01234 into 1234, the part number 12e4 into 120000.0 and Namibia's NA into a gap.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pandas as pd

from ..._runtime.files import replacing
from ..._runtime.warning import warn
from ...errors import ReadingWarning, SchemaError
from ..schema.infer import is_postal
from .fields import holds_return, neutralized
from .location import DIALECT, Place, TableOptions, check_names
from .streams import find_encoding, open_text, write_text

SEPARATORS = (",", ";", "|", "\t")
"""In order of how often they occur inside fields, most frequent first."""
MARKERS = frozenset(
    ["NA", "N/A", "n/a", "#N/A", "#NA", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "<NA>", "1.#QNAN"]
)
"""Words for a missing value among numbers and booleans; in a text column they are ordinary words."""
SIGNS = frozenset(["-", "--", "?", "."])
"""Symbols for a missing value among numbers; a warning says how they were read."""
CELLS_AT_ONCE = 1_000_000

WHOLE = r" *-?(?:0|[1-9]\d*) *"
# No leading zeros; an exponent has a sign or follows a decimal point, as every program writes it: 12e4 is a code.
DECIMAL = r" *[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*(?:[eE][+-]?\d+)?|[eE][+-]\d+)?|\.\d+(?:[eE][+-]?\d+)?|[iI]nf(?:inity)?) *"
PHONE = r" *\+\d{7,} *"
_WHOLE = re.compile(WHOLE, re.ASCII)
_DECIMAL = re.compile(rf"(?!{PHONE}\Z){DECIMAL}", re.ASCII)
_COMMA = re.compile(r" *[+-]?(?:0|[1-9]\d*),\d+ *", re.ASCII)
# Likewise for many fields at once, one per line: the start of a line that is not such a number.
_NOT_WHOLE = re.compile(rf"^(?!{WHOLE}$)", re.ASCII | re.MULTILINE)
_NOT_DECIMAL = re.compile(rf"^(?!(?!{PHONE}$){DECIMAL}$)", re.ASCII | re.MULTILINE)
SURELY_FITS = 18
"""A whole number of at most this many characters always fits 64 bits."""


@dataclass
class Facts:
    """What is known about one column from the fields seen so far."""

    whole: bool = False
    decimal: bool = False
    comma: bool = False
    surely_comma: bool = False
    """Whether there is a decimal comma that cannot be a thousands separator."""
    truth: bool = False
    gaps: bool = False
    text: bool = False
    low: int = 0
    high: int = 0
    markers: set[str] = field(default_factory=set)

    def see(self, values: set[str], missing: frozenset[str]) -> None:
        """Take in distinct fields of the column."""
        gaps = values & missing
        markers = (values - gaps) & (MARKERS | SIGNS)
        self.gaps |= bool(gaps or markers)
        self.markers |= markers
        rest = values - gaps - markers
        lines = "\n".join(rest)
        if not rest:
            return
        if lines.count("\n") >= len(rest):
            self.text = True
        elif not _NOT_WHOLE.search(lines):
            self._see_whole(rest)
        elif not _NOT_DECIMAL.search(lines):
            self.decimal, self.text = True, any(map(_too_large, rest))
        else:
            self._see_each(rest)

    def _see_whole(self, values: set[str]) -> None:
        self.whole = True
        if max(map(len, values)) > SURELY_FITS:
            numbers = [int(value) for value in values]
            self.low, self.high = min(self.low, *numbers), max(self.high, *numbers)

    def _see_each(self, values: set[str]) -> None:
        for value in values:
            if _WHOLE.fullmatch(value):
                self._see_whole({value})
            elif value in ("True", "False"):
                self.truth = True
            elif _DECIMAL.fullmatch(value) and not _too_large(value):
                self.decimal = True
            elif _COMMA.fullmatch(value):
                self.comma = True
                self.surely_comma |= len(value.split(",")[1].rstrip()) != 3
            else:
                self.text = True
                return

    def dtype(self, decimal: str) -> str:
        """The dtype that keeps every field unchanged."""
        fraction = self.comma if decimal == "," else self.decimal
        foreign = self.decimal if decimal == "," else self.comma
        if self.text or foreign or (self.truth and (self.whole or fraction)):
            return "str"
        if fraction:
            return "float64"
        if self.truth:
            return "boolean" if self.gaps else "bool"
        if self.whole:
            return self._whole_dtype()
        return "str" if self.markers else "float64"  # only missing values

    def _whole_dtype(self) -> str:
        if self.low >= -(2**63) and self.high < 2**63:
            return "Int64" if self.gaps else "int64"
        if self.low >= 0 and self.high < 2**64:
            return "UInt64" if self.gaps else "uint64"
        return "str"  # no integer dtype has this many digits: it is a code


def _too_large(value: str) -> bool:
    """Whether text such as 1.E400 is a number too large for a float."""
    return (len(value) > 300 or "e" in value or "E" in value) and math.isinf(float(value)) and "n" not in value.lower()


@dataclass(frozen=True)
class Form:
    """How to parse one CSV file, based on all fields of all files of the table."""

    place: Place
    encoding: str
    sep: str
    header: list[str]
    decimal: str = "."
    dtypes: tuple[str, ...] = ()
    missing: tuple[tuple[str, ...], ...] = ()
    """Words for a missing value, per column."""


def read_csv(place: Place, options: TableOptions) -> pd.DataFrame:
    """Read a CSV file; a row that does not fit the header raises an error with its line."""
    (form,), _ = settle([place], options)
    frame = next(parse(form, options))
    if (form.sep, form.decimal) != (",", "."):
        frame.attrs[DIALECT] = {"sep": form.sep, "decimal": form.decimal}
    return frame


def settle(places: list[Place], options: TableOptions) -> tuple[list[Form], int]:
    """Scan every field of a table's files once: return how to parse each file, and the total number of rows."""
    forms: list[Form] = []
    facts: list[Facts] = []
    n_rows = 0
    for place in places:
        assert place.path is not None
        encoding = find_encoding(place.path, options.encoding)
        sep = options.sep or _find_separator(place, encoding, options)
        with open_text(place.path, encoding) as stream:
            header, facts, rows = _scan(stream, place, sep, options, facts, forms[0] if forms else None)
        forms.append(Form(place, encoding, sep, header))
        n_rows += rows
    decimal = options.decimal or _find_decimal(facts, forms[0].sep)
    # A postal code is text even if it is all digits: 01067 and 80331 belong in one column.
    codes = [f.whole and is_postal(name) for f, name in zip(facts, forms[0].header, strict=True)]
    dtypes = tuple("str" if code else f.dtype(decimal) for f, code in zip(facts, codes, strict=True))
    words = tuple(
        ("", *options.missing, *(sorted(f.markers) if d != "str" else ())) for f, d in zip(facts, dtypes, strict=True)
    )
    _say_signs(places[0], forms[0].header, words, SIGNS - set(options.missing))
    return [replace(form, decimal=decimal, dtypes=dtypes, missing=words) for form in forms], n_rows


def _say_signs(place: Place, header: list[str], words: tuple[tuple[str, ...], ...], guessed: frozenset[str]) -> None:
    """Warn about symbols that were read as missing values without being declared as such."""
    columns = [name for name, known in zip(header, words, strict=True) if guessed & set(known)]
    signs = sorted({sign for known in words for sign in guessed & set(known)})
    if columns:
        listed = ", ".join(map(repr, columns[:5])) + (f" and {len(columns) - 5} more" if len(columns) > 5 else "")
        warn(
            f"{place.name}: {' and '.join(map(repr, signs))} {'was' if len(signs) == 1 else 'were'} read as missing "
            f"among the numbers of column{'s' * (len(columns) > 1)} {listed}",
            ReadingWarning,
        )


def parse(form: Form, options: TableOptions, rows: int | None = None) -> Iterator[pd.DataFrame]:
    """Let pandas read the file as determined by `settle`: all at once, or `rows` rows at a time."""
    assert form.place.path is not None
    with open_text(form.place.path, form.encoding) as stream:
        try:
            read = pd.read_csv(
                stream, sep=form.sep, quotechar=options.quote, decimal=form.decimal, header=0, index_col=False,
                names=list(range(len(form.header))), dtype=dict(enumerate(form.dtypes)), keep_default_na=False,
                na_values={i: list(words) for i, words in enumerate(form.missing)}, chunksize=rows, **_exactly(),
            )  # fmt: skip
            for frame in (read,) if rows is None else read:
                frame.columns = pd.Index(form.header)
                yield frame
        except (pd.errors.ParserError, ValueError) as error:
            raise SchemaError(f"{form.place.name} cannot be read as csv: {error}") from error


def write_csv(df: pd.DataFrame, place: Place, options: TableOptions, *, header: bool = True) -> None:
    """Write a CSV file: by default in UTF-8, with the separator of the file the table came from, else with commas.

    A .tsv or .tab file is separated by tabs.
    """
    assert place.path is not None
    if options.neutralize:
        df = neutralized(df, _is_number)
    tabs = re.search(r"\.(tsv|tab)(\.\w+)?$", place.path.name.lower())
    known = {} if options.sep or tabs else df.attrs.get(DIALECT, {})
    with (
        replacing(place.path) as temporary,
        write_text(temporary, place.name, options.encoding or "utf-8") as stream,
    ):
        df.to_csv(
            stream,
            sep=options.sep or ("\t" if tabs else known.get("sep", ",")),
            decimal=options.decimal or known.get("decimal", "."),
            quotechar=options.quote,
            na_rep=options.missing[0] if options.missing else "",
            index=False,
            header=header,
            lineterminator="\n",
            # Python before 3.13 leaves a carriage return unquoted, and readers mistake it for the end of the line.
            quoting=csv.QUOTE_NONNUMERIC if holds_return(df) else csv.QUOTE_MINIMAL,
        )


def _is_number(text: str) -> bool:
    return bool(_DECIMAL.fullmatch(text) or _COMMA.fullmatch(text))


def _scan(
    stream: io.TextIOWrapper, place: Place, sep: str, options: TableOptions, facts: list[Facts], first: Form | None
) -> tuple[list[str], list[Facts], int]:
    """Scan every field once, adding to the facts from earlier files of the table; count the rows."""
    reader = csv.reader(stream, delimiter=sep, quotechar=options.quote)
    missing = frozenset(["", *options.missing])
    try:
        header = next((row for row in reader if not _blank(row)), None)
        if header is None:
            raise SchemaError(f"{place.name} is empty")
        check_names(place, header)
        if first is not None:
            _same_header(place, header, first)
        facts, n_rows = facts or [Facts() for _ in header], 0
        rows = _rows(reader, place, header, sep)
        while chunk := list(itertools.islice(rows, max(1, CELLS_AT_ONCE // len(header)))):
            n_rows += len(chunk)
            for fact, values in zip(facts, zip(*chunk, strict=True), strict=True):
                if not fact.text:
                    fact.see(set(values), missing)
    except csv.Error as error:
        raise SchemaError(f"{place.name}, line {reader.line_num}: {error}; is a quote never closed?") from error
    return header, facts, n_rows


def _same_header(place: Place, header: list[str], first: Form) -> None:
    """Reject a file whose columns differ from those of the first."""
    for here, there in itertools.zip_longest(header, first.header):
        if here != there:
            fault = (
                f"has {'no further column' if here is None else f'the column {here!r}'} where {first.place.name} has"
            )
            raise SchemaError(f"{place.name} {fault} {'none' if there is None else repr(there)}; make the files alike")


def _rows(reader: Iterator[list[str]], place: Place, header: list[str], sep: str) -> Iterator[list[str]]:
    """Yield the rows, each as long as the header."""
    for row in reader:
        if len(row) == len(header):
            yield row
        elif not _blank(row):
            line = reader.line_num  # type: ignore[attr-defined]
            fault = f"{place.name}, line {line} has {len(row)} field{'s' * (len(row) != 1)}"
            raise SchemaError(
                f"{fault} but the header has {len(header)} (separated by {sep!r}); correct the line, "
                f"quote fields that hold the separator, or name another with --sep"
            )


def _blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


def _find_separator(place: Place, encoding: str, options: TableOptions) -> str:
    """The separator that splits the first rows into the same number of fields, and into the most."""
    assert place.path is not None
    with open_text(place.path, encoding) as stream:
        sample = stream.read(1 << 16)
        whole = not stream.read(1)
    best, most = ",", (False, 1)
    for sep in SEPARATORS:
        if sep == options.quote:
            continue
        try:
            reader = csv.reader(io.StringIO(sample, newline=""), delimiter=sep, quotechar=options.quote)
            rows = [row for row in reader if not _blank(row)]
        except csv.Error:
            continue
        rows = rows if whole or len(rows) < 3 else rows[:-1]  # the last may be cut off in the middle
        if not rows or len(rows[0]) == 1:
            continue
        rank = (all(len(row) == len(rows[0]) for row in rows), len(rows[0]))
        if rank >= most:
            best, most = sep, rank
    return best


def _find_decimal(facts: list[Facts], sep: str) -> str:
    """A comma if numbers have no other decimal point and some commas cannot be thousands separators."""
    surely = any(f.surely_comma and not f.text for f in facts)
    points = any(f.decimal and not f.text for f in facts)
    return "," if sep != "," and surely and not points else "."


def _exactly() -> dict[str, str]:
    """Ask for the nearest float; pandas 3.1 and later always returns it, and warns if asked to."""
    major, minor = (int(part) for part in pd.__version__.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}
