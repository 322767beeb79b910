"""Products and quotients to the last decimal: `total = price * quantity`, `rate = 100 * tax / net`, `bmi = weight / …`.

A result is rounded as the target is: to the nearest, with halves away from zero or to even, or always down.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..data.schema import NUMERIC, Schema
from ..errors import SchemaError
from .base import Frame, Name
from .computed import Computed, Values
from .words import as_number, column_name, different, known, number, quoted, split

NEAREST, HALF_UP, DOWN, UP = "nearest", "half up", "down", "up"
AnyRounded = TypeVar("AnyRounded", bound="Rounded")
ROUNDINGS = (NEAREST, HALF_UP, DOWN, UP)


def scaled(values: Values, factor: float) -> Values:
    """Values times a factor; a hundredth is a division by 100, which rounds as people's own computations do."""
    inverse = round(1 / factor) if 0 < abs(factor) < 1 else 0
    if inverse and abs(inverse * factor - 1) < 1e-12:
        return np.asarray(values / inverse)
    return np.asarray(values if factor == 1 else values * factor)


def rounded(values: Values, decimals: int, rounding: str) -> Values:
    """Round numbers to this many decimals."""
    if rounding == NEAREST:
        return np.round(values, decimals)
    scale = 10.0**decimals
    scaled = values * scale
    slack = 1e-9 * np.maximum(np.abs(scaled), 1.0)  # 1.15 * 100 is 114.99999999999999
    if rounding == HALF_UP:
        return np.sign(scaled) * np.floor(np.abs(scaled) + 0.5 + slack) / scale
    return (np.floor(scaled + slack) if rounding == DOWN else np.ceil(scaled - slack)) / scale


@dataclass(frozen=True, kw_only=True)
class Rounded(Computed):
    """A law whose results are rounded as the target writes its numbers."""

    rounding: str = NEAREST

    def on_grid(self, value: Values) -> Values:
        """Results on the grid of the target."""
        if self.in_32_bits:
            return value
        if self.whole:
            return rounded(value, 0, self.rounding)
        return np.asarray(value if self.decimals is None else rounded(value, self.decimals, self.rounding))

    def learn(self: AnyRounded, frame: Frame, floor: int) -> AnyRounded:
        """Find out how halves are rounded, then as every computed column."""
        ways = (NEAREST, HALF_UP) if self.rounding in (NEAREST, HALF_UP) else (self.rounding,)
        learned = [Computed.learn(replace(self, rounding=way), frame, floor) for way in ways]
        return max(learned, key=lambda law: law.support)


@dataclass(frozen=True, kw_only=True)
class Product(Rounded):
    """A constant times some columns, divided by others."""

    form: ClassVar[str] = "product"
    factor: float = 1
    factors: tuple[Name, ...] = ()
    divisors: tuple[Name, ...] = ()

    @property
    def reads(self) -> tuple[Name, ...]:
        """Factors and divisors."""
        return tuple(dict.fromkeys((*self.factors, *self.divisors)))

    @property
    def formula(self) -> str:
        """The product as it is written in sentences."""
        words = [quoted(name) for name in self.factors]
        inverse = round(1 / self.factor) if 0 < self.factor < 1 else 0
        inverse = inverse if inverse and abs(inverse * self.factor - 1) < 1e-12 else 0
        if (self.factor != 1 and not inverse) or not words:
            words.insert(0, number(self.factor))
        text = " * ".join(words) + "".join(f" / {quoted(name)}" for name in self.divisors)
        text += f" / {inverse}" if inverse else ""
        return text if self.rounding in (NEAREST, HALF_UP) else f"{text} rounded {self.rounding}"

    def expected(self, frame: Frame) -> Values:
        """The product on the grid of the target; 0 where a part is missing or a divisor is 0."""
        value: Any = np.ones(frame.n_rows)
        for name in self.factors:
            value = value * np.where(frame.gaps(name), 0, frame.values(name)).astype(np.float64)
        for name in self.divisors:
            own = np.where(frame.gaps(name), 0, frame.values(name)).astype(np.float64)
            value = np.where(own == 0, 0.0, value / np.where(own == 0, 1.0, own))
        return self.on_grid(scaled(value, self.factor))


def parse(text: str, schema: Schema) -> Product | None:
    """Read `total = price * quantity`, `rate ~ 100 * tax / net`; None where it is of another form."""
    plain, rounding = text.strip(), NEAREST
    for word in (DOWN, UP):
        if plain.endswith(f" rounded {word}"):
            plain, rounding = plain.removesuffix(f" rounded {word}"), word
    parts = split(plain)
    if not parts.marks or parts.marks[0] not in "=~" or not set(parts.marks[1:]) & {"*", "/"}:
        return None
    if not set(parts.marks[1:]) <= {"*", "/"}:
        return None
    factor = 1.0
    factors: list[Name] = []
    divisors: list[Name] = []
    for mark, operand, bare in zip(("*", *parts.marks[1:]), parts.operands[1:], parts.bare[1:], strict=True):
        value = as_number(operand) if bare and known(operand, schema) is None else None
        if value is not None:
            factor = factor * value if mark == "*" else factor / value
        else:
            (factors if mark == "*" else divisors).append(column_name(operand, text, schema))
    target = column_name(parts.operands[0], text, schema)
    different((target, *dict.fromkeys((*factors, *divisors))), text)
    for name in (target, *factors, *divisors):
        if schema.column(name).kind != NUMERIC:
            raise SchemaError(f"constraint {text!r}: column {name!r} is {schema.column(name).kind}, not numeric")
    return Product(
        target=target,
        exact=parts.marks[0] == "=",
        factor=factor,
        factors=tuple(factors),
        divisors=tuple(divisors),
        rounding=rounding,
    )
