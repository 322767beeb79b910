"""Finds conditions for flat values: a fare that is 52 between an airport and a city, and hardly anywhere else.

A flat value is far more frequent than the values next to it. There are two kinds of laws: pairs of labels that imply it
(a flat fare depends on both ends of a ride), and a label without which it hardly ever occurs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.schema import LABELLED
from .base import Mask, Name
from .codes import Coded
from .implication import MAX_P, MIN_SHUFFLED, Implication
from .only import Only
from .search import Candidate, Search
from .states import Both, State

MIN_VALUES = 30
"""Minimum distinct values of a number that has flat values."""
MIN_SPIKE, MIN_ROWS = 5.0, 50
"""Minimum ratio of the rows with a flat value to those with an adjacent value, and minimum number of rows."""
MAX_SHARE = 0.2
MAX_LABELS = 500
"""Maximum distinct labels of a column; only labels of enough rows are read."""
MIN_LIFT = 2.0
"""Minimum ratio of a flat value's share in the rows of a label to its share in all rows."""
MIN_PAIR, MAX_PAIRS = 20, 6
"""Minimum rows of a pair of labels, and maximum number of pairs per value."""
MIN_COVERED, MIN_FEWER = 0.9, 10.0
"""Minimum share of a flat value's rows that have the label, and minimum factor by which more rows would lack it if the
label were as common as elsewhere.
"""
MIN_PART = 0.2
"""Minimum share of a flat value's rows that each of two labels covers."""


@dataclass(frozen=True)
class _Labels:
    """States of columns of labels, and the rows of each."""

    states: tuple[State, ...]
    masks: NDArray[np.float32]  # (S, N)

    @classmethod
    def read(cls, search: Search) -> _Labels:
        least, states, masks = max(search.floor, MIN_PAIR), list[State](), list[Mask]()
        for column in search.frame.schema.columns:
            coded = (
                Coded.read(search.frame, column.name) if column.kind in LABELLED else Coded(np.zeros(0, np.int64), ())
            )
            counts = np.bincount(coded.codes, minlength=coded.size)
            for code in np.flatnonzero(counts >= least) if coded.size <= MAX_LABELS else ():
                if coded.values[code] is not None:
                    states.append(State(column.name, coded.values[code]))
                    masks.append(coded.codes == code)
        matrix = np.array(masks, dtype=np.float32).reshape(len(masks), search.frame.n_rows)
        return cls(tuple(states), matrix)


def find_pairs(search: Search) -> Sequence[Candidate]:
    """Find pairs of labels that imply a flat value, though neither does alone."""
    spikes = search.once("spikes", _spikes)
    if not spikes:
        return []
    labels, found = search.once("labels", _Labels.read), dict[Name, list[tuple[State, Both]]]()
    for state, mask in spikes:
        pairs = _pairs(state, mask, labels, search.floor)
        found.setdefault(state.name, []).extend((state, Both(pair)) for pair in pairs)
    laws = [
        Implication(name, tuple(clauses)).learn(search.frame, search.floor)
        for name, clauses in found.items()
        if clauses
    ]
    return [Candidate(law, law.support / search.frame.n_rows, exact=False, share=1.0) for law in laws]


def find_only(search: Search) -> Sequence[Candidate]:
    """Find labels without which a flat value hardly ever occurs: one label, or the same in either of two columns."""
    spikes = search.once("spikes", _spikes)
    if not spikes:
        return []
    labels, found = search.once("labels", _Labels.read), list[Candidate]()
    for state, mask in spikes:
        causes = _needed(state, mask, labels, search.frame.floats(state.name))
        if causes:
            law = Only(state.name, state.value, causes, near=True).learn(search.frame, search.floor)
            share = law.support / max(law.support + law.exceptions, 1)
            found.append(Candidate(law, float(mask.mean()), exact=False, share=share))
    return found


