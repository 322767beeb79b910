"""Finds columns that are a function of one to three others.

An exact fit alone proves nothing: any column is a function of a key that hardly ever repeats. The evidence is in the
repeated rows of each key: how unlikely is it that they agree with the first one if the key adds nothing to the other
keys? A key that is redundant given a true one therefore has no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..data.schema import LABELLED, NUMERIC, TEXT
from .base import Frame, Mask, Name
from .codes import Coded, Codes, compact, entropy, information, joint
from .combination import Combination
from .lookup import Lookup, commonest
from .search import Candidate, Search

MAX_KEYS = 3
MAX_VALUES = 1000
"""Maximum number of combinations of keys."""
MIN_REPEATS = 3
"""Minimum number of rows per combination, on average."""
MIN_NATS = 30.0
"""Minimum evidence for every key, given the other keys."""
NATS_PER_KEY = 7.0
"""Cost of naming a key: 10 bits."""
MIN_COVERED = 0.8
"""Minimum share of rows with a sufficiently frequent combination."""
MAX_NUMBERS = 128
"""A number with more values than this cannot be a key, because new values between them can be drawn."""
PROBES = 1500
"""Rows on which candidates are tested first."""
MIN_NEAR_VALUES, MAX_EXCEPTIONS = 10, 0.005
"""Minimum values of a column that is nearly a function of a key, and maximum share of its rows that break it, of those
that do not have its most common value: exceptions are not learned, so they must be slips and not a rare answer."""
NEARLY_TOLD = 0.9
"""Minimum share of a column's information that keys must have for their slips to be counted."""
BEAM, NEAREST = 4, 40
"""Number of combinations to extend, and of columns to try with them."""


@dataclass(frozen=True)
class _Columns:
    """Codes of all possible targets, and which of them can be a key."""

    names: list[Name]
    coded: list[Coded]
    matrix: NDArray[np.int64]  # (M, N)
    is_key: NDArray[np.bool_]
    probes: NDArray[np.int64]

    @cached_property
    def probed(self) -> list[Codes]:
        """Codes of each column in the probe rows, renumbered consecutively."""
        return [compact(own[self.probes]) for own in self.matrix]


def find(search: Search) -> Sequence[Candidate]:
    """Find all columns that are a function of others, each with the fewest and smallest keys."""
    frame = search.frame
    columns = _read(frame)
    if len(columns.names) < 2:
        return []
    found: list[Candidate] = []
    singles = _single_keys(columns)
    for target in range(len(columns.names)):
        options: list[tuple[int, ...]] = [(int(key),) for key in np.flatnonzero(singles[:, target])]
        nearly: list[tuple[int, ...]] = []
        if not options:
            options, nearly = _several_keys(columns, target)
        options.sort(key=lambda keys: int(np.prod([columns.coded[k].size for k in keys])))
        before = len(found)
        for keys in options:
            if _covered(columns, keys, search.floor) and _evidence(columns, target, keys):
                found.append(_candidate(search, columns, target, keys))
                if len(keys) > 1:
                    found.append(_companion(search, columns, keys))
                    break
        if len(found) == before:
            found.extend(_nearly(search, columns, target, nearly))
    return found


def _nearly(search: Search, columns: _Columns, target: int, options: list[tuple[int, ...]]) -> list[Candidate]:
    """The keys that a column is a function of but for a few slips: a route that was measured twice."""
    own = columns.matrix[target]
    usual = own == np.bincount(own).argmax()
    spare = MAX_EXCEPTIONS * int((~usual).sum())
    if columns.coded[target].size < MIN_NEAR_VALUES or spare < 1:
        return []
    slips = {keys: _slips(_whole(columns, keys), own) for keys in options}
    for keys in sorted(options, key=lambda keys: (len(keys), slips[keys])):
        sure = slips[keys] <= spare and _covered(columns, keys, search.floor) and _evidence(columns, target, keys)
        if sure and _holds_out(_whole(columns, keys), own, ~usual):
            law = Lookup(columns.names[target], tuple(columns.names[k] for k in keys), near=True)
            law = law.learn(search.frame, search.floor)
            bits = entropy(own) - (10.0 * len(keys) + len(law.rows)) / max(search.frame.n_rows, 1)
            found = [Candidate(law, bits, exact=True, lost=slips[keys] / len(own))]
            return [*found, _companion(search, columns, keys)] if len(keys) > 1 else found
    return []


def _holds_out(keys: Codes, target: Codes, telling: Mask) -> bool:
    """Whether rows that a function was not learned from keep it: every third one."""
    held = np.arange(len(keys)) % 3 == 0
    value, rows, _ = commonest(keys[~held], target[~held], int(keys.max()) + 1)
    known = (rows > 0)[keys[held]]
    broken = known & (value[keys[held]] != target[held])
    return bool(broken.sum() <= 2 * MAX_EXCEPTIONS * (known & telling[held]).sum())


def _slips(keys: Codes, target: Codes) -> int:
    """Rows that differ from the most common value of their key."""
    return int(len(keys) - commonest(keys, target, int(keys.max()) + 1)[2].sum())


