"""Columns whose values are made up when decoding: keys, and texts that few rows have.

No value of a key and no rare text is ever copied from a real row, nor kept in the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...config.settings import TokenConfig
from ...data.schema import CATEGORICAL, IDENTIFIER, TEXT, Column, Labels
from ...errors import ConditionError
from ..conditions import Condition
from ..layout import Slot, SlotKind
from .base import Allowed, Codec, Ids, Mask
from .labels import label_mask, not_empty
from .patterns import Pattern, round_above
from .row_numbers import RowNumbers

if TYPE_CHECKING:
    from typing_extensions import Self

TEXT_FLOOR = 5
"""Rows that a text needs to be kept where `tokens.rare_floor` is 0: names are never copied, whatever the preset."""
MAX_KEPT = 2000
"""Maximum of frequent values of a text column that are kept."""
SAME_PATTERN = 0.8
"""Rare texts are written by a pattern if this share of them has it."""


class Maker(Protocol):
    """Makes values that no row had, one per row."""

    name: ClassVar[str]
    """What it is called in a model file."""

    def write(self, rows: RowNumbers, rng: np.random.Generator) -> NDArray[Any] | list[str]:
        """New values (N,)."""

    @property
    def example(self) -> str:
        """One of them, for a message."""

    @property
    def longest(self) -> int:
        """Characters of the longest."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""


@dataclass(frozen=True)
class NumberKeys:
    """Whole numbers that continue after the largest seen."""

    name: ClassVar[str] = "numbers"

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
        """Write one number per row, none of them seen."""
        return np.array([self._number(int(i)) for i in rows.numbers], dtype=self._dtype)

    def _number(self, row: int) -> int:
        if self.high + 1 + row <= self.most:
            return self.high + 1 + row
        if self.low - 1 - row >= self.least:
            return self.low - 1 - row
        # The dtype has no room left: all its numbers, one after the other.
        return self.least + row % (self.most - self.least + 1)

    @property
    def _dtype(self) -> type[np.uint64] | type[np.int64]:
        return np.uint64 if self.most > np.iinfo(np.int64).max else np.int64

    @property
    def example(self) -> str:
        """The first key."""
        return str(self._number(0))

    @property
    def longest(self) -> int:
        """Numbers are no longer than their type."""
        return len(str(self.least))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in ("low", "high", "least", "most")}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(**data)


@dataclass(frozen=True)
class Placeholder:
    """A text that says what it replaces; `{n}` is a running number."""

    name: ClassVar[str] = "placeholder"

    text: str

    def write(self, rows: RowNumbers, rng: np.random.Generator) -> list[str]:
        """Write one per row."""
        return [self.text.replace("{n}", str(int(i) + 1)) for i in rows.numbers]

    @property
    def example(self) -> str:
        """The first text."""
        return self.text.replace("{n}", "1")

    @property
    def longest(self) -> int:
        """The text with a number of the usual length in each of its places."""
        return len(self.text.replace("{n}", "0" * 20))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"text": self.text}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(**data)


_MAKERS: dict[str, type[Maker]] = {maker.name: maker for maker in (NumberKeys, Pattern, Placeholder)}


def _maker_from_json(data: Mapping[str, Any]) -> Maker:
    ((name, state),) = data.items()
    return _MAKERS[name].from_json(state)


@dataclass(frozen=True)
class KeyCodec(Codec):
    """A key: nothing to learn, so that it has no ids."""

    name: ClassVar[str] = "key"
    kinds: ClassVar[tuple[str, ...]] = (IDENTIFIER,)

    maker: Maker

    @classmethod
    def learn(cls, values: pd.Series, column: Column, config: TokenConfig) -> Self:
        """Find how keys are written."""
        if column.whole:
            return cls(NumberKeys.learn(values, column, config.rare_floor))
        texts = [str(value) for value in values.unique()]
        pattern = None if column.placeholder else Pattern.learn(texts, config.rare_floor or TEXT_FLOOR)
        pattern = _protected(pattern, texts, config.rare_floor)
        return cls(pattern or Placeholder(column.placeholder or _unlike(f"{column.name}-", texts)))

    def decode(self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None) -> NDArray[Any]:
        """Write one key per row."""
        keys = self.maker.write(rows or RowNumbers.first(len(ids)), rng)
        return keys if isinstance(keys, np.ndarray) else np.array(keys, dtype=object)

    def allow(self, condition: Condition, column: Column) -> Allowed:
        """Nothing but that there is a key."""
        if condition.operator == "present":
            return self.anything()
        raise ConditionError(
            f"column {column.name!r} is an {IDENTIFIER}, made up for each row; its values cannot be given"
        )

    def longest_text(self) -> int:
        """Characters of the longest key."""
        return self.maker.longest

    def note(self) -> str:
        """What is done with the column."""
        return f"a key, made up for each row, e.g. {self.maker.example}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {self.maker.name: self.maker.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(_maker_from_json(data))


