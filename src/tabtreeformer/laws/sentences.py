"""Names and values as written in sentences, and conversion of plain values to cells of a column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..data.schema import Column, Schema
from ..data.schema.values import LABEL
from ..errors import SchemaError
from .base import Cells, Name

_NAME = re.compile(r"\s*(?:`([^`]*)`|([^\W\d]\w*))\s*(?:,|$)")
NEARLY = ", nearly always"
"""Suffix of a sentence that some rows break."""
SINGLE = " in 32 bits"
"""Suffix of a sentence about numbers that were computed and stored as 32-bit floats."""


def quoted(name: Name) -> str:
    """A name as written in sentences: in backticks unless it is a plain word."""
    return str(name) if re.fullmatch(r"[^\W\d]\w*", str(name)) and str(name) != "from" else f"`{name}`"


def listed(names: Iterable[Name]) -> str:
    """Several names."""
    return ", ".join(quoted(name) for name in names)


def said(text: str, *, near: bool) -> str:
    """Add the suffix to a sentence that some rows break."""
    return text + NEARLY if near else text


def unsaid(text: str) -> tuple[str, bool]:
    """Inverse of `said`."""
    return text.removesuffix(NEARLY), text.endswith(NEARLY)


def names_in(words: str, text: str, schema: Schema) -> list[Name]:
    """The columns listed in a part of a sentence."""
    names: list[Name] = []
    place = 0
    while place < len(words):
        found = _NAME.match(words, place)
        if found is None:
            raise SchemaError(f"constraint {text!r} cannot be read: {words[place:].strip()!r} is not a list of columns")
        names.append(named(found.group(1) if found.group(1) is not None else found.group(2), text, schema))
        place = found.end()
    if not names:
        raise SchemaError(f"constraint {text!r} names no column")
    return names


def named(word: str, text: str, schema: Schema) -> Name:
    """The column of that name; names can also be numbers."""
    for name in schema.names:
        if str(name) == word:
            return name
    raise SchemaError(
        f"constraint {text!r} names {word!r}, which is not a column; the table has {listed(schema.names)}"
    )


def written(value: Any) -> str:
    """A value as written in sentences."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else repr(value)


def cells_of(values: Sequence[Any], column: Column) -> Cells:
    """Plain values, None where missing, as cells of a column."""
    gaps = np.array([value is None for value in values], dtype=bool)
    if column.sort == LABEL:
        labels = np.empty(len(values), dtype=object)
        labels[:] = list(values)
        return Cells(labels, gaps)
    numbers = [0 if value is None else value for value in values]
    if all(isinstance(value, int) and not isinstance(value, bool) for value in numbers):
        unsigned = any(value > np.iinfo(np.int64).max for value in numbers)
        return Cells(np.array(numbers, dtype=np.uint64 if unsigned else np.int64), gaps)
    return Cells(np.array(numbers, dtype=np.float64), gaps)


def value_of(word: str, column: Column, text: str) -> Any:
    """Inverse of `written`: parse a word of a sentence as a value."""
    word = word.strip()
    if len(word) > 1 and word[0] == word[-1] == "'":
        return word[1:-1].replace("''", "'")
    if word in ("true", "false") and column.sort == LABEL:
        return word == "true"
    try:
        return int(word) if re.fullmatch(r"[-+]?\d+", word) else float(word)
    except ValueError as error:
        raise SchemaError(f"constraint {text!r}: {word!r} is not a value; write text between single quotes") from error
