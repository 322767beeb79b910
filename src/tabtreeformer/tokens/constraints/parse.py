"""The readable form of a relation → the relation."""

from __future__ import annotations

import re

from ...data.schema import MEASURED, NUMERIC, Schema
from ...errors import SchemaError
from .plain_columns import Name
from .rules import AtLeast, Lookup, Product, Rule, Sum

FORMS = "'end >= start', 'total = net + tax', 'total = price * quantity' or 'country from city'"
_TOKEN = re.compile(r"`([^`]*)`|(>=|<=|>|<|=|\+|-|\*|\bfrom\b)")


def parse(text: str, schema: Schema) -> Rule:
    """Parse one relation; names or kinds that do not fit are an error."""
    names, marks = _split(text)
    columns = [_name(name, text, schema) for name in names]
    if len(columns) < 2:
        raise SchemaError(f"constraint {text!r} cannot be read; write it as {FORMS}")
    if len(set(columns)) < len(columns):
        raise SchemaError(f"constraint {text!r} names a column twice")
    if marks == ["from"]:
        return Lookup(columns[0], columns[1])
    if len(marks) == 1 and marks[0] in (">=", ">", "<=", "<"):
        _same_sort(text, columns, schema)
        greater, lesser = columns if marks[0][0] == ">" else columns[::-1]
        return AtLeast(greater, lesser, strict=len(marks[0]) == 1)
    if marks[0] == "=" and (set(marks[1:]) <= {"+", "-"} or set(marks[1:]) == {"*"}):
        _numbers(text, columns, schema)
        if "*" in marks:
            return Product(columns[0], tuple(columns[1:]))
        signs = [1, *(1 if mark == "+" else -1 for mark in marks[1:])]
        return Sum(columns[0], tuple(zip(signs, columns[1:], strict=True)))
    raise SchemaError(f"constraint {text!r} cannot be read; write it as {FORMS}")


def _split(text: str) -> tuple[list[str], list[str]]:
    """Names and the symbols between them; anything in backticks is a name."""
    names, marks, bare, place = [""], [], True, 0
    for found in _TOKEN.finditer(text):
        names[-1] += text[place : found.start()] if bare else ""
        if found[1] is not None:
            names[-1], bare = found[1], False
        else:
            marks.append(found[2])
            names.append("")
            bare = True
        place = found.end()
    if bare:
        names[-1] += text[place:]
    stripped = [name if f"`{name}`" in text else name.strip() for name in names]
    return stripped, marks


def _name(name: str, text: str, schema: Schema) -> Name:
    for known in schema.names:
        if str(known) == name:
            return known
    listed = ", ".join(repr(known) for known in schema.names[:20])
    raise SchemaError(f"constraint {text!r}: there is no column {name!r}; the table has {listed}")


def _same_sort(text: str, names: list[Name], schema: Schema) -> None:
    columns = [schema.column(name) for name in names]
    for column in columns:
        if column.kind not in MEASURED:
            raise SchemaError(f"constraint {text!r}: column {column.name!r} is {column.kind} and cannot be compared")
    if columns[0].kind != columns[1].kind or not comparable(columns[0], columns[1]):
        kinds = ", ".join(f"{c.name!r} is {c.kind} of dtype {c.dtype}" for c in columns)
        raise SchemaError(f"constraint {text!r}: the columns cannot be compared: {kinds}")


def comparable(left: object, right: object) -> bool:
    """Whether two columns are comparable: numbers, or times with the same unit and time zone."""
    facts = [(c.sort, None if c.sort == "number" else (c.unit, _zone(c.dtype))) for c in (left, right)]  # type: ignore[attr-defined]
    return facts[0] == facts[1]


def _zone(dtype: str) -> str:
    return dtype.split(",", 1)[1] if "," in dtype else ""


def _numbers(text: str, names: list[Name], schema: Schema) -> None:
    for name in names:
        if schema.column(name).kind != NUMERIC:
            raise SchemaError(f"constraint {text!r}: column {name!r} is {schema.column(name).kind}, not numeric")
