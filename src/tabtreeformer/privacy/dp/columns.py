"""Learns one column from noisy histograms: the usual codec, and the noisy frequency of each id.

The schema is public: names, kinds, dtypes, forms, placeholders, the list of a pandas category dtype, and `values`,
`low` and `high` if given. Everything else comes from the histograms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...data.schema import BOOLEAN, CONSTANT, DATETIME, IDENTIFIER, MEASURED, NUMERIC, TEXT, TIMEDELTA, Column, Labels
from ...data.schema.column import NUMBER_OBJECT
from ...data.schema.dtypes import dtype_of
from ...errors import SchemaError
from ...tokens.codecs.base import Codec
from ...tokens.codecs.column import ColumnCodec
from ...tokens.codecs.constant import ConstantCodec
from ...tokens.codecs.labels import LabelCodec
from ...tokens.codecs.makers import NumberKeys, Placeholder
from ...tokens.codecs.ticks import TickCodec
from ...tokens.codecs.unlearned import KeyCodec, TextCodec
from .histograms import Histograms, Secret
from .noise import Floats
from .numbers import find_decimals, find_range, learn_number
from .times import N_TIME_HISTOGRAMS, find_step, learn_times, steps_of

MAX_KEPT = 2000
"""Maximum number of kept values of a text column."""


@dataclass(frozen=True)
class PrivateColumn:
    """A codec, and the noisy number of rows of each id of each of its slots."""

    codec: ColumnCodec
    counts: tuple[Floats, ...]

    def encode(self, series: pd.Series, rng: np.random.Generator) -> NDArray[np.int64]:
        """Values (N,) → ids (N, width); values unknown to the codec get ids drawn by the counts."""
        known = np.ones(len(series), dtype=bool)
        gaps = series.isna().to_numpy()
        if not self.codec.missing:
            known &= ~gaps
        there = np.flatnonzero(~gaps)
        known[there] &= self.codec.inner.can_encode(self.codec.column.read(series.iloc[there]))
        ids = np.zeros((len(series), self.codec.width), dtype=np.int64)
        ids[known] = self.codec.encode(series[known])
        for slot, counts in enumerate(self.counts):
            weights = np.maximum(counts, 0.0) + 1e-9
            ids[~known, slot] = rng.choice(len(weights), int((~known).sum()), p=weights / weights.sum())
        return ids


def histograms_of(column: Column) -> tuple[int, int]:
    """Number of histograms for a column, and of those that find values; from the schema alone."""
    if column.kind in MEASURED:
        n_range = 0 if column.low is not None and column.high is not None else 1
        own = {NUMERIC: 1 if column.whole else 2, TIMEDELTA: 2, DATETIME: N_TIME_HISTOGRAMS}
        return n_range + own[column.kind], 0
    found = column.kind != IDENTIFIER and _given(column) is None
    return 1, int(found)


def check(column: Column) -> None:
    """Refuse a column that would need statistics without noise."""
    if column.kind == TEXT and not column.placeholder:
        raise SchemaError(
            f"column {column.name!r} is text: under differential privacy its rare values need a public placeholder, "
            f"e.g. schema.with_placeholder({column.name!r}, '(text {{n}})'); or drop the column"
        )
    if column.kind == IDENTIFIER and not column.whole and not column.placeholder:
        raise SchemaError(
            f"column {column.name!r} is a key: under differential privacy no pattern is learned from its values; give "
            f"it a public placeholder, e.g. schema.with_placeholder({column.name!r}, 'key-{{n}}'), or drop the column"
        )


def learn_column(series: pd.Series, column: Column, most_ids: int, make: Histograms) -> PrivateColumn:
    """Learn one column, with the number of histograms given by `histograms_of`."""
    gaps = series.isna().to_numpy()
    values, n_missing_rows = column.read(series[~gaps]), int(gaps.sum())
    if column.kind in MEASURED:
        dtype = np.float64 if column.kind == NUMERIC else np.int64
        return _finish(
            column, *_measured(column, Secret(values.to_numpy(dtype=dtype), n_missing_rows), most_ids, make), make
        )
    rows = np.empty(len(values), dtype=object)
    rows[:] = values.tolist()
    if column.form == NUMBER_OBJECT:
        # Read as integers only if the schema says so: no row may change how the others are counted.
        rows[:] = [int(number) if float(number).is_integer() else number for number in rows]
    labels = Secret(rows, n_missing_rows)
    if column.kind == IDENTIFIER:
        present, n_missing = make.count(labels.map(lambda keys: np.zeros(len(keys), dtype=np.int64)), 1)
        return _finish(column, _keys(column), [], n_missing, make, float(present[0]))
    found, n_missing = _labels(column, labels, make)
    if column.kind == CONSTANT:
        best = max(found, key=lambda value: found[value], default=None)
        nothing = best is None or found[best] < n_missing
        return PrivateColumn(ColumnCodec(column, ConstantCodec(None if nothing else best), False), ())
    if column.kind == TEXT:
        return _finish(column, *_text(column, found, make.present(n_missing)), n_missing, make)
    if not found:
        raise SchemaError(
            f"column {column.name!r}: no value has the {make.threshold:,.0f} rows needed to release it at this "
            "epsilon; list its values in the schema if they are public, raise epsilon, or drop the column"
        )
    return _finish(column, LabelCodec(Labels(tuple(found))), [np.array(list(found.values()))], n_missing, make)


def _text(column: Column, found: dict[Any, float], n_there: float) -> tuple[TextCodec, list[Floats]]:
    """Frequent values, and a public placeholder for all others."""
    kept = sorted(sorted(found, key=lambda value: -found[value])[:MAX_KEPT])
    mass = np.array([found[value] for value in kept])
    assert column.placeholder is not None
    codec = TextCodec(Labels(tuple(kept)), Placeholder(column.placeholder), 0)
    return codec, [np.append(mass, max(n_there - mass.sum(), 1.0))] if kept else []


def _given(column: Column) -> tuple[Any, ...] | None:
    """Public values: those listed in the schema, or all values of the dtype."""
    if column.values is not None:
        return column.values
    if column.categories is not None:
        return column.categories
    dtype = None if column.dtype == "object" else dtype_of(column.dtype)
    if column.kind == BOOLEAN and pd.api.types.is_bool_dtype(dtype):
        return (False, True)
    return None


def _labels(column: Column, values: Secret[np.object_], make: Histograms) -> tuple[dict[Any, float], float]:
    """Values with their noisy counts, in the order of their ids, and the noisy count of missing ones."""
    given = _given(column)
    if given is None:
        return make.find(values)
    place = {value: k for k, value in enumerate(given)}

    def cells(rows: NDArray[np.object_]) -> NDArray[np.int64]:
        # Values not on the list are not counted, and are redrawn when encoding.
        return np.array([place.get(value, len(place)) for value in rows], dtype=np.int64)

    counts, n_missing = make.count(values.map(cells), len(given) + 1)
    return dict(zip(given, counts.tolist(), strict=False)), n_missing


def _keys(column: Column) -> KeyCodec:
    if column.placeholder:
        return KeyCodec(Placeholder(column.placeholder))
    limits = np.iinfo("int64" if column.dtype == "object" else column.dtype.removeprefix("arrow:").lower())
    return KeyCodec(NumberKeys(0, 0, int(limits.min), int(limits.max)))  # always counted from 1


def _measured(
    column: Column, values: Secret[Any], most_ids: int, make: Histograms
) -> tuple[Codec, list[Floats], float]:
    """The codec of a number, a duration or a time, the noisy rows of its ids, and of missing values."""
    ends = (
        None if column.low is None or column.high is None else (column.number(column.low), column.number(column.high))
    )
    if column.kind == DATETIME:
        return learn_times(values, column.unit, ends, most_ids, make)
    if column.kind == TIMEDELTA:
        step = find_step(values, steps_of(column.unit), make)
        ticks = values.map(lambda counts: (counts // step).astype(np.float64))
        ends = find_range(ticks, True, make) if ends is None else (ends[0] // step, ends[1] // step)
        learned = learn_number(ticks, None, ends, 0, True, most_ids, make)
        return TickCodec(step, learned.codec), [learned.mass], learned.missing
    whole = column.whole
    decimals = 0 if whole else find_decimals(values, make)
    ends = find_range(values, whole, make) if ends is None else ends
    learned = learn_number(values, None, ends, decimals, whole, most_ids, make)
    return learned.codec, [learned.mass], learned.missing


def _finish(
    column: Column, inner: Codec, counts: list[Floats], n_missing: float, make: Histograms, n_there: float = 1.0
) -> PrivateColumn:
    """Add an id for missing values if clearly more than noise are missing."""
    dtype = None if column.dtype in ("object", "category") else dtype_of(column.dtype)
    never = isinstance(dtype, np.dtype) and dtype.kind in "iub"
    codec = ColumnCodec(column, inner, not never and n_missing > make.clear(1))
    if not codec.missing:
        return PrivateColumn(codec, tuple(counts))
    if not counts:
        return PrivateColumn(codec, (np.array([max(n_there, 1.0), n_missing]),))
    # Further slots of a missing value are 0.
    others = [np.concatenate([[c[0] + n_missing], c[1:]]) for c in counts[1:]]
    return PrivateColumn(codec, (np.append(counts[0], n_missing), *others))
