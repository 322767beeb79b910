"""Tables that belong together, real and synthetic: keys, numbers of children, columns, pairs within and across tables.

The measures are those of SyntheRela: cardinality similarity, column shapes, pair trends within a table, and trends of
pairs whose columns lie k links apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..data.links import Link, Tables, dangling, parent_numbers
from ..data.schema import Schema
from .evaluate import evaluate
from .metrics.fidelity import ks_complement

MAX_HOPS = 2
MIN_ROWS = 2
"""A synthetic table of fewer rows resembles nothing."""


@dataclass(frozen=True)
class DatabaseScores:
    """Scores of a synthetic database; 1 is best, all but `broken_keys`."""

    broken_keys: int
    """Keys that point to no row, or come twice in the table that they are the key of."""
    cardinality: Mapping[str, float]
    """By link: similarity of the distributions of the number of children."""
    shapes: Mapping[str, float]
    """By table."""
    pairs: Mapping[str, float]
    """By table; tables of one column have none."""
    hops: Mapping[int, Mapping[str, float]]
    """By the number of links between two tables: trends of the pairs of their columns, by the path."""

    def summary(self) -> dict[str, float]:
        """Means of each measure."""
        means = {
            "broken keys": float(self.broken_keys),
            "cardinality": _mean(self.cardinality),
            "shapes": _mean(self.shapes),
            "pairs": _mean(self.pairs),
        }
        return means | {f"{k}-hop": _mean(scores) for k, scores in self.hops.items() if scores}


def evaluate_database(
    real: Tables, synthetic: Tables, links: Sequence[Link], schemas: Mapping[str, Schema] | None = None
) -> DatabaseScores:
    """Compare a synthetic database with a real one.

    Parameters
    ----------
    real, synthetic
        Tables by name, with the same columns.
    links
        Which columns point to which table.
    schemas
        What the columns of the real tables are; inferred where not given.

    Examples
    --------
    >>> scores = evaluate_database(shop, shop, [parse_link("orders.customer_id -> customers.id", shop)])
    >>> scores.broken_keys, scores.summary()["cardinality"]
    (0, 1.0)
    """
    kinds = {name: (schemas or {}).get(name) or Schema.infer(frame) for name, frame in real.items()}
    keys = {(link.parent, column) for link in links for column in link.key}
    keys |= {(link.child, column) for link in links for column in link.columns}
    own = {name: [c for c in frame.columns if (name, c) not in keys] for name, frame in real.items()}
    scored = {
        name: _scores(real[name][columns], synthetic[name][columns], _part(kinds[name], columns))
        for name, columns in own.items()
        if columns
    }
    return DatabaseScores(
        broken_keys=broken_keys(synthetic, links),
        cardinality={link.text: _cardinality(real, synthetic, link) for link in links},
        shapes={name: scores[0] for name, scores in scored.items() if not np.isnan(scores[0])},
        pairs={name: scores[1] for name, scores in scored.items() if not np.isnan(scores[1])},
        hops={k: _hops(real, synthetic, kinds, own, links, k) for k in range(1, MAX_HOPS + 1)},
    )


def _part(schema: Schema, columns: Sequence[Any]) -> Schema:
    return Schema(tuple(schema.column(name) for name in columns))


def _scores(real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema) -> tuple[float, float]:
    """Shape and trend of one table."""
    if len(synthetic) < MIN_ROWS:
        return 0.0, 0.0
    metrics = ["shape", "trend"] if real.shape[1] > 1 else ["shape"]
    try:
        found = evaluate(real, None, synthetic, schema=schema, metrics=metrics, references=False).scores
    except ValueError:  # nothing in it can be compared: keys and texts alone
        return np.nan, np.nan
    return found["shape"].value, found["trend"].value if "trend" in found else np.nan


def _cardinality(real: Tables, synthetic: Tables, link: Link) -> float:
    counts = []
    for tables in (real, synthetic):
        parents = parent_numbers(tables[link.child], tables[link.parent], link)
        counts.append(np.bincount(parents[parents >= 0], minlength=len(tables[link.parent])).astype(np.float64))
    return ks_complement(counts[0], counts[1])


def broken_keys(tables: Tables, links: Sequence[Link]) -> int:
    """Keys that point to no row, or come twice in the table that they are the key of."""
    keys = {(link.parent, link.key) for link in links}
    twice = sum(int(tables[name][list(key)].duplicated().sum()) for name, key in keys)
    return twice + sum(int(dangling(tables, link).sum()) for link in links)


def _hops(
    real: Tables,
    synthetic: Tables,
    kinds: Mapping[str, Schema],
    own: Mapping[str, Sequence[Any]],
    links: Sequence[Link],
    k: int,
) -> dict[str, float]:
    """Trends between the columns of tables that are k links apart, upward from each table."""
    scores = {}
    for path in _paths(links, k):
        low, high = path[0].child, path[-1].parent
        if low == high or not own[low] or not own[high]:
            continue
        joined = [_joined(tables, path, own) for tables in (real, synthetic)]
        path_text = " -> ".join([low, *(link.parent for link in path)])
        if len(joined[1]) < MIN_ROWS:
            scores[path_text] = 0.0
            continue
        columns = [c for name in (low, high) for c in _part(kinds[name], own[name]).columns]
        names = list(joined[0].columns)
        schema = Schema(tuple(replace(c, name=name) for c, name in zip(columns, names, strict=True)))
        found = evaluate(joined[0], None, joined[1], schema=schema, metrics=["trend"], references=False).scores
        n_low = len(own[low])
        across = [
            pair["score"]
            for pair in found["trend"].breakdown["pairs"]
            if (names.index(pair["columns"][0]) < n_low) != (names.index(pair["columns"][1]) < n_low)
        ]
        known = [score for score in across if score is not None and not np.isnan(score)]
        if known:
            scores[path_text] = float(np.mean(known))
    return scores


def _paths(links: Sequence[Link], k: int) -> list[tuple[Link, ...]]:
    paths: list[tuple[Link, ...]] = [(link,) for link in links if not link.to_itself]
    for _ in range(k - 1):
        paths = [(*path, link) for path in paths for link in links if link.child == path[-1].parent]
    return paths


def _joined(tables: Tables, path: Sequence[Link], own: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """Columns of the table at the start of a path, and those of the one at its end that each row leads to."""
    low, high = path[0].child, path[-1].parent
    numbers = np.arange(len(tables[low]))
    for link in path:
        step = parent_numbers(tables[link.child], tables[link.parent], link)
        numbers = np.where(numbers >= 0, step[np.maximum(numbers, 0)], -1)
    there = numbers >= 0
    left = tables[low].loc[there, list(own[low])].reset_index(drop=True)
    right = tables[high][list(own[high])].take(numbers[there]).reset_index(drop=True)
    names = [f"{low}.{c}" for c in own[low]] + [f"{high}.{c}" for c in own[high]]
    return pd.concat([left, right], axis=1).set_axis(names, axis=1)


def _mean(scores: Mapping[Any, float]) -> float:
    return float(np.mean(list(scores.values()))) if scores else float("nan")
