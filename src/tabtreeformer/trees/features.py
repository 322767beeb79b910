"""A table in the form that tree libraries take: one matrix of numbers to predict from, one vector to predict."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..config.settings import TokenConfig
from ..data.rare import intervals
from ..data.schema import FEW_CLASSES, LABELLED, MEASURED, Column, Labels, Schema
from ..data.schema.numbers import count_decimals

LARGEST = 1e30
"""Larger numbers are clipped to this: tree libraries compute squares and sums in float32, up to about 3e38."""

# Legend of shapes: N rows, F columns to predict from.


TARGET_NAMES = re.compile(r"target|label|class|y|outcome|response|churn(ed)?|default|survived|income|diagnosis|species")
"""Names that targets usually have."""


@dataclass(frozen=True, eq=False)
class Features:
    """The features of each row."""

    matrix: NDArray[np.float64]  # (N, F)
    """Numbers as they are, NaN where missing; categories as codes 0, 1, 2, …, with one more for missing."""
    categorical: tuple[int, ...] = ()
    """Which columns of the matrix hold codes."""

    @property
    def n_rows(self) -> int:
        """Rows of the matrix."""
        return int(self.matrix.shape[0])

    def take(self, rows: NDArray[np.integer[Any]]) -> Features:
        """Return the requested rows, in that order."""
        return Features(self.matrix[rows], self.categorical)


@dataclass(frozen=True, eq=False)
class Target:
    """What to predict."""

    values: NDArray[Any]  # (N,)
    """Class codes 0 to n_classes - 1 (int64), or numbers (float64)."""
    n_classes: int | None
    """None where a number is predicted."""

    def take(self, rows: NDArray[np.integer[Any]]) -> Target:
        """Return the requested rows, in that order; the classes stay the same, even if some no longer occur."""
        return Target(self.values[rows], self.n_classes)


@dataclass(frozen=True)
class _Source:
    """One column of the table, and the codes of its values if it is categorical.

    With a floor, a number becomes the index of its interval, and rare labels become one: trees then split between
    intervals that enough rows support, and their text contains no value.
    """

    column: Column
    labels: Labels | None
    other: int | None = None
    """The code for labels in too few rows; None if there are none."""
    ends: tuple[tuple[float, float], ...] = ()
    """Ends of the intervals of a number; empty if numbers are taken as they are."""

    @classmethod
    def learn(cls, df: pd.DataFrame, column: Column, config: TokenConfig) -> _Source:
        values = column.read(df[column.name].dropna())
        floor = config.rare_floor
        if column.kind in LABELLED:
            if floor <= 1:
                return cls(column, Labels.learn(values, order=column.categories))
            labels, other, _ = Labels.supported(values, column.categories, floor)
            return cls(column, labels, other)
        if floor <= 1:
            return cls(column, None)
        numbers = values.to_numpy(dtype=np.float64)
        distinct, counts = np.unique(numbers, return_counts=True)
        decimals = count_decimals(numbers)
        lows, highs = intervals(distinct, counts, floor=floor, most=config.quantiles, decimals=decimals)
        return cls(column, None, None, tuple(zip(lows.tolist(), highs.tolist(), strict=True)))

    @property
    def n_codes(self) -> int | None:
        """Number of codes, including the one for rare labels; None for a number."""
        if self.labels is None:
            return None
        return len(self.labels.values) + (self.other == len(self.labels.values))

    @property
    def says_something(self) -> bool:
        """Whether there is any value to split on."""
        return self.n_codes != 0

    def knows(self, df: pd.DataFrame) -> NDArray[np.bool_]:
        """Rows whose value has a code, or is missing (N,)."""
        series = df[self.column.name]
        known = np.ones(len(series), dtype=bool)
        if self.labels is not None and self.other is None:
            there = series.notna().to_numpy()
            known[there] = self.labels.find(self.column.read(series[there])) >= 0
        return known

    def read(self, df: pd.DataFrame) -> NDArray[np.float64]:
        """Return codes or numbers, (N,), NaN where missing."""
        series = df[self.column.name]
        there = series.notna().to_numpy()
        values = self.column.read(series[there])
        numbers = np.full(len(series), np.nan)
        if self.labels is not None:
            codes = self.labels.encode(values) if self.other is None else self.labels.find(values)
            numbers[there] = codes if self.other is None else np.where(codes < 0, self.other, codes)
        elif self.ends:
            numbers[there] = np.searchsorted(self._borders, values.to_numpy(dtype=np.float64), side="left")
        else:
            numbers[there] = np.clip(values.to_numpy(dtype=np.float64), -LARGEST, LARGEST)
        return numbers

    @property
    def _borders(self) -> NDArray[np.float64]:
        ends = np.array(self.ends)
        borders: NDArray[np.float64] = ends[:-1, 1] / 2 + ends[1:, 0] / 2
        return borders

    def middles(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a tree should predict for intervals: their midpoints; the numbers themselves without intervals."""
        if not self.ends:
            return places
        middles: NDArray[np.float64] = np.array(self.ends).mean(axis=1).clip(-LARGEST, LARGEST)[places.astype(np.int64)]
        return middles

    def number_at(self, threshold: float) -> float:
        """The number that a tree's `threshold` splits at; infinite if it splits nothing."""
        if not self.ends:
            return threshold
        place = math.floor(threshold) if math.isfinite(threshold) else -1
        if 0 <= place < len(self.ends) - 1:
            return float(self._borders[place])
        return -math.inf if threshold < 0 else math.inf

    def to_json(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "column": self.column.to_json(),
            "labels": None if self.labels is None else list(self.labels.values),
        }
        if self.other is not None:
            plain["other"] = self.other
        return plain | ({"ends": [list(pair) for pair in self.ends]} if self.ends else {})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> _Source:
        labels = data["labels"]
        ends = tuple((float(low), float(high)) for low, high in data.get("ends", ()))
        labels, other = None if labels is None else Labels.from_json(labels), data.get("other")
        if other is not None and (labels is None or type(other) is not int or not 0 <= other <= len(labels.values)):
            raise ValueError("rare labels have a code that the column does not have")
        return cls(Column.from_json(data["column"]), labels, other, ends)


