"""Where a table is: which kind of file or database a name refers to, and the error if it does not exist."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ...errors import ConfigError, SchemaError

ENDINGS = {
    "csv": (".csv", ".tsv", ".tab"),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow"),
    "excel": (".xlsx",),
    "duckdb": (".duckdb", ".ddb"),
}
"""File formats and their extensions."""
PACKED = (".gz", ".bz2", ".xz", ".zst")
"""Extensions that may follow those of text files."""
TEXT_FORMS = ("csv", "jsonl")
SQL = "sql"
DIALECT = "dialect"
"""Name under which a table remembers the separator and decimal point of its file, so that they are written again."""
DATABASES = ("duckdb", SQL)
HOLDS_TABLES = ("excel", *DATABASES)
"""Formats with several tables; `#name` after the file or URL selects one."""

_SECRET = re.compile(r"((?:password|passwd|pwd|token|secret|api_?key)=)[^&;\s]+", re.IGNORECASE)
_LOGIN = re.compile(r"(?<=://).*@")  # better to hide too much than to leak part of a password with a slash or space


PIPES = {"-": "standard input", "/dev/stdin": "standard input", "/dev/stdout": "standard output"}
"""Names of the standard streams; their tables are CSV unless a format is given."""


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """How to read or write a table; options that are not given are detected or have the usual default."""

    format: str | None = None
    """One of `csv`, `jsonl`, `parquet`, `feather`, `excel`, `duckdb`, if the extension does not show it."""
    sep: str | None = None
    """Separator of a CSV file, e.g. `;`."""
    encoding: str | None = None
    """E.g. `latin-1`; by default from the file's byte-order mark, otherwise UTF-8."""
    quote: str = '"'
    """Quote character of a CSV file."""
    decimal: str | None = None
    """`.` or `,`."""
    missing: tuple[str, ...] = ()
    """Words for a missing value in a CSV file, in addition to the empty field."""
    query: str | None = None
    """SQL query that reads the rows."""
    table: str | None = None
    """Table of a database."""
    sheet: str | None = None
    """Sheet of an Excel file."""
    neutralize: bool = False
    """Whether to put an apostrophe before text in a CSV file that a spreadsheet would evaluate."""
    overwrite: bool = False
    """Whether an existing database table may be replaced."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", tuple(self.missing))
        object.__setattr__(self, "sep", {"\\t": "\t", "tab": "\t"}.get(self.sep or "", self.sep))
        if self.format is not None and self.format not in ENDINGS:
            raise ConfigError(f"format must be one of {', '.join(ENDINGS)}, got {self.format!r}")
        for name in ("sep", "quote"):
            value = getattr(self, name)
            if value is not None and (len(value) != 1 or value in "\r\n\0"):
                raise ConfigError(f"{name} must be a single character, got {value!r}")
        if self.decimal not in (None, ".", ","):
            raise ConfigError(f"decimal must be '.' or ',', got {self.decimal!r}")
        if self.sep is not None and self.sep in (self.quote, self.decimal):
            raise ConfigError(f"sep, quote and decimal must differ, got {self.sep!r} twice")
        if self.query is not None and self.table is not None:
            raise ConfigError("query and table exclude each other; give one of them")


@dataclass(frozen=True)
class Place:
    """A file or a database, and the table in it."""

    form: str
    name: str
    """Its name in messages, never with a password."""
    path: Path | None = None
    """The file; None for a server, a pipe, and DuckDB without a file."""
    url: str | None = None
    table: str | None = None
    """The table or sheet named as part of the place."""

    @property
    def is_pipe(self) -> bool:
        """Whether it is standard input or output."""
        return self.path is None and self.form not in DATABASES

    @property
    def title(self) -> str:
        """A short name for display: the file without its folders, and the table in it."""
        name = self.name if self.path is None else self.path.name
        return name if self.table is None else f"{name}#{self.table}"

    @property
    def stem(self) -> str:
        """A short name for files derived from this table."""
        if self.path is not None:
            return self.path.name.split(".")[0] or "table"
        tail = re.split(r"[/\\]", (self.url or "").split("?")[0])[-1]
        return re.sub(r"\W", "_", tail.split("@")[-1].split(".")[0]) or self.table or "table"

    @property
    def ending(self) -> str:
        """The extension for a file next to this one; for a database, that of a format that preserves types."""
        if self.form in HOLDS_TABLES:
            return ".parquet" if self.form in DATABASES else ".xlsx"
        if self.path is None:
            return ENDINGS[self.form][0]
        suffixes = "".join(self.path.suffixes[-2:]).lower()
        known = (e + p for e in ENDINGS[self.form] for p in ("", *PACKED))
        return next((e for e in sorted(known, key=len, reverse=True) if suffixes.endswith(e)), ENDINGS[self.form][0])


def locate(source: str | os.PathLike[str], options: TableOptions, error: type[Exception] = SchemaError) -> Place:
    """Determine which file or database a name refers to, and its format."""
    text = os.fspath(source)
    if not isinstance(text, str) or not text:
        raise error(f"a table is named by a file or a database URL, got {text!r}")
    if text in PIPES:
        name = PIPES["/dev/stdout" if error is not SchemaError else text]
        place = Place(options.format or "csv", name)
    elif text.startswith("duckdb:"):
        place = _duckdb(text.removeprefix("duckdb:").removeprefix("///"))
    elif "://" in text:
        url, table = _split(text)
        place = Place(SQL, hide_passwords(url), _sqlite_file(url), url, table)
    else:
        place = _file(text, options, error)
    _check(place, options)
    return place


def hide_passwords(text: str) -> str:
    """Mask logins and secrets in anything that looks like a URL."""
    return _SECRET.sub(r"\1***", _LOGIN.sub("***@", text))


def check_file(path: Path) -> None:
    """Raise an error if there is no such file, with suggestions of similar names."""
    if path.is_dir():
        raise SchemaError(f"{path} is a folder; name a file in it")
    if not path.is_file():
        siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise SchemaError(f"there is no file {path}{meant(path.name, siblings)}")
    if not os.access(path, os.R_OK):
        raise SchemaError(f"{path} cannot be read: permission denied")


def meant(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: similar names that exist."""
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(near)}?" if near else ""


