"""Sums: `total = net + tax`, `rest = a - 2 * b + 5`, `fahrenheit = 1.8 * celsius + 32`.

Times count in their unit: `end = start + duration minutes`. If a sum holds only nearly, the residual is learned: `total
~ fare + tip`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..data.schema import DATETIME, MEASURED, NUMERIC, TIMEDELTA, Schema
from ..errors import SchemaError
from .base import Frame, Name
from .computed import Computed, Values
from .words import as_number, column_name, different, known, number, quoted, split

UNITS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400, "weeks": 604_800, "milliseconds": 0.001}
"""Units, in seconds, of numbers that are added to a time."""
PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True, kw_only=True)
class Linear(Computed):
    """A target that is a linear combination of other columns plus a constant."""

    form: ClassVar[str] = "linear"
    terms: tuple[tuple[float, Name], ...] = ()
    """Factor and column; whole factors are ints."""
    constant: float = 0
    units: tuple[str | None, ...] = ()
    """Per term: its unit if it is added to a time; empty if no term has one."""

    @property
    def reads(self) -> tuple[Name, ...]:
        """The parts."""
        return tuple(name for _, name in self.terms)

    @property
    def formula(self) -> str:
        """The sum as written in sentences."""
        units = self.units or (None,) * len(self.terms)
        words = ""
        for (factor, name), unit in zip(self.terms, units, strict=True):
            size = "" if abs(factor) == 1 else f"{number(abs(factor))} * "
            words += f" {'-' if factor < 0 else '+'} {size}{quoted(name)}{f' {unit}' if unit else ''}"
        if self.constant:
            words += f" {'-' if self.constant < 0 else '+'} {number(abs(self.constant))}"
        return words[3:] if words[1] == "+" else words[1:]

    def expected(self, frame: Frame) -> Values:
        """The sum; integers stay integers."""
        total: Any = self._scaled(self.constant)
        units = self.units or (None,) * len(self.terms)
        for (factor, name), unit in zip(self.terms, units, strict=True):
            values = np.where(frame.gaps(name), 0, frame.values(name))
            if unit is not None:
                factor = self._scaled(factor * UNITS[unit] * PER_SECOND[frame.schema.column(self._clock).unit])
            total = total + self._scaled(factor) * (values.astype(np.int64) if values.dtype.kind == "u" else values)
        return np.asarray(total)

    @staticmethod
    def _scaled(factor: float) -> float | int:
        return int(factor) if factor == round(factor) else factor

    @property
    def _clock(self) -> Name:
        """The term whose unit is that of the times."""
        return next(name for (_, name), unit in zip(self.terms, self.units, strict=True) if unit is None)


def parse(text: str, schema: Schema) -> Linear | None:
    """Read `a = 2 * b - c + 5` or `a ~ b`; None where it is of another form."""
    parts = split(text)
    marks = parts.marks
    if not marks or marks[0] not in "=~" or not set(marks[1:]) <= {"+", "-", "*"}:
        return None
    if any(_is_words(o, schema) for o, bare in zip(parts.operands[1:], parts.bare[1:], strict=True) if bare):
        return None
    target = column_name(parts.operands[0], text, schema)
    terms: list[tuple[float, Name, str | None]] = []
    constant, factor, sign = 0.0, None, 1
    operands = list(zip((*marks[1:], "+"), parts.operands[1:], parts.bare[1:], strict=True))
    previous = "+"
    for after, operand, bare in operands:
        sign = -1 if previous == "-" else (1 if previous == "+" else sign)
        value = as_number(operand) if bare and known(operand, schema) is None else None
        if not operand and bare:  # a leading minus
            previous = after
            continue
        if value is not None and after == "*":
            factor = value * (factor or 1)
        elif value is not None:
            constant += sign * value * (factor or 1)
            factor = None
        else:
            name, unit = _with_unit(operand, text, schema)
            if after == "*" or (previous == "*" and factor is None):
                return None  # a product of columns
            terms.append((sign * (factor or 1), name, unit))
            factor = None
        previous = after
    if not terms:
        return None
    law = Linear(
        target=target,
        exact=marks[0] == "=",
        terms=tuple((f, n) for f, n, _ in terms),
        constant=constant,
        units=tuple(u for _, _, u in terms) if any(u for *_, u in terms) else (),
    )
    different((target, *law.reads), text)
    _check(law, text, schema)
    return law


def _is_words(operand: str, schema: Schema) -> bool:
    return " of " in operand and known(operand, schema) is None


def _with_unit(operand: str, text: str, schema: Schema) -> tuple[Name, str | None]:
    """`duration minutes` → the column and the unit."""
    own = known(operand, schema)
    head, _, last = operand.rpartition(" ")
    if own is None and last in UNITS and known(head, schema) is not None:
        return column_name(head, text, schema), last
    return column_name(operand, text, schema), None


def _check(law: Linear, text: str, schema: Schema) -> None:
    """Refuse columns that cannot be added."""
    columns = [schema.column(law.target), *(schema.column(name) for name in law.reads)]
    for column in columns:
        if column.kind not in MEASURED or (column.kind != NUMERIC and columns[0].kind == NUMERIC):
            raise SchemaError(f"constraint {text!r}: column {column.name!r} is {column.kind}, not numeric")
    if columns[0].kind in (DATETIME, TIMEDELTA):
        plain = [c for c, u in zip(columns[1:], law.units or (None,) * len(law.terms), strict=True) if u is None]
        clocks = {(c.unit, str(c.zone)) for c in (columns[0], *plain) if c.sort == columns[0].sort}
        if not plain or len(clocks) > 1:
            raise SchemaError(f"constraint {text!r}: the times are not in one unit and one time zone")
        if any(c.kind == NUMERIC for c in plain):
            raise SchemaError(
                f"constraint {text!r}: give the unit of the number, e.g. 'end = start + duration minutes'"
            )
