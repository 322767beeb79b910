"""Columns that a law computes from others, exactly or up to a residual.

A law computes the `expected` value of its target (missing parts count as 0). If it is exact and the target's gaps
follow from those of its parts, the target is dropped. Otherwise it is replaced by a residual column: target minus
expected, which is 0 in rows that keep the law. From the residual the target is recovered bit for bit. If the target is
also 0 in other rows (`revenue = rate * nights, or 0`: a booking was cancelled), it is replaced by a flag for these
rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..data.schema import BOOLEAN, NUMERIC, Column, Schema
from ..data.schema.numbers import count_decimals
from ..data.schema.values import stored_in_32_bits
from .base import Cells, Frame, Mask, Name, OneTarget, fresh, replaced
from .grid import LARGEST, dtype_ends, reach_of, step_of, to_whole, tolerance
from .sentences import SINGLE, said
from .words import quoted

Values = NDArray[Any]
OR_ZERO = ", or 0"
WHOLE, REAL = "Int64", "float64"
"""Dtypes of residuals."""
MAX_DECIMALS = 9
"""Residuals with more decimals are stored unscaled."""

Self = TypeVar("Self", bound="Computed")


@dataclass(frozen=True, kw_only=True)
class Computed(OneTarget):
    """Base of all such laws; each form adds its parts and its formula."""

    form: ClassVar[str]
    target: Name
    exact: bool = True
    """No row breaks it, or too few to learn from; the residual then matters only in rows with a missing part."""
    near: bool = False
    """Whether rows break it, but too few to learn from."""
    in_32_bits: bool = False
    """Whether parts and results are 32-bit floats."""
    short: tuple[Name, ...] = ()
    """In that case: the parts that are 32-bit floats; the others are integers or 64-bit floats."""
    rest: Name | None = None
    """The residual column; None if there is none."""
    whole: bool = True
    """Whether the target is read as integers."""
    decimals: int | None = None
    """Decimals of a non-integer target; None if it has no grid."""
    step: int = 1
    """Integer residuals are multiples of this."""
    window: int | None = None
    """For cyclic targets: the smallest residual; all others are less than a cycle above it."""
    gappy: bool = True
    """Without a residual: whether the target is missing where a part is; otherwise it is never missing."""
    or_zero: bool = False
    """Whether the target may be 0 instead; `rest` is then the flag for these rows."""
    ends: tuple[float, float] | None = None
    """Limits of the target's dtype; where the residual is learned, the range of the target."""
    support: int = 0
    exceptions: int = 0

    # ---- defined by each form

    @property
    def reads(self) -> tuple[Name, ...]:
        """The columns that it computes from."""
        raise NotImplementedError

    @property
    def formula(self) -> str:
        """The right side of the sentence."""
        raise NotImplementedError

    @property
    def cycle(self) -> int | None:
        """Period of a cyclic target, e.g. a day in minutes; None for most laws."""
        return None

    def expected(self, frame: Frame) -> Values:
        """Expected target as levels (numbers that can be subtracted), even where parts are missing."""
        raise NotImplementedError

    def levels(self, values: Values) -> Values:
        """Values of the target as levels."""
        return values

    def unlevelled(self, levels: Values) -> Values:
        """Inverse of `levels`, for any levels."""
        return levels

    # ---- a law

    @property
    def text(self) -> str:
        """The sentence, with `=` if it always holds and `~` if the residual is learned."""
        end = f"{OR_ZERO if self.or_zero else ''}{SINGLE if self.in_32_bits else ''}"
        sentence = f"{quoted(self.target)} {'=' if self.exact else '~'} {self.formula}{end}"
        return said(sentence, near=self.near and self.exact)

    @property
    def said(self) -> str:
        """The sentence with its counts."""
        if self.exact:
            several = "exception, which is" if self.exceptions == 1 else "exceptions, which are"
            broken = f"{self.exceptions:,} {several} not learned" if self.near else "no exception"
            return f"{self.text} ({self.support:,} rows, {broken})"
        rows = self.support + self.exceptions
        share = self.support / max(rows, 1)
        equal = f"equal in {share:.1%} of {rows:,} rows; " if share >= 0.0005 else ""
        return f"{self.text} ({equal}the difference is learned)"

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Rows without missing parts, and those whose target is as computed."""
        applies = frame.present(self.target, *self.reads)
        rests = self.rests(frame)
        if self.whole or self.decimals is not None:
            keeps = applies & (rests == 0)
        else:
            slack = tolerance(in_32_bits=self.in_32_bits) * np.abs(self.computed(frame).astype(np.float64))
            keeps = applies & (np.abs(rests) <= slack)
        if not self.or_zero:
            return applies, keeps
        zero = self._zero(frame)
        # With a missing part the target can only be 0: the flag cannot store a number.
        applies = applies | (frame.present(self.target) & ~zero)
        return applies, keeps | (applies & zero)

    def _zero(self, frame: Frame) -> Mask:
        zero: Mask = np.asarray(frame.values(self.target) == 0, dtype=bool)
        return frame.present(self.target) & zero

    def rests(self, frame: Frame) -> Values:
        """Target minus expected, on the target's grid; arbitrary where the target is missing."""
        levels, expected = self.levels(frame.values(self.target)), self.computed(frame)
        if self.whole:
            rests = levels.astype(np.int64) - expected
            return rests if self.cycle is None else self._wrapped(rests)
        real = levels.astype(np.float64) - expected
        return real if self.decimals is None else np.round(real, self.decimals)

    def _wrapped(self, rests: Values) -> Values:
        assert self.cycle is not None
        low = -(self.cycle // 2) if self.window is None else self.window
        return (rests - low) % self.cycle + low

    def computed(self, frame: Frame) -> Values:
        """Expected levels on the grid of the target."""
        if self.in_32_bits:
            return self._on_grid(stored_in_32_bits(self.expected(frame.widened(self.short))))
        return self._on_grid(self.expected(frame))

    def _short_parts(self, schema: Schema) -> tuple[Name, ...]:
        """Parts that are 32-bit floats: by dtype or, if the table stores decimals, all non-integers."""
        parts = [schema.column(name) for name in self.reads]
        if not schema.column(self.target).single:
            return tuple(column.name for column in parts if not column.whole)
        return tuple(column.name for column in parts if column.single)

    def _on_grid(self, levels: Values) -> Values:
        """Expected levels, rounded like the target."""
        if self.whole:
            return levels if levels.dtype.kind == "i" else to_whole(levels)
        numbers = levels.astype(np.float64)
        return numbers if self.decimals is None else np.round(numbers, self.decimals)

    def learn(self: Self, frame: Frame, floor: int) -> Self:
        """Count support and exceptions in all rows, and decide whether a residual is needed."""
        column = frame.schema.column(self.target)
        there = frame.values(self.target)[~frame.gaps(self.target)]
        whole = self._is_whole(there)
        law = replace(
            self,
            whole=whole,
            decimals=None if whole or self.in_32_bits else count_decimals(there.astype(np.float64)),
            ends=dtype_ends(column),
            short=self._short_parts(frame.schema) if self.in_32_bits else (),
        )
        if law.cycle is not None:
            law = replace(law, window=law._find_window(frame))
        law = law.counted(frame)
        law = replace(law, exact=law.exceptions < max(floor, 1), near=0 < law.exceptions < floor)
        if law.or_zero:
            return replace(law, exact=True, rest=fresh(f"{self.target} is 0", frame.schema))
        own, parts = frame.gaps(self.target), ~frame.present(*self.reads)
        # Another pattern of gaps in fewer rows than the floor would not be learned either.
        if law.exact and int((own != parts).sum()) < max(floor, 1):
            return replace(law, rest=None, gappy=bool(own.any()))
        if not law.exact and column.kind == NUMERIC and law.cycle is None:
            law = replace(law, ends=law._reach(there.astype(np.float64), floor))
        word = "beside" if law.exact else "-"
        step = 1 if law.scale is None else step_of(law._counts(law.rests(frame)[~frame.gaps(self.target)]), floor)
        return replace(law, rest=fresh(f"{self.target} {word} ({self.formula})", frame.schema), step=step)

    def _reach(self, values: NDArray[np.float64], floor: int) -> tuple[float, float] | None:
        """The range of the target; sums of several columns may exceed it, but never become negative if the target is
        not.
        """
        low, high = reach_of(values, floor)
        if len(self.reads) == 1:
            return low, high
        return (low, self.ends[1] if self.ends else float(LARGEST)) if low >= 0 else self.ends

    @property
    def scale(self) -> int | None:
        """Counts per unit for a residual stored as integers; None if it has no grid."""
        if self.whole:
            return 1
        return None if self.decimals is None or self.decimals > MAX_DECIMALS else 10**self.decimals

    def _counts(self, rests: Values) -> Values:
        """Residuals as integers."""
        assert self.scale is not None
        return rests if self.whole else to_whole(rests * self.scale)

    def _is_whole(self, values: Values) -> bool:
        return values.dtype.kind in "iu"

    def _find_window(self, frame: Frame) -> int:
        """Start of the cycle of residuals: after its widest empty interval."""
        assert self.cycle is not None
        there = frame.present(self.target, *self.reads)
        rests = np.unique(replace(self, window=0).rests(frame)[there])
        if not len(rests):
            return -(self.cycle // 2)
        gaps = np.diff(np.append(rests, rests[0] + self.cycle))
        widest = int(np.argmax(gaps))
        start = int(rests[(widest + 1) % len(rests)])
        start -= start % 60 if gaps[widest] > 60 else 0  # a full hour, so that no single row's residual is stored
        return start if start <= self.cycle // 2 else start - self.cycle

    def reshape(self, schema: Schema) -> Schema:
        """The target dropped, or replaced by its residual."""
        if self.rest is None:
            return replaced(schema, self.target, [])
        if self.or_zero:
            return replaced(
                schema, self.target, [Column(self.rest, BOOLEAN, "boolean", why=f"whether {self.target!r} is 0")]
            )
        why = f"the difference of {self.target!r} from {self.formula}"
        dtype = REAL if self.scale is None else WHOLE
        return replaced(schema, self.target, [Column(self.rest, NUMERIC, dtype, why=why)])

    def express(self, frame: Frame) -> Frame:
        """Replace the target by its residual."""
        schema = self.reshape(frame.schema)
        if self.rest is None:
            return frame.changed(schema, {})
        gaps = frame.gaps(self.target)
        if self.or_zero:
            flags = np.empty(frame.n_rows, dtype=object)
            flags[:] = self._zero(frame).tolist()
            return frame.changed(schema, {self.rest: Cells(flags, gaps)})
        rests = self.rests(frame)
        if self.scale is not None:
            counts = self._counts(np.where(gaps, 0, rests))
            rests = counts if self.step == 1 else (counts + self.step // 2) // self.step
        return frame.changed(schema, {self.rest: Cells(np.where(gaps, 0, rests), gaps)})

    def log_scale(self, frame: Frame) -> NDArray[np.float64]:
        """Counts of the residual per unit of the target."""
        if self.or_zero:
            return np.zeros(frame.n_rows)
        return np.full(frame.n_rows, np.log((self.scale or 1) / self.step))

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Compute the target."""
        levels = self.computed(frame)
        there = frame.present(*self.reads)
        gaps = ~there if self.gappy else np.zeros(frame.n_rows, dtype=bool)
        if self.or_zero and self.rest is not None:
            gaps = frame.gaps(self.rest)
            flagged = np.asarray(frame.values(self.rest) == True, dtype=bool)  # noqa: E712  (an array of objects)
            levels = np.where(flagged | ~there, 0, levels)
        elif self.rest is not None:
            gaps = frame.gaps(self.rest)
            rests = np.where(gaps, 0, frame.values(self.rest))
            rests = np.where(there, 0, rests) if self.exact else rests
            if self.scale is not None:
                rests = self._inside(to_whole(rests) * self.step, levels)
            levels = levels + (rests if self.scale in (None, 1) else rests / self.scale)
        if self.cycle is not None:
            levels = levels % self.cycle
        values = self.unlevelled(self._on_grid(levels))
        return frame.changed(schema, {self.target: Cells(self._fitted(values), gaps)})

    def _inside(self, counts: Values, levels: Values) -> Values:
        """Residuals on their own grid with which the target is between its ends: clipping it would leave the grid."""
        if self.ends is None or self.exact or self.scale is None or self.cycle is not None:
            return counts
        low, high = ((end - levels.astype(np.float64)) * self.scale / self.step for end in self.ends)
        least, most = np.ceil(np.round(low, 6)), np.floor(np.round(high, 6))
        outside = (least <= most) & ((counts < least * self.step) | (counts > most * self.step))
        nearest = np.where(counts < least * self.step, least, most)
        return np.where(outside, to_whole(np.where(outside, nearest, 0)) * self.step, counts)

    def _fitted(self, values: Values) -> Values:
        """Clip values to what the dtype can hold."""
        if self.ends is None:
            return values
        low, high = self.ends
        return np.clip(values, int(low) if self.whole else low, int(high) if self.whole else high)

    def to_json(self) -> dict[str, Any]:
        """The fields that differ from their defaults."""
        plain = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default or field.name == "target":
                plain[field.name] = _plain(value)
        return plain

    @classmethod
    def from_json(cls: type[Self], data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        unknown = set(data) - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"unknown field {min(unknown)!r} of a law")
        return cls(**{name: _frozen(value) for name, value in data.items()})


def _plain(value: Any) -> Any:
    return [_plain(v) for v in value] if isinstance(value, tuple | list) else value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(v) for v in value) if isinstance(value, list | tuple) else value
