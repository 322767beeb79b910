"""Products and quotients to the last decimal: `total = price * quantity`, `rate = 100 * tax / net`, `bmi = weight / …`.

A factor may be the complement of a percentage: `net = price * (100 - discount) / 100`. Results are rounded like the
target: to the nearest (ties away from zero or to even), or always down or up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..data.schema import NUMERIC, Schema
from ..errors import SchemaError
from .base import Frame, Mask, Name
from .computed import Computed, Values
from .words import as_number, column_name, different, known, number, quoted, split

NEAREST, HALF_UP, DOWN, UP = "nearest", "half up", "down", "up"
AnyRounded = TypeVar("AnyRounded", bound="Rounded")
ROUNDINGS = (NEAREST, HALF_UP, DOWN, UP)


def scaled(values: Values, factor: float) -> Values:
    """Values times a factor; 0.01 is computed as a division by 100, which rounds the way most programs do."""
    divisor = divisor_of(factor)
    if divisor:
        return np.asarray(values / divisor)
    return np.asarray(values if factor == 1 else values * factor)


def divisor_of(factor: float) -> float:
    """The inverse of a factor if it is shorter to write: 100, 1200, 173.33; otherwise 0."""
    divisor = round(1 / factor, 6) if 0 < abs(factor) < 1 else 0.0
    same = divisor and abs(divisor * factor - 1) < 1e-12
    return divisor if same and len(number(divisor)) < len(number(factor)) else 0.0


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


def is_tie(own: Values, exact: Values, decimals: int) -> Any:
    """Where a result is halfway between two numbers and the number is one of them: both ways of rounding are accepted.

    1.5 * 0.67 is a little less or a little more than 1.005, depending on the order of operations.
    """
    scale = 10.0**decimals
    scaled, given = exact * scale, own * scale
    half = np.abs(np.abs(scaled - np.floor(scaled)) - 0.5) <= 1e-7 + 1e-12 * np.abs(scaled)
    return half & (np.abs(given - scaled) <= 0.51)


@dataclass(frozen=True, kw_only=True)
class Rounded(Computed):
    """A law whose results are rounded like the target."""

    rounding: str = NEAREST

    def exact_results(self, frame: Frame) -> Values:
        """Unrounded results; 0 where a part is missing."""
        raise NotImplementedError

    def expected(self, frame: Frame) -> Values:
        """Results rounded like the target."""
        return self.on_grid(self.exact_results(frame))

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Rows without missing parts, and those whose target is as computed; ties may be rounded either way."""
        applies, keeps = Computed.holds(self, frame)
        if self.rounding not in (NEAREST, HALF_UP) or not (self.whole or self.decimals is not None):
            return applies, keeps
        own = self.levels(frame.values(self.target)).astype(np.float64)
        return applies, keeps | (applies & is_tie(own, self.exact_results(frame), self.decimals or 0))

    def on_grid(self, value: Values) -> Values:
        """Results rounded like the target."""
        if self.in_32_bits:
            return value
        if self.whole:
            return rounded(value, 0, self.rounding)
        return np.asarray(value if self.decimals is None else rounded(value, self.decimals, self.rounding))

    def learn(self: AnyRounded, frame: Frame, floor: int) -> AnyRounded:
        """Determine how ties are rounded, then learn like any computed column."""
        ways = (NEAREST, HALF_UP) if self.rounding in (NEAREST, HALF_UP) else (self.rounding,)
        learned = [Computed.learn(replace(self, rounding=way), frame, floor) for way in ways]
        return max(learned, key=lambda law: int(Computed.holds(law, frame)[1].sum()))


@dataclass(frozen=True, kw_only=True)
class Product(Rounded):
    """A constant times some columns, divided by others."""

    form: ClassVar[str] = "product"
    factor: float = 1
    factors: tuple[Name, ...] = ()
    divisors: tuple[Name, ...] = ()
    shifted: tuple[tuple[float, int, Name], ...] = ()
    """Factors of the form constant ± column: constant, sign and column."""

    @property
    def reads(self) -> tuple[Name, ...]:
        """Factors and divisors."""
        return tuple(dict.fromkeys((*self.factors, *self.divisors, *(name for _, _, name in self.shifted))))

    @property
    def formula(self) -> str:
        """The product as written in sentences."""
        words = [quoted(name) for name in self.factors]
        words += [f"({number(base)} {'+' if sign > 0 else '-'} {quoted(name)})" for base, sign, name in self.shifted]
        divisor = divisor_of(self.factor)
        if (self.factor != 1 and not divisor) or not words:
            words.insert(0, number(self.factor))
        text = " * ".join(words) + "".join(f" / {quoted(name)}" for name in self.divisors)
        text += f" / {number(divisor)}" if divisor else ""
        return text if self.rounding in (NEAREST, HALF_UP) else f"{text} rounded {self.rounding}"

    def exact_results(self, frame: Frame) -> Values:
        """The product; 0 where a part is missing or a divisor is 0."""
        value: Any = np.ones(frame.n_rows)
        for name in self.factors:
            value = value * np.where(frame.gaps(name), 0, frame.values(name)).astype(np.float64)
        for name in self.divisors:
            own = np.where(frame.gaps(name), 0, frame.values(name)).astype(np.float64)
            value = np.where(own == 0, 0.0, value / np.where(own == 0, 1.0, own))
        for base, sign, name in self.shifted:
            own = np.where(frame.gaps(name), 0, frame.values(name)).astype(np.float64)
            value = np.where(frame.gaps(name), 0.0, value * (base + sign * own))
        return scaled(value, self.factor)


_SHIFTED = re.compile(r"\*\s*\(\s*([\d.]+)\s*([-+])\s*(`[^`]*`|[^\W\d]\w*)\s*\)")


def parse(text: str, schema: Schema) -> Product | None:
    """Read `total = price * quantity`, `rate ~ 100 * tax / net`; None where it is of another form."""
    shifted = tuple(
        (float(base), 1 if sign == "+" else -1, column_name(name.strip("`"), text, schema))
        for base, sign, name in _SHIFTED.findall(text)
    )
    plain, rounding = _SHIFTED.sub("", text).strip(), NEAREST
    for word in (DOWN, UP):
        if plain.endswith(f" rounded {word}"):
            plain, rounding = plain.removesuffix(f" rounded {word}"), word
    parts = split(plain)
    if not parts.marks or parts.marks[0] not in "=~" or not (shifted or set(parts.marks[1:]) & {"*", "/"}):
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
    read = dict.fromkeys((*factors, *divisors, *(name for _, _, name in shifted)))
    different((target, *read), text)
    for name in (target, *read):
        if schema.column(name).kind != NUMERIC:
            raise SchemaError(f"constraint {text!r}: column {name!r} is {schema.column(name).kind}, not numeric")
    return Product(
        target=target,
        exact=parts.marks[0] == "=",
        factor=factor,
        factors=tuple(factors),
        divisors=tuple(divisors),
        shifted=shifted,
        rounding=rounding,
    )