@dataclass(frozen=True)
class FeatureEncoder:
    """Turns tables of one schema into what the tree model learns from, the same way each time."""

    sources: tuple[_Source, ...]
    """The columns to predict from, in the table's order."""
    goal: _Source
    """The column to predict."""

    @classmethod
    def learn(
        cls, df: pd.DataFrame, schema: Schema, target_name: str | int, config: TokenConfig | None = None
    ) -> FeatureEncoder:
        """Take every informative column except the target to predict it from; collect the categories of both."""
        config = config or TokenConfig()
        columns = (c for c in schema.columns if c.name != target_name and c.kind in (*MEASURED, *LABELLED))
        sources = [_Source.learn(df, c, config) for c in columns]
        goal = _Source.learn(df, schema.column(target_name), config)
        return cls(tuple(source for source in sources if source.says_something), goal)

    @property
    def can_learn(self) -> bool:
        """Whether there is something to predict, and something to predict it from."""
        varies = len(self.goal.ends) != 1 if self.n_classes is None else self.n_classes > 1
        return varies and bool(self.sources)

    @property
    def target_name(self) -> str | int:
        """The column to predict."""
        return self.goal.column.name

    @property
    def n_classes(self) -> int | None:
        """Number of classes of the column to predict; None for a number."""
        return self.goal.n_codes

    def features(self, df: pd.DataFrame) -> Features:
        """Encode every column except the target, which may be absent."""
        matrix = np.empty((len(df), len(self.sources)), dtype=np.float64)
        for place, source in enumerate(self.sources):
            matrix[:, place] = source.read(df)
            if source.n_codes is not None:
                # A missing category gets a code of its own, which every library can split on.
                matrix[np.isnan(matrix[:, place]), place] = source.n_codes
        return Features(matrix, tuple(place for place, source in enumerate(self.sources) if source.labels is not None))

    def knows(self, df: pd.DataFrame) -> NDArray[np.bool_]:
        """Rows in which no column holds an unseen label (N,)."""
        return np.asarray(np.logical_and.reduce([source.knows(df) for source in self.sources]))

    def target(self, df: pd.DataFrame) -> Target:
        """Encode the target, which must not be missing in any row of `df`."""
        values = self.goal.read(df)
        return Target(self.goal.middles(values) if self.n_classes is None else values.astype(np.int64), self.n_classes)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"sources": [source.to_json() for source in self.sources], "goal": self.goal.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FeatureEncoder:
        """Inverse of `to_json`."""
        return cls(tuple(_Source.from_json(source) for source in data["sources"]), _Source.from_json(data["goal"]))


def choose_target(
    schema: Schema, df: pd.DataFrame, target: str | int | None, rng: np.random.Generator, *, drawn: bool = True
) -> str | int | None:
    """Return the column to predict: the one given, or one drawn from those that vary.

    If not `drawn`, it is the column most likely to be of interest: by its name, else the last categorical column,
    else the last column.

    None if trees would have nothing to learn: the target has a single value, or no other column varies. Keys and
    free text are neither predicted nor predicted from. Columns with many categories are not drawn: boosting
    builds a tree for each category in every round.
    """
    distinct = {name: int(df[name].nunique()) for name in schema.names}
    varying = [c.name for c in schema.columns if distinct[c.name] >= 2 and c.kind in (*MEASURED, *LABELLED)]
    if len(varying) < 2:
        return None
    if target is not None:
        name = schema.column(target).name
        return name if name in varying else None
    drawable = [n for n in varying if schema.column(n).kind not in LABELLED or distinct[n] <= FEW_CLASSES]
    if drawn is False and drawable:
        return _likely_target(schema, drawable)
    return drawable[int(rng.integers(len(drawable)))] if drawable else None


def _likely_target(schema: Schema, names: list[str | int]) -> str | int:
    """The column whose name suggests a target, else the last with classes, else the last."""
    called = [name for name in names if TARGET_NAMES.fullmatch(str(name).lower())]
    classes = [name for name in names if schema.column(name).kind in LABELLED]
    return (called or classes or names)[-1]


def count_classes(schema: Schema, df: pd.DataFrame, target: str | int, floor: int) -> int | None:
    """Number of classes of a target, with all rare ones counted as one; None for a number."""
    column = schema.column(target)
    if column.kind not in LABELLED:
        return None
    return _Source.learn(df, column, TokenConfig(rare_floor=floor)).n_codes
