"""Each column of both tables → curves, bars, statistics, last digits and calendar parts, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...data.schema.numbers import count_decimals
from ..encoding import MISSING, Feature, Table
from ..metrics.grain import MAX_DECIMALS, SPARE
from .curves import density
from .words import MISSING_WORD, cell, number, span

FEW_VALUES = 25
"""A numeric column with at most this many values is drawn as bars, one per value."""
MAX_BARS = 12
LOOK_SHAPE = 0.95
"""A column with a lower Shape is marked as worth a look."""
LOOK_GAPS = 0.02
"""So is a column whose share of missing values differs by more than this."""
LOOK_GRAIN = 0.05
"""And a column whose last digits agree less than those of two real samples, by more than this."""
DAY = 86_400


def columns(
    real: Table, new: Table, shapes: Mapping[str | int, float], grains: Mapping[str | int, Any], floor: int
) -> list[dict[str, Any]]:
    """What the page shows of each column, the least faithful first.

    `floor`: a value that fewer real rows have is not shown by itself, and neither are the ends of the range.
    """
    found = []
    for place, feature in enumerate(real.features):
        a, b = real.columns[place], new.columns[place]
        card = {
            "name": str(feature.name),
            "kind": kind_of(feature),
            "score": shapes.get(feature.name),
            "missing": [share_missing(feature, column) for column in (a, b)],
            "plot": _marginal(feature, a, b, floor),
            "statistics": _statistics(feature, a, b, floor),
            "calendar": _calendar(a, b) if feature.unit == "time" else [],
            "grain": None if feature.unit else _grain(a, b, grains.get(feature.name)),
        }
        found.append({**card, "look": _worth_a_look(card)})
    return sorted(found, key=lambda column: 2.0 if column["score"] is None else column["score"])


def kind_of(feature: Feature) -> str:
    """The kind of a column, in the words of the reader."""
    return "category" if feature.categorical else {"time": "date", "duration": "duration"}.get(feature.unit, "number")


def gaps_of(feature: Feature, column: NDArray[Any]) -> NDArray[np.bool_]:
    """Where values are missing."""
    return np.asarray(column == MISSING if feature.categorical else np.isnan(column))


def share_missing(feature: Feature, column: NDArray[Any]) -> float:
    """The share of missing values."""
    return float(gaps_of(feature, column).mean())


def _worth_a_look(card: Mapping[str, Any]) -> list[str]:
    """Why a column is marked, as a sentence."""
    why = []
    if card["score"] is not None and card["score"] < LOOK_SHAPE:
        why.append("distribution")
    if abs(card["missing"][0] - card["missing"][1]) > LOOK_GAPS:
        why.append("missing values")
    if card["grain"] and card["grain"]["score"] < card["grain"]["chance"] - LOOK_GRAIN:
        why.append("last digits")
    return why


# ---- the picture


def _marginal(feature: Feature, real: NDArray[Any], new: NDArray[Any], floor: int) -> dict[str, Any]:
    """Choose how a column is drawn: bars for categories and few values, densities for numbers."""
    if feature.categorical:
        names = [MISSING_WORD, *feature.labels]
        return _bars(names, *(_counts(c, len(names)) for c in (real, new)), floor=floor)
    there, others = real[~np.isnan(real)], new[~np.isnan(new)]
    values = np.unique(there)
    if 0 < len(values) <= FEW_VALUES and not feature.unit:
        edges = (values[1:] + values[:-1]) / 2
        counted = (_counts(np.searchsorted(edges, c, side="right"), len(values)) for c in (there, others))
        return _bars([f"{v:g}" for v in values], *counted, by_size=False, floor=floor)
    return {**density(there, others), "unit": feature.unit}


def _counts(codes: NDArray[Any], size: int) -> NDArray[np.int64]:
    return np.bincount(codes, minlength=size)[:size]


def _bars(
    labels: Sequence[str], real: NDArray[np.int64], new: NDArray[np.int64], *, floor: int, by_size: bool = True
) -> dict[str, Any]:
    """Bars of shares; where there are many, only the largest are named, and the rest are one bar."""
    used = np.flatnonzero((real > 0) | (new > 0))
    hidden = used[(real[used] > 0) & (real[used] < floor)]
    shown = used[~np.isin(used, hidden)]
    if by_size and len(shown) + bool(len(hidden)) > MAX_BARS:
        shown = shown[np.argsort(-(real / real.sum() + new / max(new.sum(), 1))[shown], kind="stable")]
        shown = shown[: MAX_BARS - 1]
    rest = used[~np.isin(used, shown)]
    shares = [counts / max(counts.sum(), 1) for counts in (real, new)]
    data: dict[str, Any] = {"type": "bars", "labels": [labels[i] for i in shown]}
    data |= {side: own[shown].tolist() for side, own in zip(("real", "synthetic"), shares, strict=True)}
    if len(rest):
        data["labels"].append(f"{len(rest)} others")
        data["rest"] = True
        for side, own in zip(("real", "synthetic"), shares, strict=True):
            data[side].append(float(own[rest].sum()))
    return data


# ---- statistics


def _statistics(feature: Feature, real: NDArray[Any], new: NDArray[Any], floor: int) -> list[dict[str, str]]:
    """The statistics of both columns, as text."""
    describe = _of_codes if feature.categorical else _of_numbers
    sides = [describe(feature, column, floor) for column in (real, new)]
    return [{"name": name, "real": sides[0][name], "synthetic": sides[1][name]} for name in sides[0]]


def _of_numbers(feature: Feature, values: NDArray[np.float64], floor: int) -> dict[str, str]:
    there = values[~np.isnan(values)]
    points = {"minimum": 0.0, "5 %": 0.05, "median": 0.5, "95 %": 0.95, "maximum": 1.0}
    if floor > 1:  # the ends of a range are values of single rows
        points = {name: share for name, share in points.items() if 0 < share < 1}
    if not there.size:
        return dict.fromkeys(("mean", "deviation", *points), "–")
    spread = float(there.std())
    shown = {"mean": number(feature, there.mean(), spread), "deviation": span(feature, spread)}
    quantiles = np.quantile(there, list(points.values()))
    return shown | {name: number(feature, value, spread) for name, value in zip(points, quantiles, strict=True)}


def _of_codes(feature: Feature, codes: NDArray[np.int32], floor: int) -> dict[str, str]:
    there = codes[codes != MISSING]
    names = ("distinct values", "most common", "second")
    if not there.size:
        return dict(zip(names, ("0", "–", "–"), strict=True))
    counts = np.bincount(there, minlength=2)
    order = np.argsort(-counts, kind="stable")[:2]
    tops = [
        f"{cell(feature.labels[code - 1])} ({counts[code] / len(codes):.1%})"
        if 0 < code <= len(feature.labels) and counts[code] >= floor
        else "–"
        for code in order
    ]
    return dict(zip(names, (f"{(counts > 0).sum():,}", *tops), strict=True))


# ---- last digits


def _grain(real: NDArray[Any], new: NDArray[Any], record: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The shares of last digits, zero to nine, of a number that has them, and how similar the roundings are."""
    if record is None:
        return None
    there, others = (column[~np.isnan(column)] for column in (real, new))
    decimals = count_decimals(there, spare=len(there) // SPARE)
    if decimals is None or decimals > MAX_DECIMALS:
        return None
    step, tens = 10.0**-decimals, _tens(there * 10.0**decimals)
    shares = [_digits(column * 10.0**decimals / tens) for column in (there, others)]
    unit = f"{step * tens:,.{max(0, decimals - round(np.log10(tens)))}f}"
    return {
        "score": record["score"],
        "chance": record["chance"],
        "unit": unit,
        "real": shares[0],
        "synthetic": shares[1],
    }


def _tens(counts: NDArray[np.float64]) -> float:
    """The largest power of ten of which nearly all numbers are multiples: their last digits are all 0."""
    power, spare = 1.0, len(counts) // SPARE
    varied = counts[counts != 0]
    while len(varied) and np.count_nonzero(np.rint(varied) % (power * 10)) <= spare and power < 1e9:
        power *= 10
    return power


def _digits(counts: NDArray[np.float64]) -> list[float]:
    digits = (np.abs(np.rint(np.clip(counts, -(2.0**53), 2.0**53))) % 10).astype(np.int64)
    shares: list[float] = (np.bincount(digits, minlength=10)[:10] / max(len(digits), 1)).tolist()
    return shares


# ---- dates


def _calendar(real: NDArray[np.float64], new: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Shares by hour, weekday and month, but only those by which the real dates differ."""
    times = [pd.DatetimeIndex(pd.to_datetime(column[~np.isnan(column)], unit="s")) for column in (real, new)]
    if not all(len(own) for own in times):
        return []
    parts = (
        ("hour", "hour", [f"{hour:02d}" for hour in range(24)], 0),
        ("weekday", "day_of_week", ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], 0),
        ("month", "month", ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1),
    )
    found = []
    for name, attribute, labels, first in parts:
        codes = [np.asarray(getattr(own, attribute)) - first for own in times]
        if len(np.unique(codes[0])) < 2:
            continue
        shares = [_counts(own, len(labels)) / len(own) for own in codes]
        found.append({"name": name, "labels": labels, "real": shares[0].tolist(), "synthetic": shares[1].tolist()})
    return found
