"""Ratios with a sum or difference: `rate = 100 * won / (won + lost)`, `margin = (price - cost) / price`.

One column is divided by the sum or difference of two others, or vice versa. All such triples of columns are tried on a
few rows; those that fit are checked to the last decimal in all search rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.schema import NUMERIC, Schema
from ..errors import SchemaError
from .base import Frame, Name
from .computed import Values
from .find_product import checked_in_32_bits, probe_rows
from .product import HALF_UP, NEAREST, Rounded, scaled
from .search import Candidate, Search
from .words import column_name, number, quoted

Floats = NDArray[np.float64]

MIN_VALUES, MAX_COLUMNS, PROBES = 10, 24, 12
"""Minimum distinct values of a computed column; maximum columns for the search in triples; rows to test triples on."""
NEEDED = 10
"""Probe rows that must fit."""
FACTORS = (1.0, 2.0, 0.5, 100.0, 200.0, 50.0, 1000.0)


@dataclass(frozen=True, kw_only=True)
class Ratio(Rounded):
    """A constant times the ratio of a column and the sum or difference of two others, or its inverse."""

    form: ClassVar[str] = "ratio"
    factor: float = 1
    single: Name = ""
    pair: tuple[Name, Name] = ("", "")
    minus: bool = False
    """Whether the second of the pair is subtracted."""
    above: bool = False
    """Whether the pair is the numerator."""

    @property
    def reads(self) -> tuple[Name, ...]:
        """The columns of the ratio."""
        return tuple(dict.fromkeys((self.single, *self.pair)))

    @property
    def formula(self) -> str:
        """The ratio as written in sentences."""
        pair = f"({quoted(self.pair[0])} {'-' if self.minus else '+'} {quoted(self.pair[1])})"
        upper, lower = (pair, quoted(self.single)) if self.above else (quoted(self.single), pair)
        text = f"{'' if self.factor == 1 else f'{number(self.factor)} * '}{upper} / {lower}"
        return text if self.rounding in (NEAREST, HALF_UP) else f"{text} rounded {self.rounding}"

    def exact_results(self, frame: Frame) -> Values:
        """The ratio; 0 where a part is missing or the divisor is 0."""
        single, first, second = (
            np.where(frame.gaps(name), np.nan, frame.values(name)).astype(np.float64)
            for name in (self.single, *self.pair)
        )
        value = _ratio(single, first - second if self.minus else first + second, above=self.above)
        return np.where(np.isfinite(value), scaled(value, self.factor), 0.0)


def _ratio(single: Floats, pair: Floats, *, above: bool) -> Floats:
    """One divided by the other; NaN or infinite where the divisor is 0."""
    with np.errstate(all="ignore"):
        return np.asarray(pair / single if above else single / pair)


def find(search: Search) -> Sequence[Candidate]:
    """Find columns that are such a ratio of others in nearly all rows."""
    return sorted(_found(search), key=lambda candidate: -candidate.bits)


def _found(search: Search) -> Iterator[Candidate]:
    numbers = search.numbers
    parts = np.flatnonzero(numbers.distinct >= MIN_VALUES)
    if len(parts) > MAX_COLUMNS:
        parts = np.sort(parts[np.argsort(-numbers.distinct[parts], kind="stable")[:MAX_COLUMNS]])
    if len(parts) < 3:
        return
    probe = numbers.matrix[probe_rows(parts, PROBES, search)]
    first, second = (parts[own] for own in np.triu_indices(len(parts), 1))
    for minus in (False, True):
        a, b = probe[:, first], probe[:, second]
        pairs = a - b if minus else a + b  # (P, pairs)
        for above in (False, True):
            values = _ratio(probe[:, parts][:, :, None], pairs[:, None, :], above=above)  # (P, M, pairs)
            middle = np.median(np.where(np.isfinite(values), np.abs(values), 0.0), axis=0)  # (M, pairs)
            for target in parts:
                for i, j, factor in _matching(probe[:, target], values, middle, numbers.step(int(target))):
                    columns = int(parts[i]), int(first[j]), int(second[j])
                    if int(target) not in columns:
                        found = _checked(int(target), columns, factor, minus, above, search)
                        if found is not None:
                            yield found


def _matching(own: Floats, values: Floats, middle: Floats, step: float) -> Iterator[tuple[int, int, float]]:
    """Indices of ratios (P, M, pairs) that match the target up to a usual factor in the probe rows."""
    if np.isnan(own).sum() > PROBES - NEEDED:
        return
    size = np.nanmedian(np.abs(own))
    slack = (0.75 * step + 1e-6 * np.abs(own))[:, None]
    with np.errstate(all="ignore"):
        for factor in FACTORS:
            near = np.abs(np.log(factor * middle / size)) < 0.7  # medians of matching columns are close to each other
            for sign in (1, -1):
                places = np.argwhere(near)
                tried = values[:, places[:, 0], places[:, 1]] * (sign * factor)
                fits = (np.abs(tried - own[:, None]) <= slack).sum(0) >= NEEDED
                for i, j in places[fits]:
                    yield int(i), int(j), sign * factor


def _checked(
    target: int, columns: tuple[int, int, int], factor: float, minus: bool, above: bool, search: Search
) -> Candidate | None:
    """What the ratio saves."""
    numbers = search.numbers
    single, first, second = columns
    names = numbers.names
    if factor < 0 and minus:  # swap the pair
        first, second, factor = second, first, -factor

    def compute(matrix: Floats) -> Floats:
        pair = matrix[:, first] - matrix[:, second] if minus else matrix[:, first] + matrix[:, second]
        return scaled(_ratio(matrix[:, single], pair, above=above), factor)

    law = Ratio(
        target=names[target],
        factor=factor,
        single=names[single],
        pair=(names[first], names[second]),
        minus=minus,
        above=above,
    )
    return checked_in_32_bits(law, target, compute, search)


_NAME = r"(?:`[^`]*`|[^\W\d]\w*)"
_PAIR = rf"\(\s*({_NAME})\s*([-+])\s*({_NAME})\s*\)"
_TEXT = re.compile(
    rf"({_NAME})\s*([=~])\s*(?:(-?[\d.]+)\s*\*\s*)?(?:({_NAME})\s*/\s*{_PAIR}|{_PAIR}\s*/\s*({_NAME}))"
    rf"(?:\s*\*\s*(-?[\d.]+))?(?: rounded (down|up))?"
)


def parse(text: str, schema: Schema) -> Ratio | None:
    """Read `rate = 100 * won / (won + lost)`; None where it is of another form."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        return None
    above = found[4] is None
    words = (found[11], found[8], found[10]) if above else (found[4], found[5], found[7])
    target, single, first, second = (column_name(word, text, schema) for word in (found[1], *words))
    if target in (single, first, second) or first == second:
        raise SchemaError(f"constraint {text!r} names a column twice")
    for name in (target, single, first, second):
        if schema.column(name).kind != NUMERIC:
            raise SchemaError(f"constraint {text!r}: column {name!r} is {schema.column(name).kind}, not numeric")
    return Ratio(
        target=target,
        exact=found[2] == "=",
        factor=float(found[3] or 1) * float(found[12] or 1),
        single=single,
        pair=(first, second),
        minus=found[9 if above else 6] == "-",
        above=above,
        rounding=found[13] or NEAREST,
    )
