"""Columns whose values are made up when decoding: keys and rare texts.

No key and no rare text is ever copied from a real row or stored in the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...config.settings import TokenConfig
from ...data.schema import CATEGORICAL, IDENTIFIER, TEXT, Column, Labels
from ...data.schema.meanings import PERSONAL
from ...errors import ConditionError
from ..conditions import Condition
from ..layout import Slot, SlotKind
from .base import Allowed, Codec, Ids, Mask
from .codes import Codes
from .key_repeats import MAX_ROWS, learn_repeats, shared_numbers
from .labels import label_mask, not_empty
from .makers import SAME_PATTERN, DateTexts, Maker, NumberKeys, Placeholder, maker_from_json
from .patterns import Pattern
from .row_numbers import RowNumbers
from .stand_ins import StandIn
from .templates import Templates

if TYPE_CHECKING:
    from typing_extensions import Self

TEXT_FLOOR = 5
"""Rows a text needs to be kept if `tokens.rare_floor` is 0: names are never copied, whatever the preset."""
MAX_KEPT = 2000
"""Maximum number of frequent values kept for a text column."""


@dataclass(frozen=True)
class KeyCodec(Codec):
    """A key: there is nothing to learn, so it has no ids."""

    name: ClassVar[str] = "key"
    kinds: ClassVar[tuple[str, ...]] = (IDENTIFIER,)

    maker: Maker
    repeats: tuple[float, ...] = ()
    """Shares of keys with one, two, three … rows; empty if every row has its own key."""

    @classmethod
    def learn(cls, values: pd.Series, column: Column, config: TokenConfig) -> Self:
        """Find how keys are written, and how many rows share a key."""
        return cls(cls._maker(values, column, config), learn_repeats(values, config.rare_floor or TEXT_FLOOR))

    @classmethod
    def _maker(cls, values: pd.Series, column: Column, config: TokenConfig) -> Maker:
        if column.whole:
            return NumberKeys.learn(values, column, config.rare_floor)
        texts = [str(value) for value in values.unique()]
        made = _by_meaning(column, texts, config.rare_floor or TEXT_FLOOR)
        if made is not None:
            return made
        pattern = None if column.placeholder else Pattern.learn(texts, config.rare_floor or TEXT_FLOOR)
        pattern = _protected(pattern, texts, config.rare_floor)
        return pattern or Placeholder(column.placeholder or _unlike(f"{column.name}-", texts))

    def owners(self, rows: RowNumbers) -> RowNumbers:
        """The number of each row's key."""
        return shared_numbers(rows, self.repeats)

    def decode(self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None) -> NDArray[Any]:
        """Write the key of each row; rows of the same owner get the same key."""
        owners = self.owners(rows or RowNumbers.first(len(ids)))
        distinct, places = np.unique(owners.numbers, return_inverse=True)
        keys = self.maker.write(RowNumbers(distinct, owners.seed), rng)
        keys = [keys[place] for place in places] if isinstance(keys, list) else keys[places]
        return keys if isinstance(keys, np.ndarray) else np.array(keys, dtype=object)

    def allow(self, condition: Condition, column: Column) -> Allowed:
        """Only conditions on whether there is a key."""
        if condition.operator == "present":
            return self.anything()
        raise ConditionError(
            f"column {column.name!r} is an {IDENTIFIER}, made up for each row; its values cannot be given"
        )

    def longest_text(self) -> int:
        """Characters of the longest key."""
        return self.maker.longest

    def note(self) -> str:
        """How the column is handled."""
        shared = f"; {1 - self.repeats[0]:.0%} of the keys have several rows" if self.repeats else ""
        return f"a key, made up for each row, e.g. {self.maker.example}{shared}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {self.maker.name: self.maker.to_json()} | ({"repeats": list(self.repeats)} if self.repeats else {})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        repeats = tuple(float(share) for share in data.get("repeats", ()))
        if repeats and (len(repeats) > MAX_ROWS or min(repeats) < 0 or abs(sum(repeats) - 1) > 1e-6):
            raise ValueError("the shares of keys that several rows have do not add up to one")
        return cls(maker_from_json({name: state for name, state in data.items() if name != "repeats"}), repeats)


