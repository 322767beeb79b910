"""Texts with a form and a meaning: phone numbers, postal codes, account numbers, network addresses.

A template is a text in which some letters represent alphabets (`ALPHABETS`) and every letter after a backslash
represents itself. Beginnings shared by at least `floor` texts are kept (a country code); the rest is drawn, such that
lengths, signs and check digits are correct and no learned text is written.
"""

from __future__ import annotations

import ipaddress
import re
import string
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.schema.meanings import EMAIL, HEX, IBAN, IPV4, IPV6, PHONE, POSTAL, URL, has_meaning, iban_remainder
from .row_numbers import RowNumbers
from .spaces import MAX_SPACE, Part

if TYPE_CHECKING:
    from typing_extensions import Self

ALPHABETS = {
    "0": string.digits,
    "1": string.digits[1:],
    "2": string.digits[2:],
    "A": string.ascii_uppercase,
    "a": string.ascii_lowercase,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
}
MIN_ROOM = {POSTAL: 1000}
"""Minimum number of possible new texts besides the learned ones; with fewer, any text may be written. Default 20."""
PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
PUBLIC = "198.18.0.0/15"
"""An unused network, reserved for tests."""
MADE_UP = {
    EMAIL: r"aaaa00\@\e\x\a\m\p\l\e\.\c\o\m",
    URL: r"\h\t\t\p\s\:\/\/\e\x\a\m\p\l\e\.\c\o\m\/aaaa00",
    IPV6: r"\2\0\0\1\:\d\b\8\:hhhh\:hhhh\:\:hhhh",
}
"""Addresses under names and in networks that are reserved for examples and belong to nobody."""
FORMED = (PHONE, POSTAL, HEX, IBAN)
"""Meanings whose templates are learned."""
MAX_LETTERS = 64
MANY_TEXTS = 50
"""If this many texts of a form never start a number with 0 or 1 (North American area codes), new ones do not either."""


@dataclass(frozen=True)
class Template:
    """One form: alphabets and fixed letters."""

    text: str

    @cached_property
    def letters(self) -> list[str]:
        """For each letter its alphabet; a single letter represents itself."""
        found = re.findall(r"\\(.)|(.)", self.text, flags=re.DOTALL)
        return [fixed or ALPHABETS[open_] for fixed, open_ in found]

    @cached_property
    def carried(self) -> list[int]:
        """Letters that encode the place of a text, last one first; all others are drawn."""
        size, places = 1, []
        for k in range(len(self.letters) - 1, -1, -1):
            if len(self.letters[k]) > 1 and size * len(self.letters[k]) <= MAX_SPACE:
                size *= len(self.letters[k])
                places.append(k)
        return places

    @cached_property
    def size(self) -> int:
        """Number of texts that differ in the encoded letters."""
        size = 1
        for k in self.carried:
            size *= len(self.letters[k])
        return size

    def write(self, place: int, rng: np.random.Generator) -> str:
        """The text at a place."""
        letters = [letter if len(letter) == 1 else letter[int(rng.integers(len(letter)))] for letter in self.letters]
        for k in self.carried:
            place, digit = divmod(place, len(self.letters[k]))
            letters[k] = self.letters[k][digit]
        return "".join(letters)

    def place(self, text: str) -> int:
        """The place of a text, -1 if it does not have this form."""
        if len(text) != len(self.letters) or any(c not in own for c, own in zip(text, self.letters, strict=True)):
            return -1
        place = 0
        for k in reversed(self.carried):
            place = place * len(self.letters[k]) + self.letters[k].index(text[k])
        return place


