"""Functions of one column: `log_wage = log(wage)`, `root = sqrt(area)`.

Tables often contain a column and its logarithm or root. Both directions are tried; the one that is exact to the last
decimal is kept, or, if both are, the one that saves more bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.schema import NUMERIC, Schema
from ..errors import SchemaError
from .base import Frame, Name
from .computed import Computed, Values
from .find_product import MIN_SHARE, MIN_VALUES, PROBES, checked_in_32_bits, probe_rows
from .search import Candidate, Search
from .words import column_name, different, quoted

FUNCTIONS: Mapping[str, Callable[[Values], Values]] = {
    "log": np.log,
    "log10": np.log10,
    "log2": np.log2,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "expm1": np.expm1,
    "reciprocal": np.reciprocal,
}


@dataclass(frozen=True, kw_only=True)
class Curve(Computed):
    """A target that is a function of one column."""

    form: ClassVar[str] = "curve"
    function: str = "log"
    source: Name = ""

    def __post_init__(self) -> None:
        if self.function not in FUNCTIONS:
            raise ValueError(f"a law computes {self.function!r}, which is none of {', '.join(FUNCTIONS)}")

    @property
    def reads(self) -> tuple[Name, ...]:
        """The column that it is a function of."""
        return (self.source,)

    @property
    def formula(self) -> str:
        """The formula as written in sentences."""
        return f"{self.function}({quoted(self.source)})"

    def expected(self, frame: Frame) -> Values:
        """The function, rounded like the target; 0 where it is undefined."""
        values = np.where(frame.gaps(self.source), np.nan, frame.values(self.source)).astype(np.float64)
        value = _applied(self.function, values)
        value = np.where(np.isfinite(value), value, 0.0)
        return np.round(value) if self.whole else value


def _applied(function: str, values: Values) -> Values:
    """The function applied to numbers; NaN or infinite where it is undefined."""
    with np.errstate(all="ignore"):
        return np.asarray(FUNCTIONS[function](values))


def find(search: Search) -> Sequence[Candidate]:
    """Columns that are a function of another in nearly all rows."""
    found = list(_found(search))
    digits = {
        name: np.inf if d is None else d for name, d in zip(search.numbers.names, search.numbers.decimals, strict=True)
    }
    finer = {(law.target, law.source) for law, _ in found if digits[law.target] > digits[law.source]}
    # A wage in dollars gives its logarithm to the last digit, but a generated logarithm does not give whole dollars.
    kept = [
        candidate
        for law, candidate in found
        if (law.source, law.target) not in finer and not _is_side(law, digits[law.source])
    ]
    return sorted(kept, key=lambda candidate: -candidate.bits)


def _is_side(law: Curve, digits: float) -> bool:
    """Whether it is the root of integers: these are better computed as squares, because `side * side` is always an
    integer.
    """
    return law.function == "sqrt" and digits == 0


def _found(search: Search) -> Iterator[tuple[Curve, Candidate]]:
    numbers = search.numbers
    many = np.flatnonzero(numbers.distinct >= MIN_VALUES)
    if len(many) < 2:
        return
    for target in many:
        probe = numbers.matrix[probe_rows(many, PROBES, search, int(target))]
        for function in FUNCTIONS:
            fits = _fits(probe[:, target], _applied(function, probe[:, many]), numbers.step(int(target)))
            for source in many[fits]:
                law = Curve(target=numbers.names[target], function=function, source=numbers.names[source])
                found = checked_in_32_bits(law, int(target), partial(_of_column, function, int(source)), search)
                if source != target and found is not None:
                    yield law, found


def _of_column(function: str, source: int, matrix: Values) -> Values:
    return _applied(function, matrix[:, source])


def _fits(own: Values, values: Values, step: float) -> NDArray[np.bool_]:
    """Whether nearly all probe rows are on the curve, up to rounding; per column of `values` (P, M)."""
    there = ~np.isnan(own)[:, None] & np.isfinite(values)
    with np.errstate(invalid="ignore"):
        close = there & (np.abs(own[:, None] - values) <= 0.75 * step + 1e-6 * np.abs(own)[:, None])
    n_there = there.sum(0)
    return np.asarray((n_there >= PROBES // 2) & (close.sum(0) >= (MIN_SHARE - 0.1) * n_there))


_TEXT = re.compile(rf"(.+?) ([=~]) ({'|'.join(sorted(FUNCTIONS, key=len, reverse=True))})\((.+)\)")


def parse(text: str, schema: Schema) -> Curve | None:
    """Read `log_wage = log(wage)`; None where it is of another form."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        return None
    target, source = (column_name(found[k].strip(), text, schema) for k in (1, 4))
    different((target, source), text)
    for name in (target, source):
        if schema.column(name).kind != NUMERIC:
            raise SchemaError(f"constraint {text!r}: column {name!r} is {schema.column(name).kind}, not numeric")
    return Curve(target=target, exact=found[2] == "=", function=found[3], source=source)
