"""What a condition on a column means for its ids: which may be drawn, and where inside them a value may lie.

For a column with an order a condition is a few *spans*: closed stretches of plain values (numbers, or counts of the
column's clock). An id may be drawn if a span reaches into it, and a value is then drawn from what they share.
"""

from __future__ import annotations

import math
import operator as op
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..conditions import Condition
from ..errors import ConditionError, SchemaError
from ..schema import CONSTANT, IDENTIFIER, MEASURED, Column
from .atoms import AtomCodec
from .column import ColumnCodec, ConstantCodec
from .labels import LabelCodec
from .times import TickCodec, TimeCodec
from .written import KeyCodec, TextCodec

Mask = NDArray[np.bool_]
Span = tuple[float, float]
MANY = 12


@dataclass(frozen=True)
class Allowed:
    """What is left of a column under a condition."""

    masks: tuple[Mask | None, ...]
    """For each slot of the column, its allowed ids; None where all are."""
    spans: tuple[Span, ...] = ()
    """Where values with an order must lie; empty where that goes without saying."""

    @property
    def settled(self) -> bool:
        """Whether there is nothing left to choose among ids."""
        return all(mask is not None and mask.sum() == 1 for mask in self.masks)


def allow(codec: ColumnCodec, condition: Condition) -> Allowed:
    """What the condition leaves of the column, or an error that names what cannot be."""
    column, inner = codec.column, codec.inner
    if isinstance(inner, KeyCodec):
        raise ConditionError(f"column {column.name!r} is an {IDENTIFIER}, made anew for each row; it cannot be given")
    if condition.operator == "missing":
        return _missing(codec, condition)
    if isinstance(inner, ConstantCodec):
        return _constant(codec, inner, condition)
    if condition.operator == "present":
        return _with_missing(codec, [None] * len(inner.slots(0)), ())
    if isinstance(inner, LabelCodec | TextCodec):
        mask = _label_mask(codec, inner, condition)
        return _with_missing(codec, [mask] if inner.slots(0) else [], ())
    spans = _spans(codec, condition)
    if isinstance(inner, AtomCodec):
        masks = _id_masks(inner, spans)
    elif isinstance(inner, TickCodec) and isinstance(inner.ticks, AtomCodec):
        masks = _id_masks(inner.ticks, [(math.ceil(a / inner.step), math.floor(b / inner.step)) for a, b in spans])
    elif isinstance(inner, TimeCodec):
        masks = [inner.reaching(spans), *([None] * (len(inner.slots(0)) - 1))] if inner.slots(0) else []
    else:
        raise ConditionError(f"column {column.name!r}: conditions need tokens.scheme='atoms', as in the preset auto")
    if masks and masks[0] is not None and not masks[0].any():
        _refuse(codec, condition)
    return _with_missing(codec, masks, tuple(spans))


def fit_in(
    codec: ColumnCodec, allowed: Allowed, ids: NDArray[Any], values: NDArray[Any], gaps: Mask, rng: np.random.Generator
) -> NDArray[Any]:
    """Move decoded values of allowed ids into the spans; those that are inside stay as they are."""
    if not allowed.spans:
        return values
    inner, spans = codec.inner, allowed.spans
    inside = np.zeros(len(values), dtype=bool)
    for low, high in spans:
        inside |= (values >= low) & (values <= high)
    out = np.flatnonzero(~inside & ~gaps)
    values = values.copy()
    if isinstance(inner, AtomCodec | TickCodec) and len(out):
        ticks, step = (inner, 1) if isinstance(inner, AtomCodec) else (inner.ticks, inner.step)
        assert isinstance(ticks, AtomCodec)
        for k in np.unique(ids[out, -1]):
            rows = out[ids[out, -1] == k]
            pieces = [p for p in (_piece(ticks, k, (a / step, b / step)) for a, b in spans) if p is not None]
            values[rows] = _draw(ticks, pieces, len(rows), rng) * step
    elif len(out):  # times: the nearest that the column's clock shows inside a span
        ends = np.array([end for span in spans for end in span], dtype=values.dtype)
        values[out] = ends[np.abs(values[out][:, None] - ends).argmin(1)]
    return values


def holds(codec: ColumnCodec, allowed: Allowed, series: pd.Series) -> Mask:
    """Which values of a column meet the condition that `allowed` came from."""
    ids = codec.encode(series)
    fine = np.ones(len(series), dtype=bool)
    for place, mask in enumerate(allowed.masks):
        if mask is not None:
            fine &= mask[ids[:, place]]
    if allowed.spans:
        there = series.notna().to_numpy()
        bounds = codec.bounds  # a value beyond them counts as the nearest that the column may hold
        values = np.clip(codec.column.read(series[there]).to_numpy(), bounds.low, bounds.high)
        inside = np.zeros(len(values), dtype=bool)
        for low, high in allowed.spans:
            inside |= (values >= low) & (values <= high)
        fine[there] &= inside
    return fine