@dataclass(frozen=True)
class TextCodec(Codec):
    """Text: frequent values are categories; all others are grouped under shared ids and made up."""

    name: ClassVar[str] = "text"
    kinds: ClassVar[tuple[str, ...]] = (TEXT, CATEGORICAL)
    """Also categorical columns, if all values are rare."""

    labels: Labels
    maker: Maker | None
    """Makes rare values; None if there are none."""
    n_rare: int

    @classmethod
    def learn(cls, values: pd.Series, column: Column, config: TokenConfig) -> Self:
        """Keep values that at least `rare_floor` rows have, and find a pattern for the others.

        NOTE[PAPER]: the paper gives an id to every value of every non-numeric column, also in S, L and NM; we keep
        only frequent values of text columns (`schema/infer.py` defines text) and make up the others, as we do for
        keys, because each of them identifies a real row. `schema.json` can declare such a column categorical.
        """
        counts, floor = values.value_counts(), config.rare_floor or TEXT_FLOOR
        enough = counts >= floor if column.meaning not in PERSONAL or column.placeholder else counts < 0
        kept = counts[enough].index[:MAX_KEPT]
        rare = [str(text) for text in counts.index.difference(kept, sort=False)]
        maker: Maker | None = None
        if rare:
            maker = _by_meaning(column, rare, floor)
        if rare and maker is None:
            pattern = None if column.placeholder else _common_pattern(rare, floor)
            pattern = _protected(pattern, rare, config.rare_floor)
            codes = None if column.placeholder or pattern else Codes.learn(rare, floor)
            maker = pattern or codes or Placeholder(column.placeholder or _unlike(f"{column.name} ", rare))
        return cls(Labels(tuple(sorted(str(text) for text in kept))), maker, len(rare))

    @property
    def _n_forms(self) -> int:
        return 0 if self.maker is None else self.maker.n_forms

    def slots(self, column: int) -> tuple[Slot, ...]:
        """One category slot, if there is more than one value or form of made-up values."""
        size = len(self.labels.values) + self._n_forms
        return (Slot(SlotKind.CATEGORY, column, size),) if size > 1 else ()

    def encode(self, values: pd.Series) -> Ids:
        """Values (N,) → ids (N, 1 or 0); unseen values count as rare."""
        codes = self.labels.find(values)
        if not self.slots(0):
            return np.empty((len(values), 0), dtype=np.int64)
        if self.maker is None:
            return self.labels.encode(values)[:, None]
        rare = codes < 0
        if rare.any():
            places, distinct = pd.factorize(values[rare].astype(str))
            forms = np.array([self.maker.form_of(text) for text in distinct], dtype=np.int64)
            codes[rare] = len(self.labels.values) + forms[places]
        return codes[:, None]

    def decode(self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None) -> NDArray[Any]:
        """Ids → texts (N,)."""
        n_kept = len(self.labels.values)
        codes = ids[:, 0].astype(np.int64) if self.slots(0) else np.zeros(len(ids), dtype=np.int64)
        texts = np.empty(len(ids), dtype=object)
        kept = codes < n_kept
        texts[kept] = self.labels.decode(codes[kept])
        if self.maker is not None:
            forms = np.clip(codes - n_kept, 0, None)
            new = np.array(self.maker.write(rows or RowNumbers.first(len(ids)), rng, forms), dtype=object)
            texts[~kept] = new[~kept]
        return texts

    def people(self, ids: NDArray[Any]) -> NDArray[np.int64] | None:
        """The category of the person in each row (N,), if the name shows it."""
        if self.maker is None or not self.maker.is_person or not self.slots(0):
            return None
        return np.where(ids[:, 0] < len(self.labels.values), self._n_forms - 1, ids[:, 0] - len(self.labels.values))

    def can_encode(self, values: pd.Series) -> Mask:
        """Which values are frequent or may be made up (N,)."""
        return np.asarray((self.labels.find(values) >= 0) | (self.maker is not None) | (not self.slots(0)))

    def known_values(self) -> Labels:
        """The frequent values."""
        return self.labels

    def allow(self, condition: Condition, column: Column) -> Allowed:
        """What a condition other than `missing` allows."""
        if condition.operator == "present":
            return self.anything()
        slots = self.slots(0)
        mask = label_mask(self.labels, slots[0].size if slots else 1, condition, column, protected=False)
        return Allowed((not_empty(mask, condition, column),)[: len(slots)])

    def longest_text(self) -> int:
        """Characters of the longest made-up text."""
        return 0 if self.maker is None else self.maker.longest

    def note(self) -> str:
        """How the column is handled."""
        if not len(self.labels.values) and self.maker is not None:
            return f"none of its {self.n_rare:,} values is kept: new ones are made up, e.g. {self.maker.example!r}"
        n_kept = len(self.labels.values)
        kept = "one frequent value is kept" if n_kept == 1 else f"{n_kept:,} frequent values are kept"
        if self.maker is None:
            return f"text: {kept}"
        return f"text: {kept}, {self.n_rare:,} rare ones are replaced, e.g. by {self.maker.example!r}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        maker = None if self.maker is None else {self.maker.name: self.maker.to_json()}
        return {"labels": list(self.labels.values), "writer": maker, "n_rare": self.n_rare}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        maker = None if data["writer"] is None else maker_from_json(data["writer"])
        return cls(Labels.from_json(data["labels"]), maker, int(data["n_rare"]))


def _by_meaning(column: Column, texts: list[str], floor: int) -> Maker | None:
    """A maker of texts with the same meaning; None if they have none, or if a placeholder is requested."""
    if column.placeholder:
        return None
    if column.meaning is None:
        return DateTexts.learn(texts, floor)
    stand_in = StandIn.learn(column, texts, floor, _unlike(f"{column.name} ", texts))
    return stand_in or Templates.learn(column.meaning, texts, floor)


def _protected(pattern: Pattern | None, texts: list[str], floor: int) -> Pattern | None:
    """A pattern that reveals neither the largest number nor anything shared by fewer than `floor` texts."""
    if pattern is None or floor <= 1:
        return pattern
    return pattern.rounded() if len(texts) >= floor else None


def _unlike(stem: str, texts: list[str]) -> str:
    """A placeholder that none of the texts starts with."""
    while any(text.startswith(stem) for text in texts):
        stem = f"new {stem}"
    return stem + "{n}"


def _common_pattern(texts: list[str], floor: int) -> Pattern | None:
    """The pattern of most texts; texts with spaces are language, not patterns."""
    solid = [text for text in texts if not any(c.isspace() for c in text) and any(c.isdigit() for c in text)]
    if len(solid) < SAME_PATTERN * len(texts):
        return None
    return Pattern.learn(solid, floor)
