"""Columns whose values are written anew when decoding: keys, and texts that few rows have.

No value of a key and no rare text is ever copied from a real row, nor kept in the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..config import TokenConfig
from ..schema import Column, Labels
from .layout import Kind, Slot
from .numbering import RowNumbers
from .numeric import Ids
from .patterns import Pattern, round_above

TEXT_FLOOR = 5
"""Rows that a text needs to be kept where `tokens.rare_floor` is 0: names are never copied, whatever the preset."""
MOST_KEPT = 2000
"""Frequent values of a text column that are kept at most."""
SAME_PATTERN = 0.8
"""Rare texts are written by a pattern if this share of them has it."""


@dataclass(frozen=True)
class NumberKeys:
    """Whole numbers that go on after the largest seen."""

    low: int
    high: int
    least: int
    most: int
    """What the dtype can hold."""

    @classmethod
    def learn(cls, values: pd.Series, column: Column, floor: int = 0) -> NumberKeys:
        """Take down the ends; with a floor, round numbers beyond them."""
        name = str(values.dtype) if column.dtype == "object" else column.dtype.removeprefix("arrow:").lower()
        limits = np.iinfo(name)
        low, high = int(values.min()), int(values.max())
        if floor > 1:
            low, high = -round_above(-low), round_above(high)
        return cls(low, high, int(limits.min), int(limits.max))

    def write(self, rows: RowNumbers, rng: np.random.Generator) -> NDArray[Any]:
        """Write a number a row, none of them seen."""
        return np.array([self._number(int(i)) for i in rows.numbers], dtype=self._dtype)

    def _number(self, row: int) -> int:
        if self.high + 1 + row <= self.most:
            return self.high + 1 + row
        if self.low - 1 - row >= self.least:
            return self.low - 1 - row
        # The dtype has no room left: every number it holds, in turn.
        return self.least + row % (self.most - self.least + 1)

    @property
    def _dtype(self) -> type[np.uint64] | type[np.int64]:
        return np.uint64 if self.most > np.iinfo(np.int64).max else np.int64

    @property
    def example(self) -> str:
        return str(self._number(0))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in ("low", "high", "least", "most")}


@dataclass(frozen=True)
class Placeholder:
    """A text that says what it stands for; `{n}` is a running number."""

    text: str

    def write(self, rows: RowNumbers, rng: np.random.Generator) -> list[str]:
        """Write one a row."""
        return [self.text.replace("{n}", str(int(i) + 1)) for i in rows.numbers]

    @property
    def example(self) -> str:
        return self.text.replace("{n}", "1")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"text": self.text}


Writer = NumberKeys | Pattern | Placeholder
_WRITERS = {"numbers": NumberKeys, "pattern": Pattern, "placeholder": Placeholder}


def _writer_to_json(writer: Writer) -> dict[str, Any]:
    name = next(name for name, kind in _WRITERS.items() if isinstance(writer, kind))
    return {name: writer.to_json()}


def _writer_from_json(data: Mapping[str, Any]) -> Writer:
    ((name, state),) = data.items()
    return Pattern.from_json(state) if name == "pattern" else _WRITERS[name](**state)


@dataclass(frozen=True)
class KeyCodec:
    """A key: nothing to learn, so that it has no ids."""

    writer: Writer

    @classmethod
    def learn(cls, values: pd.Series, column: Column, config: TokenConfig) -> KeyCodec:
        """Find how keys are written."""
        if column.whole:
            return cls(NumberKeys.learn(values, column, config.rare_floor))
        texts = [str(value) for value in values.unique()]
        pattern = None if column.placeholder else Pattern.learn(texts, config.rare_floor or TEXT_FLOOR)
        pattern = _protected(pattern, texts, config.rare_floor)
        return cls(pattern or Placeholder(column.placeholder or _unlike(f"{column.name}-", texts)))

    def slots(self, column: int) -> tuple[Slot, ...]:
        """None."""
        return ()

    def encode(self, values: pd.Series) -> Ids:
        """Values (N,) → ids (N, 0)."""
        return np.empty((len(values), 0), dtype=np.int64)

    def decode(self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None) -> NDArray[Any]:
        """Write a key a row."""
        rows = rows or RowNumbers.first(len(ids))
        return np.asarray(self.writer.write(rows, rng), dtype=None if self._whole else object)

    @property
    def _whole(self) -> bool:
        return isinstance(self.writer, NumberKeys)

    @property
    def note(self) -> str:
        """What is done with the column."""
        return f"a key, written anew for each row, as {self.writer.example}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return _writer_to_json(self.writer)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KeyCodec:
        """Inverse of `to_json`."""
        return cls(_writer_from_json(data))


@dataclass(frozen=True)
class TextCodec:
    """Text: frequent values are categories, all others are one id and written anew."""

    labels: Labels
    writer: Writer | None
    """How rare values are written; None where there are none."""
    n_rare: int

    @classmethod
    def learn(cls, values: pd.Series, column: Column, config: TokenConfig) -> TextCodec:
        """Keep values that at least `rare_floor` rows have, and find a pattern for the others."""
        counts, floor = values.value_counts(), config.rare_floor or TEXT_FLOOR
        kept = counts[counts >= floor].index[:MOST_KEPT]
        rare = [str(text) for text in counts.index.difference(kept, sort=False)]
        writer: Writer | None = None
        if rare:
            pattern = None if column.placeholder else _common_pattern(rare, floor)
            pattern = _protected(pattern, rare, config.rare_floor)
            writer = pattern or Placeholder(column.placeholder or _unlike(f"{column.name} ", rare))
        return cls(Labels(tuple(sorted(str(text) for text in kept))), writer, len(rare))

    def slots(self, column: int) -> tuple[Slot, ...]:
        """One category slot, if there is anything to tell apart."""
        size = len(self.labels.values) + (self.writer is not None)
        return (Slot(Kind.CATEGORY, column, size),) if size > 1 else ()

    def encode(self, values: pd.Series) -> Ids:
        """Values (N,) → ids (N, 1 or 0); a value never seen is a rare one."""
        codes = self.labels.find(values)
        if not self.slots(0):
            return np.empty((len(values), 0), dtype=np.int64)
        if self.writer is None:
            return self.labels.encode(values)[:, None]
        return np.where(codes < 0, len(self.labels.values), codes)[:, None]

    def decode(self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None) -> NDArray[Any]:
        """Ids → texts (N,)."""
        n_kept = len(self.labels.values)
        codes = ids[:, 0] if self.slots(0) else np.zeros(len(ids), dtype=np.int64)
        texts = np.empty(len(ids), dtype=object)
        kept = codes < n_kept
        texts[kept] = self.labels.decode(codes[kept])
        if self.writer is not None:
            new = np.array(self.writer.write(rows or RowNumbers.first(len(ids)), rng), dtype=object)
            texts[~kept] = new[~kept]
        return texts

    @property
    def note(self) -> str:
        """What is done with the column."""
        kept = f"{len(self.labels.values):,} frequent values are kept as categories"
        if self.writer is None:
            return f"text: {kept}"
        return f"text: {kept}, {self.n_rare:,} rare ones are not: they are written as {self.writer.example!r}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        writer = None if self.writer is None else _writer_to_json(self.writer)
        return {"labels": list(self.labels.values), "writer": writer, "n_rare": self.n_rare}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TextCodec:
        """Inverse of `to_json`."""
        writer = None if data["writer"] is None else _writer_from_json(data["writer"])
        return cls(Labels(tuple(data["labels"])), writer, data["n_rare"])


def _protected(pattern: Pattern | None, texts: list[str], floor: int) -> Pattern | None:
    """A pattern that tells neither the largest number nor what fewer than `floor` texts have in common."""
    if pattern is None or floor <= 1:
        return pattern
    return pattern.rounded() if len(texts) >= floor else None


def _unlike(stem: str, texts: list[str]) -> str:
    """A placeholder with which none of the texts begins."""
    while any(text.startswith(stem) for text in texts):
        stem = f"new {stem}"
    return stem + "{n}"


def _common_pattern(texts: list[str], floor: int) -> Pattern | None:
    """The pattern of most texts; spaces between words are no pattern but language."""
    solid = [text for text in texts if not any(c.isspace() for c in text) and any(c.isdigit() for c in text)]
    if len(solid) < SAME_PATTERN * len(texts):
        return None
    return Pattern.learn(solid, floor)