def _with_missing(codec: ColumnCodec, masks: list[Mask | None], spans: tuple[Span, ...]) -> Allowed:
    """Keep missing values out, which have an id of their own in the first slots."""
    if not codec.missing:
        return Allowed(tuple(masks), spans)
    slots, closed = codec.slots(0), []
    for place, slot in enumerate(slots):
        mask = masks[place] if place < len(masks) else None
        mark = codec.marks.get(place)
        if mark is not None:
            whole = np.ones(slot.size, dtype=bool)
            whole[mark] = False
            if mask is not None:
                whole[:mark] = mask
            mask = whole
        closed.append(mask)
    return Allowed(tuple(closed), spans)


def _missing(codec: ColumnCodec, condition: Condition) -> Allowed:
    if isinstance(codec.inner, ConstantCodec) and codec.inner.value is None:
        return Allowed(())
    if not codec.missing:
        had = "no missing values" if codec.common is None else "too few missing values to learn any"
        raise ConditionError(f"column {codec.column.name!r} had {had} when fitting; {condition} cannot be")
    masks: list[Mask | None] = []
    for place, slot in enumerate(codec.slots(0)):
        mark = codec.marks.get(place)
        masks.append(None if mark is None else np.arange(slot.size) == mark)
    return Allowed(tuple(masks))


def _constant(codec: ColumnCodec, inner: ConstantCodec, condition: Condition) -> Allowed:
    value = inner.value
    operands = [plain_value(codec.column, operand) for operand in condition.operands]
    try:
        met = value is not None and _meets(value, condition.operator, operands)
    except TypeError:  # a text is neither more nor less than a number
        met = False
    if not met:
        nothing = np.zeros((1, 0)), np.random.default_rng(0)
        shown = "missing" if value is None else repr(codec.column.write(inner.decode(*nothing)).iloc[0])
        raise ConditionError(f"column {codec.column.name!r} is always {shown}; {condition} cannot be")
    return Allowed(())


def _meets(value: Any, operator: str, operands: list[Any]) -> bool:
    """Whether one plain value meets a condition on plain values."""
    if operator == "present":
        return True
    if operator == "isin":
        return value in operands
    if operator == "between":
        return bool(operands[0] <= value <= operands[1])
    tests = {"eq": op.eq, "ne": op.ne, "lt": op.lt, "le": op.le, "gt": op.gt, "ge": op.ge}
    return bool(tests[operator](value, operands[0]))


def _label_mask(codec: ColumnCodec, inner: LabelCodec | TextCodec, condition: Condition) -> Mask:
    """Which labels the condition leaves."""
    column, labels = codec.column, inner.labels.values
    size = inner.slots(0)[0].size if inner.slots(0) else 1
    place = {label: code for code, label in enumerate(labels)}
    operands = [plain_value(column, operand) for operand in condition.operands]
    mask = np.zeros(size, dtype=bool)
    if condition.operator in ("eq", "ne", "isin"):
        for operand in operands:
            if operand not in place:
                raise ConditionError(unknown_label(codec, operand))
            mask[place[operand]] = True
        mask = ~mask if condition.operator == "ne" else mask
        if isinstance(inner, LabelCodec):
            mask[list(inner.unnamed)] = False  # for which any value may be written
    else:
        keys, ends = list(labels), operands
        if column.ordered:  # by their place among all categories, those that no row had too
            ranks = {label: rank for rank, label in enumerate(column.categories or ())}
            keys, ends = [ranks[label] for label in labels], [ranks.get(operand) for operand in operands]
        if None in ends or any(isinstance(key, str) != isinstance(end, str) for key in keys for end in ends):
            raise ConditionError(
                f"column {column.name!r} has no order in which {condition} means something; use a list"
            )
        mask[: len(keys)] = [_meets(key, condition.operator, ends) for key in keys]
    if not mask.any():
        _refuse(codec, condition)
    return mask


def unknown_label(codec: ColumnCodec, value: Any) -> str:
    """Why a value cannot be asked for: no row had it, or it is protected, which the model cannot tell apart."""
    assert isinstance(codec.inner, LabelCodec | TextCodec)
    name, known = codec.column.name, known_labels(codec.inner.labels.values)
    if isinstance(codec.inner, LabelCodec) and codec.inner.other is not None:
        return (
            f"column {name!r}: {value!r} is not among the values that are known: {known}; values that too few rows had "
            f"(tokens.rare_floor) are protected as one group, which is never written and cannot be asked for"
        )
    return f"column {name!r} never was {value!r}; known: {known}"


def known_labels(labels: Sequence[Any]) -> str:
    """The first of the labels, for a message."""
    return ", ".join(repr(label) for label in labels[:MANY]) + (", …" if len(labels) > MANY else "")