def _read(frame: Frame) -> _Columns:
    names: list[Name] = []
    coded: list[Coded] = []
    keys: list[bool] = []
    for column in frame.schema.columns:
        if column.kind not in (*LABELLED, NUMERIC, TEXT):
            continue
        own = Coded.read(frame, column.name)
        if not 2 <= own.size <= max(frame.n_rows // MIN_REPEATS, 2):
            continue
        names.append(column.name)
        coded.append(own)
        most = MAX_NUMBERS if column.kind == NUMERIC else MAX_VALUES
        keys.append(own.size <= most)
    matrix = np.array([own.codes for own in coded]).reshape(len(coded), frame.n_rows)
    probes = np.unique(np.linspace(0, frame.n_rows - 1, min(frame.n_rows, PROBES)).astype(np.int64))
    return _Columns(names, coded, matrix, np.array(keys, dtype=bool), probes)


def _single_keys(columns: _Columns) -> NDArray[np.bool_]:
    """Which column (row) determines which (column), exactly, in all rows."""
    some = np.ascontiguousarray(columns.matrix[:, columns.probes])
    n = len(columns.names)
    exact = np.zeros((n, n), dtype=bool)
    for key in np.flatnonzero(columns.is_key):
        exact[key] = _determined(some[key], some)
        left = np.flatnonzero(exact[key])
        exact[key, left] = _determined(columns.matrix[key], columns.matrix[left])
        exact[key, key] = False
    return exact


def _determined(key: Codes, targets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which targets (M, N) have one value per key."""
    first = np.zeros(int(key.max(initial=0)) + 1, dtype=np.int64)
    first[key[::-1]] = np.arange(len(key))[::-1]
    same: NDArray[np.bool_] = (targets == targets[:, first[key]]).all(axis=1)
    return same


def _several_keys(columns: _Columns, target: int) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Two or three keys that determine a target together, and up to three that nearly do.

    The most informative few are extended.
    """
    own = columns.probed[target]
    total = entropy(own)
    keys = [int(k) for k in np.flatnonzero(columns.is_key) if k != target]
    parts = {k: columns.probed[k] for k in keys}
    telling = {k: information(parts[k], own) for k in keys}
    near = sorted(keys, key=lambda k: -telling[k])[:NEAREST]
    near = [k for k in near if telling[k] > 0.02 * total]
    nearly: list[tuple[int, ...]] = [(k,) for k in near if telling[k] >= NEARLY_TOLD * total]
    beam: list[tuple[tuple[int, ...], Codes, float]] = [((k,), parts[k], telling[k]) for k in near[:BEAM]]
    for _ in range(MAX_KEYS - 1):
        wider: dict[tuple[int, ...], tuple[Codes, float]] = {}
        for before, codes, known in beam:
            for k in near:
                names = tuple(sorted((*before, k)))
                if k in before or names in wider:
                    continue
                both = joint([codes, parts[k]])
                size = int(both.max()) + 1
                if size > min(MAX_VALUES, len(both) // 2):
                    continue
                tells = information(both, own)
                if tells > known + 0.02 * total:
                    wider[names] = both, tells
        exact = [n for n, (both, _) in wider.items() if _determined(both, own[None])[0]]
        exact = [n for n in exact if _determined(_whole(columns, n), columns.matrix[[target]])[0]]
        if exact:
            return exact, nearly
        nearly += [names for names, (_, tells) in wider.items() if tells >= NEARLY_TOLD * total]
        best = sorted(wider.items(), key=lambda item: -item[1][1])[:BEAM]
        beam = [(names, both, tells) for names, (both, tells) in best]
    return [], nearly


def _whole(columns: _Columns, keys: Sequence[int]) -> Codes:
    return joint([columns.matrix[k] for k in keys])


def _covered(columns: _Columns, keys: Sequence[int], floor: int) -> bool:
    """Whether sufficiently frequent combinations cover most of the table."""
    counts = np.bincount(_whole(columns, keys))
    return bool(
        counts[counts >= floor].sum() >= MIN_COVERED * counts.sum() and counts.sum() >= MIN_REPEATS * len(counts)
    )


def _evidence(columns: _Columns, target: int, keys: Sequence[int]) -> bool:
    """Whether repeated rows of the combinations agree more often than by chance, whichever key is left out."""
    whole, own = _whole(columns, keys), columns.matrix[target]
    price = MIN_NATS + NATS_PER_KEY * len(keys)
    for left_out in keys:
        others = [k for k in keys if k != left_out]
        coarse = _whole(columns, others) if others else np.zeros_like(own)
        if _nats(whole, coarse, own) < price:
            return False
    return True


def _nats(fine: Codes, coarse: Codes, target: Codes) -> float:
    """Evidence in the repeated rows of each fine key that the coarse key does not explain.

    Rows with the most common value of their coarse key prove nothing, because most fine keys have only that one.
    """
    width = int(target.max()) + 1
    cells, inverse, counts = np.unique(coarse * width + target, return_inverse=True, return_counts=True)
    groups = np.bincount(coarse)
    shares = counts / groups[cells // width]
    mode = np.zeros(len(groups))
    np.maximum.at(mode, cells // width, counts)
    is_mode = counts == mode[cells // width]
    first = np.unique(fine, return_index=True)[1]
    further = np.bincount(fine) - 1
    cell = inverse[first]
    nats = np.where(is_mode[cell], 0.0, -further * np.log(np.minimum(shares[cell], 1.0)))
    return float(nats.sum())


def _candidate(search: Search, columns: _Columns, target: int, keys: Sequence[int]) -> Candidate:
    law = Lookup(columns.names[target], tuple(columns.names[k] for k in keys)).learn(search.frame, search.floor)
    paid = 10.0 * len(keys) + len(law.rows)
    return Candidate(law, entropy(columns.matrix[target]) - paid / max(search.frame.n_rows, 1), exact=True)


def _companion(search: Search, columns: _Columns, keys: Sequence[int]) -> Candidate:
    """A law that keeps combinations of keys to known ones; the key with the fewest values is changed."""
    by_size = sorted(keys, key=lambda k: columns.coded[k].size)
    law = Combination(columns.names[by_size[0]], tuple(columns.names[k] for k in by_size[1:]))
    return Candidate(law.learn(search.frame, search.floor), 0.01, exact=False, share=1.0)
