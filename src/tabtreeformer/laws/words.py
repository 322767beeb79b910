"""Tokenizing the sentences of laws: names, numbers and marks.

Names with anything but letters, digits and underscores are written between backticks: `unit price`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ..data.schema import Schema
from ..errors import SchemaError
from .base import Name
from .sentences import quoted

__all__ = ["Split", "as_number", "column_name", "different", "known", "number", "quoted", "split", "turned"]
_MARK = re.compile(r"`([^`]*)`|(>=|<=|=>|>|<|=|~|\+|-|\*|/|,|\bfrom\b)")
_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")


def number(value: float) -> str:
    """A number as written in sentences."""
    return np.format_float_positional(value, trim="-")


@dataclass(frozen=True)
class Split:
    """A sentence split at its marks, with one more operand than marks; quoted operands are always names."""

    text: str
    operands: tuple[str, ...]
    bare: tuple[bool, ...]
    marks: tuple[str, ...]


def split(text: str) -> Split:
    """Split a sentence at its marks (`=`, `+`, `from`, …)."""
    operands, bare, marks, place = [""], [True], [], 0
    for found in _MARK.finditer(text):
        if bare[-1]:
            operands[-1] += text[place : found.start()]
        if found[1] is not None and not operands[-1].strip():
            operands[-1], bare[-1] = found[1], False
        elif found[1] is not None:  # words before a quoted name are kept for the form to parse
            operands[-1] += found[0]
        else:
            if not bare[-1]:
                operands[-1] += text[place : found.start()].rstrip() and f" {text[place : found.start()].strip()}"
            marks.append(found[2])
            operands.append("")
            bare.append(True)
        place = found.end()
    operands[-1] += text[place:] if bare[-1] or text[place:].strip() else ""
    stripped = tuple(o.strip() if own else o for o, own in zip(operands, bare, strict=True))
    return Split(text, stripped, tuple(bare), tuple(marks))


def known(name: str, schema: Schema) -> Name | None:
    """The column of that name, with or without backticks, or None."""
    plain = name[1:-1] if len(name) > 1 and name[0] == name[-1] == "`" else name
    return next((own for own in schema.names if str(own) == plain), None)


def column_name(name: str, text: str, schema: Schema) -> Name:
    """The column of that name, or an error."""
    found = known(name, schema)
    if found is None:
        listed = ", ".join(repr(own) for own in schema.names[:20])
        raise SchemaError(f"constraint {text!r}: there is no column {name!r}; the table has {listed}")
    return found


def as_number(operand: str) -> float | None:
    """The value of an operand that is a number, or None."""
    return float(operand) if _NUMBER.fullmatch(operand) else None


def different(names: tuple[Name, ...], text: str) -> None:
    """Refuse a sentence that names a column twice."""
    if len(set(names)) < len(names):
        raise SchemaError(f"constraint {text!r} names a column twice")


_TURNED = re.compile(r"((?:[^`=~<>!]|`[^`]*`)+) ([=~]) (`[^`]*`|[^\W\d]\w*)((?: ?(?:±|\+/?-) ?[\d.]+)?(?:, .*)?)")
_SIGN = re.compile(r"`[^`]*`|( [-+*/] )")


def turned(text: str) -> str:
    """`net + tax = total` as `total = net + tax`; other sentences as they are."""
    found = _TURNED.fullmatch(text.strip().replace(" == ", " = "))
    if found is None or not any(sign[1] for sign in _SIGN.finditer(found[1])):
        return text
    return f"{found[3]} {found[2]} {found[1].strip()}{found[4]}"