def _spans(codec: ColumnCodec, condition: Condition) -> list[Span]:
    """The condition as closed stretches of values that the column can hold."""
    bounds, operator = codec.bounds, condition.operator
    a, *rest = [plain_value(codec.column, operand) for operand in condition.operands]
    spans = {
        "eq": [(a, a)],
        "ne": [(bounds.low, _beside(codec, a, up=False)), (_beside(codec, a, up=True), bounds.high)],
        "lt": [(bounds.low, _beside(codec, a, up=False))],
        "le": [(bounds.low, a)],
        "gt": [(_beside(codec, a, up=True), bounds.high)],
        "ge": [(a, bounds.high)],
        "between": [(a, *rest)] if operator == "between" else [],
        "isin": [(value, value) for value in (a, *rest)],
    }[operator]
    settled = []
    for low, high in spans:
        low, high = max(low, bounds.low), min(high, bounds.high)
        if low > high:
            continue
        first = bounds.settle(np.array([low]), up=True)[0]
        last = bounds.settle(np.array([high]), up=False)[0]
        if low <= first <= last <= high:
            settled.append((first.item(), last.item()))
    if not settled:
        _refuse(codec, condition)
    return settled


def _beside(codec: ColumnCodec, value: Any, *, up: bool) -> Any:
    """The next value on the column's grid after or before one."""
    inner = codec.inner
    if isinstance(inner, TickCodec | TimeCodec):
        return value + (1 if up else -1)
    decimals = codec.bounds.decimals
    if decimals is None:
        return math.nextafter(value, math.inf if up else -math.inf)
    half = 0.5 * 10.0**-decimals
    return value + (half if up else -half)


def _id_masks(inner: AtomCodec, spans: list[Any]) -> list[Mask | None]:
    """Ids that a span reaches into, and bins that hold such ids."""
    ids = np.array([any(_piece(inner, k, span) is not None for span in spans) for k in range(len(inner.lows))])
    if not inner.bin_starts:
        return [ids]
    return [np.array([ids[start:stop].any() for start, stop in inner.ranges]), ids]


def _piece(inner: AtomCodec, k: int, span: Span) -> Span | None:
    """What an id and a span share, on the column's grid; None where there is nothing."""
    low, high = max(float(inner.lows[k]), span[0]), min(float(inner.highs[k]), span[1])
    if low > high:
        return None
    if inner.decimals is not None:
        low = float(inner.settle(np.array([low]), up=True)[0])
        high = float(inner.settle(np.array([high]), up=False)[0])
        if low > high:
            return None
    return low, high


def _draw(inner: AtomCodec, pieces: list[Span], n: int, rng: np.random.Generator) -> NDArray[Any]:
    """Draw n values from the pieces, evenly."""
    step = 0.0 if inner.decimals is None else 10.0**-inner.decimals
    lengths = np.array([high - low + step for low, high in pieces]) + (1e-300 if step == 0 else 0.0)
    chosen = np.array(pieces)[rng.choice(len(pieces), size=n, p=lengths / lengths.sum())]  # (n, 2)
    drawn = chosen[:, 0] + rng.random(n) * (chosen[:, 1] - chosen[:, 0] + step)
    drawn = np.clip(inner.settle(drawn, up=False).astype(np.float64), chosen[:, 0], chosen[:, 1])
    return np.asarray(inner.settle(drawn, up=False) if inner.decimals is not None else drawn)


def plain_value(column: Column, value: Any) -> Any:
    """A value as a user writes it → as the column reads its own."""
    try:
        if column.kind in MEASURED or (column.kind == CONSTANT and column.sort != "label"):
            return _measured_value(column, value)
        return column.read(pd.Series([value], dtype=object)).iloc[0]
    except (SchemaError, ValueError, TypeError, OverflowError) as error:
        raise ConditionError(f"column {column.name!r} is {column.kind} and cannot be {value!r}") from error


def _measured_value(column: Column, value: Any) -> Any:
    if column.sort == "number":
        if isinstance(value, str):
            return column.read(pd.Series([value], dtype=object)).iloc[0]
        number = value.item() if isinstance(value, np.generic) else value
        if isinstance(number, bool) or not math.isfinite(number):
            raise ValueError("not a finite number")
        return number if isinstance(number, int) else float(number)
    if column.sort == "duration":
        return int(pd.Timedelta(value).as_unit(column.unit).to_timedelta64().astype(np.int64))
    if isinstance(value, str) and column.form is not None:
        try:
            return int(column.read(pd.Series([value], dtype=object)).iloc[0])
        except SchemaError:
            pass  # not written as the column writes: perhaps as 2024-01-31
    stamp = pd.Timestamp(value)
    if stamp.tzinfo is not None:
        stamp = (stamp if column.zone is None else stamp.tz_convert(column.zone)).tz_localize(None)
    return int(stamp.as_unit(column.unit).to_datetime64().astype(np.int64))


def _refuse(codec: ColumnCodec, condition: Condition) -> None:
    name = codec.column.name
    if codec.column.kind not in MEASURED:
        raise ConditionError(f"column {name!r}: no value is {condition}")
    bounds = codec.bounds
    ends = codec.column.write(np.array([bounds.low, bounds.high])).tolist()
    raise ConditionError(
        f"column {name!r}: no value that was learned is {condition}; values go from {ends[0]} to {ends[1]}"
    )
