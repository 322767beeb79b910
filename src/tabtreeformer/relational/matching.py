"""Assigns further parents to rows: each row has wanted features, each parent a number of places.

Each child row is drawn together with the features of its further parent (the country of its driver, the years in which
that driver was active). Parents with these features and free places are assigned to the rows: exact matches first, then
near ones, then the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Ints = NDArray[np.int64]
SWAP_ROUNDS = 30
"""Maximum rounds in which rows that must not share a parent swap theirs with other rows."""


def fitted_places(wanted: Ints, n_rows: int, rng: np.random.Generator) -> Ints:
    """Places per parent that add up to the number of rows, as close to the wanted ones as possible.

    The difference is spread over parents with places, in proportion to them; parents without places stay without.
    """
    places = wanted.astype(np.int64).clip(min=0)
    if not places.sum():
        places = np.ones_like(places)
    difference = n_rows - int(places.sum())
    while difference:
        chances = places / places.sum()
        change = np.bincount(rng.choice(len(places), size=abs(difference), p=chances), minlength=len(places))
        # No parent loses its last place while others have more than one.
        limit = np.maximum(places - 1, 0) if difference < 0 and (places > 1).any() else places
        places = places + change if difference > 0 else places - np.minimum(change, limit)
        difference = n_rows - int(places.sum())
    return places


def as_labels(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The frame with these columns as texts, so that numeric labels have no order."""
    texts = {name: frame[name].map(as_text, na_action="ignore").astype(object) for name in names}
    return frame.assign(**texts)


def as_text(value: object) -> str:
    """A label as text; integers that pandas stores as floats because of missing values get no decimals."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def match(
    asked: pd.DataFrame,
    offered: pd.DataFrame,
    places: Ints,
    rng: np.random.Generator,
    apart: NDArray[np.int64] | None = None,
) -> Ints:
    """The parent of each row (N,), so that parent i is taken `places[i]` times; places add up to N.

    `asked` and `offered` have the same columns. Rows with the same number in `apart` get different parents if possible.
    """
    rows = np.arange(len(asked))
    slots = np.repeat(np.arange(len(offered)), places)
    assert len(slots) == len(rows)
    labels, line = _codes(asked, offered)
    row_line, slot_line = line[: len(asked)], line[len(asked) :][slots]
    row_labels, slot_labels = labels[: len(asked)], labels[len(asked) :][slots]
    parents = np.full(len(rows), -1, dtype=np.int64)
    open_rows, open_slots = rows, np.arange(len(slots))
    for depth in range(labels.shape[1], -1, -1):
        taken = _deal(row_labels[open_rows, :depth], slot_labels[open_slots, :depth],
                      row_line[open_rows], slot_line[open_slots], rng)  # fmt: skip
        parents[open_rows[taken[0]]] = slots[open_slots[taken[1]]]
        open_rows = np.delete(open_rows, taken[0])
        open_slots = np.delete(open_slots, taken[1])
        if not len(open_rows):
            break
    return parents if apart is None else _separated(parents, apart, row_labels, row_line, rng)


def _codes(asked: pd.DataFrame, offered: pd.DataFrame) -> tuple[Ints, NDArray[np.float64]]:
    """Labels of both tables as codes (n, labels), and their numbers as one line (n,)."""
    both = pd.concat([asked, offered], ignore_index=True)
    labels, numbers = [], []
    for name in both.columns:
        values = both[name]
        if pd.api.types.is_datetime64_any_dtype(values.dtype):
            values = values.astype("int64").where(values.notna())
        if pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype):
            ranks = values.astype(np.float64).rank(pct=True).fillna(0.5).to_numpy()
            numbers.append(ranks - ranks.mean())
        else:
            labels.append(pd.factorize(values, use_na_sentinel=False)[0])
    codes = np.stack(labels, axis=1) if labels else np.zeros((len(both), 0), dtype=np.int64)
    if not numbers:
        return codes, np.zeros(len(both))
    matrix = np.stack(numbers, axis=1)
    if matrix.shape[1] == 1:
        return codes, matrix[:, 0]
    direction = np.linalg.svd(matrix - matrix.mean(0), full_matrices=False)[2][0]
    return codes, matrix @ direction


def _deal(
    row_labels: Ints,
    slot_labels: Ints,
    row_line: NDArray[np.float64],
    slot_line: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Pair rows and slots with equal labels; sorted along the line, the k-th of one side gets the k-th of the other."""
    both = np.concatenate([row_labels, slot_labels])
    group = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1) if both.shape[1] else np.zeros(len(both), int)
    row_group, slot_group = group[: len(row_labels)], group[len(row_labels) :]
    row_order = np.lexsort((rng.random(len(row_line)), row_line, row_group))
    slot_order = np.lexsort((rng.random(len(slot_line)), slot_line, slot_group))
    n_groups = int(group.max(initial=-1)) + 1
    counts = [np.bincount(side, minlength=n_groups) for side in (row_group, slot_group)]
    starts = [np.concatenate([[0], np.cumsum(count)[:-1]]) for count in counts]
    picked: list[tuple[Ints, Ints]] = []
    for number in np.flatnonzero((counts[0] > 0) & (counts[1] > 0)):
        n = int(min(counts[0][number], counts[1][number]))
        # Take evenly spread elements of the larger side, so that both cover the line.
        sides = [order[starts[k][number] :][: counts[k][number]] for k, order in enumerate((row_order, slot_order))]
        picked.append(tuple(side[_spread(len(side), n, rng)] for side in sides))  # type: ignore[arg-type]
    if not picked:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return np.concatenate([p[0] for p in picked]), np.concatenate([p[1] for p in picked])


def _spread(size: int, n: int, rng: np.random.Generator) -> Ints:
    return np.floor((np.arange(n) + (rng.random() if size > n else 0.5)) * size / n).astype(np.int64).clip(max=size - 1)


def _separated(parents: Ints, apart: Ints, labels: Ints, line: NDArray[np.float64], rng: np.random.Generator) -> Ints:
    """Swap parents between rows, for a few rounds, until no two rows with the same number in `apart` share one."""
    parents = parents.copy()
    key = pd.factorize(pd.Series(map(tuple, labels)))[0] if labels.shape[1] else np.zeros(len(parents), dtype=np.int64)
    order = np.lexsort((line, key))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    n_parents = int(parents.max(initial=0)) + 1
    for round_number in range(SWAP_ROUNDS):
        pairs = apart * n_parents + parents
        clash = np.flatnonzero(pd.Series(pairs).duplicated().to_numpy())
        if not len(clash):
            break
        taken = set(pairs.tolist())
        reach = 8 * 2**round_number
        for row in clash.tolist():
            for other in _nearby(order, int(rank[row]), reach, rng):
                mine, theirs = int(parents[row]), int(parents[other])
                swapped = apart[row] * n_parents + theirs, apart[other] * n_parents + mine
                if apart[other] != apart[row] and theirs != mine and not taken.intersection(map(int, swapped)):
                    taken -= {int(apart[other] * n_parents + theirs)}
                    taken |= set(map(int, swapped))
                    parents[row], parents[other] = theirs, mine
                    break
    return parents


def _nearby(order: Ints, place: int, reach: int, rng: np.random.Generator) -> Sequence[int]:
    """Up to 32 rows near a position in the order, in random order."""
    low, high = max(place - reach, 0), min(place + reach + 1, len(order))
    chosen = rng.choice(high - low, size=min(32, high - low), replace=False) + low
    return [int(order[i]) for i in chosen if i != place]
