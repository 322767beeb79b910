"""A table as tree libraries want it: one matrix of numbers to predict from, one vector to predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..schema import CATEGORICAL, FEW_CLASSES, Labels, Schema

LARGEST = 1e30
"""Numbers beyond this are taken for it: tree libraries compute in float32, which ends near 3e38, and square and sum."""

# Legend of shapes: N rows, F columns to predict from.


@dataclass(frozen=True, eq=False)
class Features:
    """What is known of each row."""

    matrix: NDArray[np.float64]  # (N, F)
    """Numbers as they are, categories as their codes 0, 1, 2, …"""
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
    """One column of the table, and the codes of its values if it is categorical."""

    name: str | int
    labels: Labels | None

    @classmethod
    def learn(cls, df: pd.DataFrame, schema: Schema, name: str | int) -> _Source:
        labels = Labels.learn(df[name]) if schema.column(name).kind == CATEGORICAL else None
        return cls(name, labels)

    def read(self, df: pd.DataFrame) -> NDArray[Any]:
        """Return codes (int64) or numbers (float64)."""
        if self.labels is not None:
            return self.labels.encode(df[self.name])
        values: NDArray[np.float64] = df[self.name].to_numpy(dtype=np.float64)
        return np.clip(values, -LARGEST, LARGEST)

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "labels": None if self.labels is None else list(self.labels.values)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> _Source:
        labels = data["labels"]
        return cls(data["name"], None if labels is None else Labels(tuple(labels)))


@dataclass(frozen=True)
class FeatureEncoder:
    """Turns tables of one schema into what the tree model learns from, the same way each time."""

    sources: tuple[_Source, ...]
    """The columns to predict from, in the table's order."""
    goal: _Source
    """The column to predict."""

    @classmethod
    def learn(cls, df: pd.DataFrame, schema: Schema, target_name: str | int) -> FeatureEncoder:
        """Take every column but the target to predict it from; collect the categories of both."""
        goal = _Source.learn(df, schema, target_name)
        return cls(tuple(_Source.learn(df, schema, name) for name in schema.names if name != target_name), goal)

    @property
    def target_name(self) -> str | int:
        """The column to predict."""
        return self.goal.name

    @property
    def n_classes(self) -> int | None:
        """Classes of the column to predict, None for a number."""
        return None if self.goal.labels is None else len(self.goal.labels.values)

    def features(self, df: pd.DataFrame) -> Features:
        """Encode every column but the target, which need not be there."""
        matrix = np.empty((len(df), len(self.sources)), dtype=np.float64)
        for place, source in enumerate(self.sources):
            matrix[:, place] = source.read(df)
        return Features(matrix, tuple(place for place, source in enumerate(self.sources) if source.labels is not None))

    def target(self, df: pd.DataFrame) -> Target:
        """Encode the target."""
        return Target(self.goal.read(df), self.n_classes)

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

    None where trees would have nothing to learn: the target has a single value, or no other column varies. Columns of
    many categories are not drawn: boosting builds a tree for each of them in every round.
    """
    distinct = {name: int(df[name].nunique()) for name in schema.names}
    varying = [name for name in schema.names if distinct[name] >= 2]
    if len(varying) < 2:
        return None
    if target is not None:
        name = schema.column(target).name
        return name if name in varying else None
    drawable = [n for n in varying if schema.column(n).kind != CATEGORICAL or distinct[n] <= FEW_CLASSES]
    return drawable[int(rng.integers(len(drawable)))] if drawable else None
