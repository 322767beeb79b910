"""A table as tree libraries want it: one matrix of numbers to predict from, one vector to predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..schema import FEW_CLASSES, LABELLED, MEASURED, Column, Labels, Schema

LARGEST = 1e30
"""Numbers beyond this are taken for it: tree libraries compute in float32, which ends near 3e38, and square and sum."""

# Legend of shapes: N rows, F columns to predict from.


@dataclass(frozen=True, eq=False)
class Features:
    """What is known of each row."""

    matrix: NDArray[np.float64]  # (N, F)
    """Numbers as they are, NaN where missing; categories as their codes 0, 1, 2, …, missing being one more."""
    categorical: tuple[int, ...] = ()
    """Which columns of the matrix hold codes."""

    @property
    def n_rows(self) -> int:
        """Rows of the matrix."""
        return int(self.matrix.shape[0])

    def take(self, rows: NDArray[np.integer[Any]]) -> Features:
        """Return the rows asked for, in that order."""
        return Features(self.matrix[rows], self.categorical)


@dataclass(frozen=True, eq=False)
class Target:
    """What is to be predicted."""

    values: NDArray[Any]  # (N,)
    """Class codes 0 to n_classes - 1 (int64), or numbers (float64)."""
    n_classes: int | None
    """None where a number is predicted."""

    def take(self, rows: NDArray[np.integer[Any]]) -> Target:
        """Return the rows asked for, in that order; the classes stay, be they all seen or not."""
        return Target(self.values[rows], self.n_classes)


@dataclass(frozen=True)
class _Source:
    """One column of the table, and the codes of its values if it takes them from a list."""

    column: Column
    labels: Labels | None

    @classmethod
    def learn(cls, df: pd.DataFrame, column: Column) -> _Source:
        if column.kind not in LABELLED:
            return cls(column, None)
        return cls(column, Labels.learn(column.read(df[column.name].dropna()), order=column.categories))

    def read(self, df: pd.DataFrame) -> NDArray[np.float64]:
        """Return codes or numbers, (N,), NaN where missing."""
        series = df[self.column.name]
        there = series.notna().to_numpy()
        values = self.column.read(series[there])
        numbers = np.full(len(series), np.nan)
        if self.labels is not None:
            numbers[there] = self.labels.encode(values)
        else:
            numbers[there] = np.clip(values.to_numpy(dtype=np.float64), -LARGEST, LARGEST)
        return numbers

    def to_json(self) -> dict[str, Any]:
        return {"column": self.column.to_json(), "labels": None if self.labels is None else list(self.labels.values)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> _Source:
        labels = data["labels"]
        return cls(Column.from_json(data["column"]), None if labels is None else Labels(tuple(labels)))


@dataclass(frozen=True)
class FeatureEncoder:
    """Turns tables of one schema into what the tree model learns from, the same way each time."""

    sources: tuple[_Source, ...]
    """The columns to predict from, in the table's order."""
    goal: _Source
    """The column to predict."""

    @classmethod
    def learn(cls, df: pd.DataFrame, schema: Schema, target_name: str | int) -> FeatureEncoder:
        """Take every column that says something but the target to predict it from; collect the categories of both."""
        sources = (c for c in schema.columns if c.name != target_name and c.kind in (*MEASURED, *LABELLED))
        return cls(tuple(_Source.learn(df, c) for c in sources), _Source.learn(df, schema.column(target_name)))

    @property
    def target_name(self) -> str | int:
        """The column to predict."""
        return self.goal.column.name

    @property
    def n_classes(self) -> int | None:
        """Classes of the column to predict, None for a number."""
        return None if self.goal.labels is None else len(self.goal.labels.values)

    def features(self, df: pd.DataFrame) -> Features:
        """Encode every column but the target, which need not be there."""
        matrix = np.empty((len(df), len(self.sources)), dtype=np.float64)
        for place, source in enumerate(self.sources):
            matrix[:, place] = source.read(df)
            if source.labels is not None:
                # A missing category is one more code, which every library knows how to split by.
                matrix[np.isnan(matrix[:, place]), place] = len(source.labels.values)
        return Features(matrix, tuple(place for place, source in enumerate(self.sources) if source.labels is not None))

    def target(self, df: pd.DataFrame) -> Target:
        """Encode the target; no row of `df` may lack it."""
        values = self.goal.read(df)
        return Target(values if self.n_classes is None else values.astype(np.int64), self.n_classes)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"sources": [source.to_json() for source in self.sources], "goal": self.goal.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FeatureEncoder:
        """Inverse of `to_json`."""
        return cls(tuple(_Source.from_json(source) for source in data["sources"]), _Source.from_json(data["goal"]))


def choose_target(
    schema: Schema, df: pd.DataFrame, target: str | int | None, rng: np.random.Generator
) -> str | int | None:
    """Return the column to predict: the one given, or one drawn from those that vary.

    None where trees would have nothing to learn: the target has a single value, or no other column varies. Keys and
    free text are neither predicted nor predicted from. Columns of many categories are not drawn: boosting
    builds a tree for each of them in every round.
    """
    distinct = {name: int(df[name].nunique()) for name in schema.names}
    varying = [c.name for c in schema.columns if distinct[c.name] >= 2 and c.kind in (*MEASURED, *LABELLED)]
    if len(varying) < 2:
        return None
    if target is not None:
        name = schema.column(target).name
        return name if name in varying else None
    drawable = [n for n in varying if schema.column(n).kind not in LABELLED or distinct[n] <= FEW_CLASSES]
    return drawable[int(rng.integers(len(drawable)))] if drawable else None
