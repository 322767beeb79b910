"""Scores of linked tables: keys, numbers of children, columns, pairs within and across tables.

The measures are those of SyntheRela: cardinality similarity, column shapes, pair trends within a table, trends of pairs
whose columns are k links apart, and how well boosted trees distinguish parents with aggregated children from real ones.
Ordered rows have additional measures, and parents are predicted from their children. Unseen real units, and children
shuffled among parents, are measured the same way for reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ..data.links import Link, Tables, dangling, parent_numbers
from ..data.schema import Schema
from .aggregates import aggregated, own_columns
from .evaluate import evaluate
from .metrics.fidelity import ks_complement
from .parents import predicted, told_apart
from .sequences import sequence_scores

MAX_HOPS = 2
MAX_PREDICTED = 3
"""Maximum columns of a parent that are predicted from its children."""
MIN_ROWS = 2
"""Minimum rows for a synthetic table to be compared."""


@dataclass(frozen=True)
class DatabaseScores:
    """Scores of a synthetic database; 1 is best, except for `broken_keys`."""

    broken_keys: int
    """Keys that point to no row, or occur twice in the table that they are the key of."""
    cardinality: Mapping[str, float]
    """By link: similarity of the distributions of the number of children."""
    shapes: Mapping[str, float]
    """By column, named with its table."""
    pairs: Mapping[str, float]
    """By pair of columns of the same table."""
    hops: Mapping[int, Mapping[str, float]]
    """By the number of links between two tables: trends of the pairs of their columns."""
    links: Sequence[Link] = ()
    """Which columns point to which table."""

    detection: Mapping[str, float] = field(default_factory=dict)
    """By parent table: AUC with which it and its aggregated children are distinguished from real ones; 0.5 is best."""
    sequences: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By link whose rows are in order: lengths, spacing, order, autocorrelation, transitions."""
    utility: Mapping[str, float] = field(default_factory=dict)
    """By parent's column: how well it is predicted from children by trees that learned from these tables."""
    held_out: DatabaseScores | None = None
    """The same for unseen real tables."""
    independent: DatabaseScores | None = None
    """The same for the real tables with their children shuffled among parents."""

    def summary(self) -> dict[str, float]:
        """Means of each measure."""
        means = {
            "broken keys": float(self.broken_keys),
            "cardinality": _mean(self.cardinality),
            "shapes": _mean(self.shapes),
            "pairs": _mean(self.pairs),
        }
        means |= {f"{k}-hop": _mean(scores) for k, scores in self.hops.items() if scores}
        means |= {"detection of parents": _mean(self.detection)} if self.detection else {}
        means |= {"utility of children": _mean(self.utility)} if self.utility else {}
        for name in dict.fromkeys(name for scores in self.sequences.values() for name in scores):
            means[name] = _mean({k: scores[name] for k, scores in self.sequences.items() if name in scores})
        return means

    def compared(self) -> pd.DataFrame:
        """The means beside those of held-out and of independent tables, a row per measure."""
        sides = {"synthetic": self, "real held-out": self.held_out, "independent children": self.independent}
        return pd.DataFrame({name: side.summary() for name, side in sides.items() if side is not None})


def evaluate_database(
    real: Tables,
    synthetic: Tables,
    links: Sequence[Link],
    schemas: Mapping[str, Schema] | None = None,
    *,
    holdout: Tables | None = None,
    orders: Mapping[str, Any] | None = None,
    references: bool = False,
) -> DatabaseScores:
    """Compare a synthetic database with a real one.

    Parameters
    ----------
    real, synthetic
        Tables by name, with the same columns.
    links
        Which columns point to which table.
    schemas
        Schemas of the real tables; inferred if not given.
    holdout
        Real tables of unseen units: they are measured too, and used to test the prediction of parents.
    orders
        The column by which the rows of a table are ordered, by table: lengths, spacing, order, autocorrelation and
        transitions are compared.
    references
        Also measure children that are shuffled among parents.

    Examples
    --------
    >>> scores = evaluate_database(shop, shop, [parse_link("orders.customer_id -> customers.id", shop)])
    >>> scores.broken_keys, scores.summary()["cardinality"]
    (0, 1.0)
    """
    kinds = {name: (schemas or {}).get(name) or Schema.infer(frame) for name, frame in real.items()}
    compare = _Comparison(real, links, kinds, own_columns(real, links), dict(orders or {}), holdout)
    scores = compare.scores(synthetic)
    if holdout is not None:
        scores = replace(scores, held_out=compare.scores(holdout, learned=real))
    if references:
        scores = replace(scores, independent=compare.scores(independent_children(real, links)))
    return scores


def independent_children(tables: Tables, links: Sequence[Link]) -> dict[str, pd.DataFrame]:
    """The same tables with each child table's own columns shuffled: keys stay, dependence on the parent is lost."""
    rng, own = np.random.default_rng(0), own_columns(tables, links)
    dealt = dict(tables)
    for name in {link.child for link in links}:
        frame = tables[name].reset_index(drop=True).copy()
        order = rng.permutation(len(frame))
        for column in own[name]:
            frame[column] = frame[column].take(order).set_axis(frame.index)
        dealt[name] = frame
    return dealt