def _spikes(search: Search) -> list[tuple[State, Mask]]:
    """Flat values of numbers on a grid, and their rows; 0 is excluded, because other laws handle it."""
    numbers, found = search.numbers, list[tuple[State, Mask]]()
    for place, name in enumerate(search.numbers.names):
        if numbers.distinct[place] < MIN_VALUES or numbers.decimals[place] is None or name in search.computed:
            continue
        own = numbers.matrix[:, place]
        values, counts = np.unique(own[~np.isnan(own)], return_counts=True)
        beside = np.maximum(np.append(0, counts[:-1]), np.append(counts[1:], 0))
        flat = (counts >= max(MIN_ROWS, search.floor)) & (counts >= MIN_SPIKE * beside) & (values != 0)
        flat &= counts <= MAX_SHARE * len(own)
        whole = search.frame.values(name).dtype.kind in "iu"
        for value in values[flat].tolist():
            found.append((State(name, int(value) if whole else value), own == value))
    return found


def _pairs(flat: State, mask: Mask, labels: _Labels, floor: int) -> list[tuple[State, State]]:
    """Pairs that imply the value, each covering rows that earlier pairs do not."""
    share, own = float(mask.mean()), mask.astype(np.float32)
    rows, kept = labels.masks.sum(1), labels.masks @ own
    lifted = np.flatnonzero((kept >= MIN_PAIR) & (kept < rows) & (kept >= MIN_LIFT * share * rows))
    found: list[tuple[State, State, Mask]] = []
    tests = max(len(lifted) * len(labels.states), 1)
    for i in lifted:
        own_rows = np.flatnonzero(labels.masks[i])
        inside = labels.masks[:, own_rows]
        both, hits = inside.sum(1), inside @ own[own_rows]
        sure = (both == hits) & (hits >= max(MIN_PAIR, floor))
        chance = np.array(
            [_all_among(h, int(kept[i]), int(rows[i])) if s else 0.0 for h, s in zip(hits, sure, strict=True)]
        )
        sure &= chance < np.log(MAX_P / tests)
        sure &= kept < rows  # a label that implies it alone needs no second one
        for j in np.flatnonzero(sure):
            if labels.states[j].name != labels.states[i].name:
                found.append(
                    (labels.states[i], labels.states[j], labels.masks[i].astype(bool) & labels.masks[j].astype(bool))
                )
    return list(_cover(found, max(MIN_PAIR, floor)))


def _all_among(drawn: float, kept: int, rows: int) -> float:
    """Log of the probability that all `drawn` of the `rows`, drawn without replacement, are among the `kept` ones."""
    ways = [math.lgamma(n + 1) - math.lgamma(n - drawn + 1) for n in (kept, rows)]
    return ways[0] - ways[1]


def _cover(found: list[tuple[State, State, Mask]], least: int) -> Iterator[tuple[State, State]]:
    """The pairs with the most rows, as long as each adds enough new rows."""
    left = np.ones(len(found[0][2]) if found else 0, dtype=bool)
    for _ in range(MAX_PAIRS):
        counts = [int((mask & left).sum()) for _, _, mask in found]
        if not counts or max(counts) < least:
            return
        first, second, mask = found[int(np.argmax(counts))]
        left &= ~mask
        yield first, second


def _needed(flat: State, mask: Mask, labels: _Labels, numbers: NDArray[np.float64]) -> tuple[State, ...]:
    """The label, or the same label in two columns, that nearly all rows with the value have and few others."""
    # rows with a tip of 0 are cash, which says nothing about a tip of 2
    others = ~mask & ~np.isnan(numbers) & (numbers != 0)
    own, n = mask.astype(np.float32), float(mask.sum())
    covered = labels.masks @ own / n
    near = [int(i) for i in np.flatnonzero(covered >= MIN_PART) if labels.states[i].name != flat.name]
    options: list[tuple[int, ...]] = [(i,) for i in near]
    options += [(i, j) for i in near for j in near if i < j and labels.states[i].value == labels.states[j].value]
    best, chosen = 0.0, tuple[State, ...]()
    for option in options:
        rows: Mask = np.asarray(labels.masks[list(option)].any(0))
        broken, expected = float((mask & ~rows).sum()), n * float(np.mean(~rows[others]))
        if n - broken < MIN_COVERED * n or expected < max(MIN_SHUFFLED, MIN_FEWER * broken):
            continue
        if (gain := expected - broken) > best:
            best, chosen = gain, tuple(labels.states[i] for i in option)
    return chosen
