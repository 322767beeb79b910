"""Weights: the share of the children that belongs to each value of a parent's columns.

A few of 200 teams have most of the results: if the largest is drawn with a rare nationality, thousands of results are
wrong. So facts about children are swapped between parents until every value has about the same share of the children as
in the data. Only shares of values that at least `floor` parents have are stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .followed import is_time
from .matching import as_text
from .rows import Ints

PARTS = 10
"""Number of bins for numbers and times, each with the same number of parents."""
MAX_LABELS = 200
TOLERANCE = 0.01
"""Mean share of the children that may be in the wrong place, where few parents have most of them."""
ROUNDS, TRIES = 400, 1_000
"""Maximum number of swaps, and of pairs compared for each."""
MANY = 100
"""Parents among whom children are shared so evenly that shares by chance are near the learned ones."""
PATIENCE = 50
"""Stop after this many rounds without a gain; fewer if all pairs of a small table have been seen."""


@dataclass(frozen=True)
class Weight:
    """Shares of the children by value of one parent column."""

    column: str
    labels: tuple[str, ...]
    """For labels: those that enough parents have."""
    edges: tuple[float, ...]
    """For numbers and times: the edges of the bins."""
    shares: Mapping[str, tuple[float, ...]]
    """By counting column: the share of each value, then of all other values, then of missing ones."""

    def codes(self, values: pd.Series) -> Ints:
        """The code of each parent's value (n,)."""
        missing = values.isna().to_numpy()
        if self.labels:
            known = {label: code for code, label in enumerate(self.labels)}
            codes = values.map(lambda value: known.get(as_text(value), len(known)), na_action="ignore")
            found = codes.fillna(0).to_numpy(dtype=np.int64)
        else:
            found = np.searchsorted(np.asarray(self.edges), _numbers(values), side="right").astype(np.int64)
        return np.where(missing, self.size - 1, found)

    @property
    def size(self) -> int:
        """Number of different codes."""
        return (len(self.labels) + 2) if self.labels else (len(self.edges) + 2)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        shares = {name: list(numbers) for name, numbers in self.shares.items()}
        return {"column": self.column, "labels": list(self.labels), "edges": list(self.edges), "shares": shares}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Weight:
        """Inverse of `to_json`."""
        return cls(
            column=str(data["column"]),
            labels=tuple(str(label) for label in data["labels"]),
            edges=tuple(float(edge) for edge in data["edges"]),
            shares={str(name): tuple(float(n) for n in numbers) for name, numbers in data["shares"].items()},
        )


def learn_weights(frame: pd.DataFrame, own: Mapping[str, bool], counts: Sequence[str], floor: int) -> list[Weight]:
    """Learn the weights of the parents' own columns from their extended rows."""
    found = []
    for name, measured in own.items() if counts else ():
        weight = _without_shares(frame[name], name, max(floor, 1), measured=measured)
        if weight is None:
            continue
        codes = weight.codes(frame[name])
        shares = {}
        for count in counts:
            children = frame[count].fillna(0).to_numpy(dtype=np.float64)
            totals = np.bincount(codes, weights=children, minlength=weight.size)
            shares[count] = tuple((totals / max(totals.sum(), 1.0)).tolist())
        found.append(Weight(name, weight.labels, weight.edges, shares))
    return found