_TOGETHER = ", or learn all of them together with RelationalTabTreeFormer"


def choose_table(place: Place, wanted: str | None, known: list[str], what: str) -> str:
    """The only table, or an error that lists the existing ones."""
    wanted = wanted or place.table
    if wanted is None and len(known) == 1:
        return known[0]
    if wanted is None:
        listed = ", ".join(known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
        together = _TOGETHER if what == "table" else ""
        which = f" ({listed}); say which with --{what}{together}" if known else ""
        raise SchemaError(f"{place.name} has {len(known)} {what}s{which}")
    if wanted not in known:
        raise SchemaError(f"{place.name} has no {what} {wanted!r}{meant(wanted, known) or _there(known)}")
    return wanted


def check_names(place: Place, names: list[str]) -> None:
    """Reject duplicate names; pandas would silently rename the second."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SchemaError(f"{place.name}: column name {name!r} occurs more than once; rename the columns")
        seen.add(name)


def _there(known: list[str]) -> str:
    return f"; there is {', '.join(known[:20])}" if known else ""


def _file(text: str, options: TableOptions, error: type[Exception]) -> Place:
    form = options.format or form_of(text)
    if form is None and "#" in text and not Path(text).exists():
        base, table = text.rsplit("#", 1)
        if form_of(base) in HOLDS_TABLES:
            return Place(str(form_of(base)), base, Path(base), table=table)
    if form is None:
        endings = ", ".join(e for endings in ENDINGS.values() for e in endings)
        raise error(
            f"{text}: the ending must be one of {endings} (text also with {', '.join(PACKED)}); "
            f"give the format of another file with --format"
            + ("; name an SQLite file as sqlite:///FILE" if text.lower().endswith((".db", ".sqlite")) else "")
        )
    return Place(form, text, Path(text))


def form_of(name: str) -> str | None:
    lowered = name.lower()
    for form, endings in ENDINGS.items():
        packed = tuple(e + p for e in endings for p in PACKED) if form in TEXT_FORMS else ()
        if lowered.endswith(endings + packed):
            return form
    return None


def _duckdb(text: str) -> Place:
    base, table = text, None
    if "#" in text and not Path(text).exists():
        base, table = text.rsplit("#", 1)
    if not base or base == ":memory:":
        return Place("duckdb", "DuckDB", table=table)
    return Place("duckdb", base, Path(base), table=table)


def _split(url: str) -> tuple[str, str | None]:
    """Split `#table` from a URL, but keep a # in a password."""
    base, mark, table = url.rpartition("#")
    return (base, table) if mark and table and not set(table) & set("/@") else (url, None)


def _sqlite_file(url: str) -> Path | None:
    match = re.match(r"sqlite(?:\+\w+)?:///([^?]+)", url)
    return Path(match[1]) if match and match[1] != ":memory:" and not match[1].startswith("file:") else None


def _check(place: Place, options: TableOptions) -> None:
    """Reject options that would have no effect."""
    for name, forms in {"query": DATABASES, "table": DATABASES, "sheet": ("excel",)}.items():
        if getattr(options, name) is not None and place.form not in forms:
            raise ConfigError(f"--{name} is for {' and '.join(forms)}; {place.name} is read as {place.form}")