@dataclass(frozen=True)
class Templates:
    """Makes texts of one meaning."""

    name: ClassVar[str] = "templates"
    is_person: ClassVar[bool] = False

    meaning: str
    forms: tuple[str, ...]
    """Templates, or networks."""
    shares: tuple[float, ...]
    parts: tuple[Part, ...]

    @classmethod
    def learn(cls, meaning: str, texts: Sequence[str], floor: int) -> Templates | None:
        """The forms that at least `floor` texts have; None if there are none."""
        rng = np.random.default_rng(0)
        texts = [text for text in texts if has_meaning(meaning, text)]
        if meaning in MADE_UP:
            return cls(meaning, (MADE_UP[meaning],), (1.0,), (Part(1, 0),))
        if meaning == IPV4:
            grouped = Counter(_network(text) for text in texts)
        elif meaning in FORMED:
            grouped = _forms(meaning, texts, floor)
        else:
            return None
        forms = {form: count for form, count in grouped.items() if count >= floor}
        if not forms:
            return None
        made = cls(meaning, tuple(forms), tuple(n / sum(forms.values()) for n in forms.values()), ())
        room = MIN_ROOM.get(meaning, 20)
        parts = [Part.free_of((made._place(form, t) for t in texts), made._size(form), room, rng) for form in forms]
        return cls(meaning, made.forms, made.shares, tuple(parts))

    @property
    def n_forms(self) -> int:
        """Number of forms."""
        return len(self.forms)

    def form_of(self, text: str) -> int:
        """The form of a text, or the most common one."""
        if self.meaning not in MADE_UP and has_meaning(self.meaning, text):
            fitting = [k for k, form in enumerate(self.forms) if 0 <= self._place(form, text) < self._size(form)]
            if fitting:
                return max(fitting, key=lambda k: self.forms[k].count("\\"))
        return int(np.argmax(self.shares))

    def write(self, rows: RowNumbers, rng: np.random.Generator, forms: NDArray[np.int64] | None = None) -> list[str]:
        """One text per row, in the given forms or else drawn by their shares."""
        chosen = rng.choice(len(self.forms), len(rows), p=np.array(self.shares)) if forms is None else forms
        places = [part.places(rows, self._size(form)) for part, form in zip(self.parts, self.forms, strict=True)]
        return [self._text(self.forms[k], int(places[k][row]), rng) for row, k in enumerate(chosen.tolist())]

    def _size(self, form: str) -> int:
        return ipaddress.ip_network(form).num_addresses if self.meaning == IPV4 else Template(form).size

    def _place(self, form: str, text: str) -> int:
        if self.meaning == IPV4:
            return int(ipaddress.ip_address(text)) - int(ipaddress.ip_network(form).network_address)
        return Template(form).place(_unchecked(text) if self.meaning == IBAN else text)

    def _text(self, form: str, place: int, rng: np.random.Generator) -> str:
        if self.meaning == IPV4:
            return str(ipaddress.ip_network(form).network_address + place)
        text = Template(form).write(place, rng)
        return _checked(text) if self.meaning == IBAN else text

    @property
    def example(self) -> str:
        """An example text."""
        return self.write(RowNumbers.first(1), np.random.default_rng(0))[0]

    @property
    def longest(self) -> int:
        """Characters of the longest text."""
        return max(len(form) for form in self.forms)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "meaning": self.meaning,
            "forms": list(self.forms),
            "shares": list(self.shares),
            "parts": [list(part) for part in self.parts],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`; forms that could not be written raise a ValueError."""
        forms, shares = tuple(map(str, data["forms"])), tuple(map(float, data["shares"]))
        parts = tuple(Part(*map(int, part)) for part in data["parts"])
        if not len(forms) == len(shares) == len(parts) or not forms or abs(sum(shares) - 1) > 1e-6 or min(shares) < 0:
            raise ValueError("the templates of a text do not fit together")
        if any(not 0 <= part.chosen < part.n_classes for part in parts):
            raise ValueError("a template has an invalid class")
        made = cls(str(data["meaning"]), forms, shares, parts)
        for form, part in zip(forms, parts, strict=True):
            if len(form) > 2 * MAX_LETTERS or made._size(form) < part.n_classes * (part.n_classes > 1):
                raise ValueError("a template is too long, or has fewer texts than classes")
        return made


def _network(text: str) -> str:
    address = ipaddress.ip_address(text)
    return next((own for own in PRIVATE if address in ipaddress.ip_network(own)), PUBLIC)


def _forms(meaning: str, texts: Sequence[str], floor: int) -> Counter[str]:
    """Templates of texts, each with the beginning that enough of them share."""
    by_shape: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        if len(text) <= MAX_LETTERS:
            plain = _unchecked(text) if meaning == IBAN else text
            by_shape[_shape(plain, meaning)].append(plain)
    forms: Counter[str] = Counter()
    for shape, own in by_shape.items():
        for start, alike in _beginnings(own, meaning, floor).items():
            forms[_template(shape, start, alike)] += len(alike)
    return forms


def _shape(text: str, meaning: str) -> str:
    if meaning == HEX:
        prefix = next((mark for mark in ("#", "0x") if text.startswith(mark)), "")
        return prefix + ("H" if any("A" <= c <= "F" for c in text) else "h") * (len(text) - len(prefix))
    return re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "0", text)))


def _beginnings(texts: list[str], meaning: str, floor: int) -> dict[str, list[str]]:
    """Texts grouped by beginning: a country or first digits that at least `floor` texts share; the rest under ""."""
    lengths = {IBAN: (2,), POSTAL: (2, 1), HEX: ()}.get(meaning, (3,) if texts[0][:1] in "+0" else ())
    kept: dict[str, list[str]] = {}
    for length in lengths:
        grouped: dict[str, list[str]] = defaultdict(list)
        for text in texts:
            grouped[text[:length]].append(text)
        kept |= {start: own for start, own in grouped.items() if len(own) >= floor}
        texts = [text for own in grouped.values() if len(own) < floor for text in own]
    return kept | ({"": texts} if len(texts) >= floor and meaning != IBAN else {})


def _template(shape: str, start: str, texts: list[str]) -> str:
    """The shape with a fixed beginning and fixed signs; a first digit that is never 0, or never 0 or 1, stays so."""
    parts = []
    for k, letter in enumerate(shape):
        begins = k == len(start) or (k > len(start) and not shape[k - 1].isalnum())
        if k < len(start):
            parts.append(f"\\{start[k]}")
        elif letter == "0" and begins and all(text[k] not in "01" for text in texts) and len(texts) >= MANY_TEXTS:
            parts.append("2")
        elif letter == "0" and k == len(start) and all(text[k] != "0" for text in texts):
            parts.append("1")
        else:
            parts.append(letter if letter in ALPHABETS else f"\\{letter}")
    return "".join(parts)


def _unchecked(text: str) -> str:
    """An account number with zeros as check digits."""
    return text[:2] + "00" + text[4:]


def _checked(text: str) -> str:
    """An account number with correct check digits."""
    return f"{text[:2]}{98 - iban_remainder(_unchecked(text).replace(' ', '')):02d}{text[4:]}"