def _without_shares(values: pd.Series, name: str, floor: int, *, measured: bool) -> Weight | None:
    known = values.dropna()
    if measured:
        parts = min(PARTS, len(known) // max(floor, 2))
        edges = np.unique(np.quantile(_numbers(known), np.arange(1, parts) / parts)) if parts > 1 else np.zeros(0)
        return Weight(name, (), tuple(edges.tolist()), {}) if len(edges) else None
    numbers = known.map(as_text).value_counts()
    labels = sorted(numbers[numbers >= floor].index[:MAX_LABELS])
    return Weight(name, tuple(labels), (), {}) if labels else None


def _numbers(values: pd.Series) -> NDArray[np.float64]:
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        naive = values.dt.tz_localize(None) if getattr(values.dt, "tz", None) is not None else values
        values = (naive - pd.Timestamp(0)) / pd.Timedelta(days=1)
    numbers: NDArray[np.float64] = values.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers


def exchanged(
    frame: pd.DataFrame, weights: Sequence[Weight], facts: Sequence[str], rng: np.random.Generator
) -> pd.DataFrame:
    """The frame with facts about children swapped between rows, so that values have the same weights as in the data."""
    codes, targets, totals = _state(frame, weights)
    if not targets or len(frame) < 2:
        return frame
    counts = [frame[name].fillna(0).to_numpy(dtype=np.float64) for name in totals]
    scales = [1 / max(count.sum(), 1.0) for count in counts]
    order = np.arange(len(frame))
    sums = _sums(codes, counts, [w.size for w in weights])
    enough = _tolerance(codes, counts, [w.size for w in weights])
    in_vain, patience = 0, min(PATIENCE, 1 + 5 * len(frame) ** 2 // TRIES)
    for _ in range(ROUNDS):
        if in_vain == patience or _distance(sums, targets, scales) <= enough:
            break
        first, second = rng.integers(len(frame), size=(2, TRIES))
        gains = np.zeros(TRIES)
        for (c, k), target in targets.items():
            held, total = counts[k][order], sums[c, k]
            change = held[second] - held[first]
            here, there = codes[c][first], codes[c][second]
            before = np.abs(total[here] - target[here]) + np.abs(total[there] - target[there])
            after = np.abs(total[here] + change - target[here]) + np.abs(total[there] - change - target[there])
            gains += np.where(here == there, 0.0, before - after) * scales[k]
        best = int(gains.argmax())
        if gains[best] <= 0:
            in_vain += 1
            continue
        in_vain = 0
        one, other = int(first[best]), int(second[best])
        for c, k in targets:
            change = counts[k][order[other]] - counts[k][order[one]]
            sums[c, k][codes[c][one]] += change
            sums[c, k][codes[c][other]] -= change
        order[[one, other]] = order[[other, one]]
    own_times = any(is_time(frame[weight.column]) for weight in weights)
    # Where children start follows from the times of the parent, e.g. the sign-up of a customer.
    facts = [name for name in facts if not (own_times and is_time(frame[name]))]
    moved = frame[facts].take(order).set_axis(frame.index)
    return frame.assign(**{name: moved[name] for name in facts})


def _tolerance(codes: Sequence[Ints], counts: Sequence[NDArray[np.float64]], sizes: Sequence[int]) -> float:
    """Mean share of the children that may be in the wrong place: what chance does where many parents share them.

    Every exchange separates the number of children from the other columns of its parent.
    """
    if any(count.sum() ** 2 < MANY * (count**2).sum() for count in counts):
        return TOLERANCE
    expected = []
    for count in counts:
        spread = float(np.sqrt((count**2).sum()) / max(count.sum(), 1.0))
        for own, size in zip(codes, sizes, strict=True):
            share = np.bincount(own, minlength=size) / len(own)
            expected.append(0.4 * spread * float(np.sqrt(share * (1 - share)).sum()))
    return max(TOLERANCE, float(np.mean(expected)))


def _state(
    frame: pd.DataFrame, weights: Sequence[Weight]
) -> tuple[list[Ints], dict[tuple[int, int], NDArray[np.float64]], list[str]]:
    """Codes of each weighted column, target numbers of children per code, and the counting columns."""
    names = list(dict.fromkeys(name for weight in weights for name in weight.shares))
    codes = [weight.codes(frame[weight.column]) for weight in weights]
    targets = {}
    for c, weight in enumerate(weights):
        there = np.unique(codes[c])
        for k, name in enumerate(names):
            shares = np.zeros(weight.size)
            shares[there] = np.asarray(weight.shares[name])[there]  # a value without parents can have no children
            if shares.sum() > 0:
                targets[c, k] = shares / shares.sum() * float(frame[name].fillna(0).sum())
    return codes, targets, names


def _sums(
    codes: Sequence[Ints], counts: Sequence[NDArray[np.float64]], sizes: Sequence[int]
) -> dict[tuple[int, int], NDArray[np.float64]]:
    return {
        (c, k): np.bincount(codes[c], weights=counts[k], minlength=sizes[c]).astype(np.float64)
        for c in range(len(codes))
        for k in range(len(counts))
    }


def _distance(
    sums: Mapping[tuple[int, int], NDArray[np.float64]],
    targets: Mapping[tuple[int, int], NDArray[np.float64]],
    scales: Sequence[float],
) -> float:
    apart = [0.5 * float(np.abs(sums[c, k] - target).sum()) * scales[k] for (c, k), target in targets.items()]
    return float(np.mean(apart))