@dataclass(frozen=True)
class _Comparison:
    """The real tables and the options of a comparison."""

    real: Tables
    links: Sequence[Link]
    kinds: Mapping[str, Schema]
    own: Mapping[str, Sequence[Any]]
    orders: Mapping[str, Any]
    holdout: Tables | None

    def scores(self, synthetic: Tables, learned: Tables | None = None) -> DatabaseScores:
        """Scores of tables; predictive models learn from these tables, or from `learned` if given."""
        real, links, kinds = self.real, self.links, self.kinds
        scored = [
            _scores(name, real[name][columns], synthetic[name][columns], _part(kinds[name], columns))
            for name, columns in self.own.items()
            if columns
        ]
        return DatabaseScores(
            broken_keys=broken_keys(synthetic, links),
            cardinality={link.text: _cardinality(real, synthetic, link) for link in links},
            shapes={column: score for shapes, _ in scored for column, score in shapes.items()},
            pairs={pair: score for _, pairs in scored for pair, score in pairs.items()},
            hops={k: _hops(real, synthetic, kinds, self.own, links, k) for k in range(1, MAX_HOPS + 1)},
            links=tuple(links),
            detection=self._detection(synthetic),
            sequences=self._sequences(synthetic),
            utility=self._utility(synthetic if learned is None else learned),
        )

    def _parents(self, tables: Tables, name: str) -> pd.DataFrame:
        return aggregated(tables, self.links, self.kinds, self.own, name)

    def _detection(self, synthetic: Tables) -> dict[str, float]:
        names = dict.fromkeys(link.parent for link in self.links)
        found = {name: told_apart(self._parents(self.real, name), self._parents(synthetic, name)) for name in names}
        return {name: area for name, area in found.items() if not np.isnan(area)}

    def _sequences(self, synthetic: Tables) -> dict[str, dict[str, float]]:
        return {
            link.text: sequence_scores(
                self.real, synthetic, link, self.orders[link.child], self.kinds[link.child], self.own[link.child]
            )
            for link in self.links
            if link.child in self.orders and len(synthetic[link.child]) >= MIN_ROWS
        }

    def _utility(self, learned: Tables) -> dict[str, float]:
        """Columns of parents, predicted from their children, for unseen parents."""
        if self.holdout is None:
            return {}
        found = {}
        for name in dict.fromkeys(link.parent for link in self.links):
            train, test = self._parents(learned, name), self._parents(self.holdout, name)
            for column in self.own[name][:MAX_PREDICTED]:
                score = predicted(train, test, str(column), _texts(self.kinds[name]))
                if not np.isnan(score):
                    found[f"{name}.{column}"] = score
        return found


def _texts(schema: Schema) -> Schema:
    """The schema with names as texts, as aggregated tables have them."""
    return Schema(tuple(replace(column, name=str(column.name)) for column in schema.columns))


def _part(schema: Schema, columns: Sequence[Any]) -> Schema:
    return Schema(tuple(schema.column(name) for name in columns))


def _scores(
    name: str, real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema
) -> tuple[dict[str, float], dict[str, float]]:
    """Shapes of the columns of one table, and trends of their pairs; zero where there are too few rows to compare."""
    columns = [f"{name}.{column}" for column in real.columns]
    if len(synthetic) < MIN_ROWS:
        return dict.fromkeys(columns, 0.0), dict.fromkeys((" × ".join(p) for p in combinations(columns, 2)), 0.0)
    metrics = ["shape", "trend"] if real.shape[1] > 1 else ["shape"]
    try:
        found = evaluate(real, None, synthetic, schema=schema, metrics=metrics, references=False).scores
    except ValueError:  # nothing to compare: only keys and texts
        return {}, {}
    shapes = {f"{name}.{part['column']}": part["score"] for part in found["shape"].breakdown["columns"]}
    pairs = found["trend"].breakdown["pairs"] if "trend" in found else ()
    trends = {" × ".join(f"{name}.{column}" for column in pair["columns"]): pair["score"] for pair in pairs}
    return _known(shapes), _known(trends)


def _known(scores: Mapping[str, float | None]) -> dict[str, float]:
    return {name: score for name, score in scores.items() if score is not None and not np.isnan(score)}


def _cardinality(real: Tables, synthetic: Tables, link: Link) -> float:
    counts = []
    for tables in (real, synthetic):
        parents = parent_numbers(tables[link.child], tables[link.parent], link)
        counts.append(np.bincount(parents[parents >= 0], minlength=len(tables[link.parent])).astype(np.float64))
    return ks_complement(counts[0], counts[1])


def broken_keys(tables: Tables, links: Sequence[Link]) -> int:
    """Keys that point to no row, or occur twice in the table that they are the key of."""
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
    scores: dict[str, float | None] = {}
    for path in _paths(links, k):
        low, high = path[0].child, path[-1].parent
        if low == high or not own[low] or not own[high]:
            continue
        joined = [_joined(tables, path, own) for tables in (real, synthetic)]
        path_text = " -> ".join([low, *(link.parent for link in path)])
        columns = [c for name in (low, high) for c in _part(kinds[name], own[name]).columns]
        names = list(joined[0].columns)
        n_low = len(own[low])
        if len(joined[1]) < MIN_ROWS:
            scores |= {f"{path_text}: {a} × {b}": 0.0 for a in names[:n_low] for b in names[n_low:]}
            continue
        schema = Schema(tuple(replace(c, name=name) for c, name in zip(columns, names, strict=True)))
        found = evaluate(joined[0], None, joined[1], schema=schema, metrics=["trend"], references=False).scores
        for pair in found["trend"].breakdown["pairs"]:
            if (names.index(pair["columns"][0]) < n_low) != (names.index(pair["columns"][1]) < n_low):
                scores[f"{path_text}: {' × '.join(pair['columns'])}"] = pair["score"]
    return _known(scores)


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