@dataclass(frozen=True)
class TextCodec(Codec):
    """Text: frequent values are categories, all others share one id and are made up."""

    name: ClassVar[str] = "text"
    kinds: ClassVar[tuple[str, ...]] = (TEXT, CATEGORICAL)
    """Categories too, where every one is rare."""

    labels: Labels
    maker: Maker | None
    """What makes rare values; None where there are none."""
    n_rare: int

    @classmethod
    def learn(cls, values: pd.Series, column: Column, config: TokenConfig) -> Self:
        """Keep values that at least `rare_floor` rows have, and find a pattern for the others."""
        counts, floor = values.value_counts(), config.rare_floor or TEXT_FLOOR
        kept = counts[counts >= floor].index[:MAX_KEPT]
        rare = [str(text) for text in counts.index.difference(kept, sort=False)]
        maker: Maker | None = None
        if rare:
            pattern = None if column.placeholder else _common_pattern(rare, floor)
            pattern = _protected(pattern, rare, config.rare_floor)
            maker = pattern or Placeholder(column.placeholder or _unlike(f"{column.name} ", rare))
        return cls(Labels(tuple(sorted(str(text) for text in kept))), maker, len(rare))

    def slots(self, column: int) -> tuple[Slot, ...]:
        """One category slot, if there is more than one value."""
        size = len(self.labels.values) + (self.maker is not None)
        return (Slot(SlotKind.CATEGORY, column, size),) if size > 1 else ()

    def encode(self, values: pd.Series) -> Ids:
        """Values (N,) → ids (N, 1 or 0); a value never seen is a rare one."""
        codes = self.labels.find(values)
        if not self.slots(0):
            return np.empty((len(values), 0), dtype=np.int64)
        if self.maker is None:
            return self.labels.encode(values)[:, None]
        return np.where(codes < 0, len(self.labels.values), codes)[:, None]

    def decode(self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None) -> NDArray[Any]:
        """Ids → texts (N,)."""
        n_kept = len(self.labels.values)
        codes = ids[:, 0] if self.slots(0) else np.zeros(len(ids), dtype=np.int64)
        texts = np.empty(len(ids), dtype=object)
        kept = codes < n_kept
        texts[kept] = self.labels.decode(codes[kept])
        if self.maker is not None:
            new = np.array(self.maker.write(rows or RowNumbers.first(len(ids)), rng), dtype=object)
            texts[~kept] = new[~kept]
        return texts

    def can_encode(self, values: pd.Series) -> Mask:
        """Which values are frequent ones, or may be made up (N,)."""
        return np.asarray((self.labels.find(values) >= 0) | (self.maker is not None) | (not self.slots(0)))

    def known_values(self) -> Labels:
        """The frequent values."""
        return self.labels

    def allow(self, condition: Condition, column: Column) -> Allowed:
        """What a condition other than `missing` leaves."""
        if condition.operator == "present":
            return self.anything()
        slots = self.slots(0)
        mask = label_mask(self.labels, slots[0].size if slots else 1, condition, column, protected=False)
        return Allowed((not_empty(mask, condition, column),)[: len(slots)])

    def longest_text(self) -> int:
        """Characters of the longest text that is made."""
        return 0 if self.maker is None else self.maker.longest

    def note(self) -> str:
        """What is done with the column."""
        kept = f"{len(self.labels.values):,} frequent values are kept as categories"
        if self.maker is None:
            return f"text: {kept}"
        return f"text: {kept}, {self.n_rare:,} rare ones are not: they are replaced, e.g. by {self.maker.example!r}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        maker = None if self.maker is None else {self.maker.name: self.maker.to_json()}
        return {"labels": list(self.labels.values), "writer": maker, "n_rare": self.n_rare}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        maker = None if data["writer"] is None else _maker_from_json(data["writer"])
        return cls(Labels.from_json(data["labels"]), maker, int(data["n_rare"]))


def _protected(pattern: Pattern | None, texts: list[str], floor: int) -> Pattern | None:
    """A pattern that reveals neither the largest number nor what fewer than `floor` texts have in common."""
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
