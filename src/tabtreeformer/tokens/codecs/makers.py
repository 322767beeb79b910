"""Makers of new values for keys and rare texts: running numbers, patterns, templates, words, dates, placeholders.

None of them stores a value of a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...data.schema import Column
from ...data.schema.forms import DATE_FORMS, read_dates, write_dates
from .codes import Codes
from .patterns import Pattern, round_above
from .row_numbers import RowNumbers
from .stand_ins import StandIn
from .templates import Templates

if TYPE_CHECKING:
    from typing_extensions import Self

SAME_PATTERN = 0.8
"""Rare texts are written by a pattern, or as dates, if this share of them fits."""


class Maker(Protocol):
    """Makes new values that were in no row, one per row."""

    name: ClassVar[str]
    """Its name in a model file."""

    @property
    def n_forms(self) -> int:
        """Number of distinguished forms of values, so that the model learns which form fits a row."""
        return 1

    def form_of(self, text: str) -> int:
        """The form of a value to be replaced."""
        return 0

    @property
    def is_person(self) -> bool:
        """Whether its forms are categories of people, which made-up words of other columns follow."""
        return False

    def write(
        self, rows: RowNumbers, rng: np.random.Generator, forms: NDArray[np.int64] | None = None
    ) -> NDArray[Any] | list[str]:
        """New values (N,), of the given forms."""

    @property
    def example(self) -> str:
        """An example value, for a message."""

    @property
    def longest(self) -> int:
        """Number of characters of the longest value."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        own: Any = self
        return {field.name: getattr(self, field.name) for field in fields(own)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(**data)


@dataclass(frozen=True)
class NumberKeys(Maker):
    """Whole numbers that continue after the largest one seen."""

    name: ClassVar[str] = "numbers"

    low: int
    high: int
    least: int
    most: int
    """The range of the dtype."""

    @classmethod
    def learn(cls, values: pd.Series, column: Column, floor: int = 0) -> NumberKeys:
        """Record the ends or, with a floor, round numbers beyond them."""
        name = str(values.dtype) if column.dtype == "object" else column.dtype.removeprefix("arrow:").lower()
        limits = np.iinfo(name)
        low, high = int(values.min()), int(values.max())
        if floor > 1:
            low, high = -round_above(-low), round_above(high)
        return cls(low, high, int(limits.min), int(limits.max))

    def write(self, rows: RowNumbers, rng: np.random.Generator, forms: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Write one unseen number per row."""
        return np.array([self._number(int(i)) for i in rows.numbers], dtype=self._dtype)

    def _number(self, row: int) -> int:
        if self.high + 1 + row <= self.most:
            return self.high + 1 + row
        if self.low - 1 - row >= self.least:
            return self.low - 1 - row
        # The dtype has no unused numbers left: use all of its numbers in turn.
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
        """Characters of the smallest number of the dtype."""
        return len(str(self.least))


@dataclass(frozen=True)
class Placeholder(Maker):
    """A text that says what it replaces; `{n}` is a running number."""

    name: ClassVar[str] = "placeholder"

    text: str

    def write(self, rows: RowNumbers, rng: np.random.Generator, forms: NDArray[np.int64] | None = None) -> list[str]:
        """Write one per row."""
        return [self.text.replace("{n}", str(int(i) + 1)) for i in rows.numbers]

    @property
    def example(self) -> str:
        """The first text."""
        return self.text.replace("{n}", "1")

    @property
    def longest(self) -> int:
        """The length of the text with a number of typical length in each placeholder."""
        return len(self.text.replace("{n}", "0" * 20))


@dataclass(frozen=True)
class DateTexts(Maker):
    """Dates of one form, spread evenly over some years: for texts that are mostly, but not all, dates."""

    name: ClassVar[str] = "dates"

    form: str
    first_year: int
    last_year: int

    @classmethod
    def learn(cls, texts: Sequence[str], floor: int) -> DateTexts | None:
        """The form that most of the texts have; None if there is none."""
        for form in DATE_FORMS:
            if not any(_date(text, form) is not None for text in texts[:2]):
                continue
            dates = [found for text in texts if (found := _date(text, form)) is not None]
            if len(dates) >= max(SAME_PATTERN * len(texts), floor):
                years = np.sort(np.concatenate(dates).astype("datetime64[us]").astype("datetime64[Y]").astype(np.int64))
                spare = min(floor - 1, (len(years) - 1) // 2)
                return cls(form, int(years[spare]) + 1970, int(years[-1 - spare]) + 1970)
        return None

    def write(self, rows: RowNumbers, rng: np.random.Generator, forms: NDArray[np.int64] | None = None) -> list[str]:
        """One date per row."""
        years = np.array([self.first_year, self.last_year + 1]) - 1970
        first, end = years.astype("datetime64[Y]").astype("datetime64[us]").astype(np.int64).tolist()
        return write_dates(rng.integers(first, end, len(rows)), self.form)

    @property
    def example(self) -> str:
        """An example date."""
        return self.write(RowNumbers.first(1), np.random.default_rng(0))[0]

    @property
    def longest(self) -> int:
        """Dates are short."""
        return 40

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        if data["form"] not in DATE_FORMS or not 1 <= int(data["first_year"]) <= int(data["last_year"]) <= 9998:
            raise ValueError("dates have an unknown form or invalid years")
        return cls(data["form"], int(data["first_year"]), int(data["last_year"]))


def _date(text: str, form: str) -> NDArray[np.int64] | None:
    """The date of a text written in exactly this form, with or without leading zeros."""
    found = read_dates([text], form)
    return found if found is not None and write_dates(found, form) == [text] else None


MAKERS: dict[str, type[Maker]] = {
    maker.name: maker for maker in (NumberKeys, Pattern, Codes, Placeholder, Templates, StandIn, DateTexts)
}


def maker_from_json(data: Mapping[str, Any]) -> Maker:
    ((name, state),) = data.items()
    return MAKERS[name].from_json(state)
