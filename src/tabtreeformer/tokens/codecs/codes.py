"""Codes of several patterns in one column: tickets such as `PC 17599`, `113803` and `A/5 21171`.

Texts are grouped by their punctuation, the number of digits and their first letters; each group with enough texts has
its own pattern, and the model learns which pattern fits a row. Numbers continue after the largest of their group, as
in `patterns.py`. If no larger number has the same number of digits (aircraft such as `N123AB`, number plates), texts
are drawn from a part of all texts of that form that contains none of the learned ones.
"""

from __future__ import annotations

import re
import string
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .patterns import Pattern, split_text
from .row_numbers import RowNumbers
from .spaces import Part
from .templates import Template

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_PATTERNS = 12
MIN_COVERED = 0.8
"""Share of the texts that the patterns must explain."""
MIN_NUMBERED = 0.5
"""Share of the texts that must contain a digit; otherwise they are natural language."""
MAX_WORD, MAX_LENGTH = 6, 24
"""Maximum consecutive letters, and total characters, of a code; anything longer is natural language."""
MIN_ROOM = 100
"""Minimum number of new texts of a pattern: larger numbers with as many digits, or texts of the free part."""

Signature = tuple[str, ...]


@dataclass(frozen=True)
class Form:
    """Texts of one form whose numbers are used up."""

    template: str
    part: Part

    @classmethod
    def learn(cls, template: str, texts: Sequence[str]) -> Form | None:
        """A part of the form that contains none of the texts; None if it has too little room."""
        form = Template(template)
        part = Part.roomiest(map(form.place, texts), form.size, np.random.default_rng(0))
        return cls(template, part) if form.size // part.n_classes >= MIN_ROOM else None

    @property
    def room(self) -> int:
        """Number of texts in the part."""
        return (Template(self.template).size - self.part.chosen - 1) // self.part.n_classes + 1

    def fits(self, text: str) -> bool:
        """Whether a text has the form."""
        return Template(self.template).place(text) >= 0

    def write(self, rows: RowNumbers, rng: np.random.Generator) -> list[str]:
        """One text per row."""
        form = Template(self.template)
        return [form.write(int(place), rng) for place in self.part.places(rows, form.size)]

    @property
    def example(self) -> str:
        """One text."""
        return self.write(RowNumbers.first(1), np.random.default_rng(0))[0]

    @property
    def longest(self) -> int:
        """Number of characters of every text."""
        return len(Template(self.template).letters)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"template": self.template, "part": list(self.part)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`; a form that could not be written is a ValueError."""
        template, part = str(data["template"]), Part(*map(int, data["part"]))
        if len(template) > 2 * MAX_LENGTH or not set(re.sub(r"\\.", "", template)) <= set(FREE):
            raise ValueError("the form of a code is too long, or has letters without a meaning")
        if not 0 <= part.chosen < part.n_classes <= Template(template).size:
            raise ValueError("the form of a code has an invalid class")
        return cls(template, part)


FREE = "01A"
"""Letters of a template that represent digits, nonzero digits and capital letters."""


@dataclass(frozen=True)
class Codes:
    """Patterns, the most frequent first."""

    name: ClassVar[str] = "patterns"
    is_person: ClassVar[bool] = False

    patterns: tuple[Pattern | Form, ...]

    @classmethod
    def learn(cls, texts: Sequence[str], floor: int) -> Codes | None:
        """The patterns of nearly all distinct texts; None if they are language or have too many patterns."""
        codes = [text for text in texts if _is_code(text)]
        numbered = sum(any(c in string.digits for c in text) for text in codes)
        if len(codes) < MIN_COVERED * len(texts) or numbered < MIN_NUMBERED * len(texts):
            return None
        left, found = codes, list[tuple[int, Pattern | Form]]()
        for detail in (2, 1, 0):  # first by letters and lengths, then the rest by lengths, then by punctuation only
            if detail == 0:
                forms, left = _forms(left, codes, max(floor, 2))
                found += forms
            everything, groups = (_grouped(own, detail) for own in (codes, left))
            left = []
            for signature, own in groups.items():
                pattern = Pattern.learn(own, floor) if len(own) >= max(floor, 2) else None
                pattern = None if pattern is None else _beyond(pattern, everything[signature])
                if pattern is not None and pattern.room >= MIN_ROOM:
                    found.append((len(own), pattern))
                else:
                    left += own
        found.sort(key=lambda pair: -pair[0])
        if sum(rows for rows, _ in found[:MAX_PATTERNS]) < MIN_COVERED * len(texts):
            return None
        return cls(tuple(pattern for _, pattern in found[:MAX_PATTERNS]))

    @property
    def n_forms(self) -> int:
        """One per pattern."""
        return len(self.patterns)

    def form_of(self, text: str) -> int:
        """The first pattern that a text matches; the most frequent one if it matches none."""
        return next((place for place, pattern in enumerate(self.patterns) if pattern.fits(text)), 0)

    def write(self, rows: RowNumbers, rng: np.random.Generator, forms: NDArray[np.int64] | None = None) -> list[str]:
        """One text per row, of the given pattern."""
        chosen = np.zeros(len(rows), dtype=np.int64) if forms is None else np.minimum(forms, self.n_forms - 1)
        texts = np.empty(len(rows), dtype=object)
        for place, pattern in enumerate(self.patterns):
            own = np.flatnonzero(chosen == place)
            scattered = RowNumbers(rows.numbers[own], rows.seed).scattered(pattern.room)
            numbers = RowNumbers(scattered, rows.seed)
            texts[own] = pattern.write(numbers, rng)
        return list(texts)

    @property
    def example(self) -> str:
        """One text of the most frequent pattern."""
        return self.patterns[0].example

    @property
    def longest(self) -> int:
        """Characters of the longest text, ignoring running numbers."""
        return max(pattern.longest for pattern in self.patterns)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"patterns": [pattern.to_json() for pattern in self.patterns]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        kinds = ((Form if "template" in own else Pattern, own) for own in data["patterns"])
        patterns = tuple(kind.from_json(own) for kind, own in kinds)
        if not 0 < len(patterns) <= MAX_PATTERNS or any(pattern.room < 1 for pattern in patterns):
            raise ValueError("a column of codes has no patterns, or too many, or one without room for numbers")
        return cls(patterns)


def _is_code(text: str) -> bool:
    """Whether a text is short and plain, without long words, and not a sentence: `note 3 on Ann` names somebody."""
    stretches = split_text(text)
    plain = bool(stretches) and text.isascii() and text.isprintable() and len(text) <= MAX_LENGTH
    plain = plain and sum(word.isalpha() for word in text.split()) <= 1
    return plain and all(len(own) <= MAX_WORD for own in stretches if own.isalpha())


def _signature(text: str, detail: int) -> Signature:
    """What texts of one pattern share: punctuation; with detail 1 also digit counts, with 2 also the first letters."""
    words = split_text(text)
    first = next((place for place, own in enumerate(words) if own.isalpha()), None)
    return tuple(
        f"0{len(own) if detail else ''}"
        if own[0] in string.digits
        else (own if place == first and detail == 2 else "a")
        if own.isalpha()
        else own
        for place, own in enumerate(words)
    )


def _grouped(texts: Sequence[str], detail: int) -> dict[Signature, list[str]]:
    """Texts grouped by their signature."""
    groups = defaultdict(list)
    for text in texts:
        groups[_signature(text, detail)].append(text)
    return groups


def _forms(left: list[str], codes: Sequence[str], least: int) -> tuple[list[tuple[int, Form]], list[str]]:
    """Forms with enough texts and room, first those with fixed initial letters; and the remaining texts."""
    found: list[tuple[int, Form]] = []
    alike = defaultdict[str, list[str]](list)
    for text in codes:
        alike[_template(text, begin=False)].append(text)
    for begin in (True, False):
        groups, left = defaultdict[str, list[str]](list), list(left)
        for text in left:
            groups[_template(text, begin=begin)].append(text)
        left = []
        for template, own in groups.items():
            known = alike[_template(own[0], begin=False)]
            # Lower-case letters are more often part of words than of codes.
            is_code = len(own) >= least and not any(letter.islower() for letter in template)
            form = Form.learn(_narrowed(template, own), known) if is_code else None
            if form is None:
                left += own
            else:
                found.append((len(own), form))
    return found, left


def _template(text: str, *, begin: bool) -> str:
    """The form of a text: punctuation is fixed, and with `begin` the initial letters too."""
    first = re.match(r"[A-Za-z]*", text)
    fixed = first.end() if begin and first else 0
    free = (re.sub(r"[A-Z]", "A", re.sub(r"\d", "0", c)) for c in text[fixed:])
    return "".join(f"\\{c}" for c in text[:fixed]) + "".join(c if c in FREE else f"\\{c}" for c in free)


def _narrowed(template: str, texts: Sequence[str]) -> str:
    """The template with letters shared by all texts fixed, and no leading 0 in the first number if no text has one."""
    letters = re.findall(r"\\.|.", template)
    number = letters.index("0") if "0" in letters else None
    for place, letter in enumerate(letters):
        seen = {text[place] for text in texts}
        if letter == "A" and len(seen) == 1:
            letters[place] = f"\\{texts[0][place]}"
        elif place == number and "0" not in seen:
            letters[place] = "1"
    return "".join(letters)


def _beyond(pattern: Pattern, texts: Sequence[str]) -> Pattern:
    """The pattern with numbers above those of all similar texts, including texts with a pattern of their own."""
    if pattern.counter is None:
        return pattern
    last = max(int(split_text(text)[pattern.counter]) for text in texts)
    return replace(pattern, last=last).rounded()
