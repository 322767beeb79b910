"""The pattern of texts that a machine wrote (`C-0042`, `a3f9-77`, a UUID), and new texts of the same pattern.

New texts never repeat a text that was learned from, and the pattern keeps none of them: a number in the text goes on
after the largest seen, and where there is no number the space is too large for chance to hit, or the text is longer.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
ROOM = 10**9
"""Texts drawn at random need this many times more possible texts than there are rows, or they get longer."""
MOST_CHOICES = 20


@dataclass(frozen=True)
class Run:
    """One stretch of a text: one of `choices`, or characters of `alphabet`."""

    choices: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    alphabet: str = ""
    lengths: tuple[int, int] = (0, 0)
    """Fewest and most characters."""


@dataclass(frozen=True)
class Pattern:
    """Stretches in order; `counter` is the one that holds a number which goes on."""

    runs: tuple[Run, ...]
    counter: int | None
    last: int
    """The largest number seen there."""
    width: int | None
    """Digits of the number, zeros in front; None where it has none in front."""
    spare: bool
    """Whether texts drawn at random are sure not to repeat one that was learned from."""

    @classmethod
    def learn(cls, texts: Sequence[str], floor: int) -> Pattern | None:
        """The pattern that all distinct texts share, or None; a stretch keeps only words that `floor` of them have."""
        if not texts:
            return None
        if all(UUID.fullmatch(text) for text in texts):
            return _uuids(upper=any("A" <= c <= "F" for text in texts for c in text))
        stretches = [re.findall(r"[0-9]+|[^\W\d_]+|[\W_]", text) for text in texts]
        shapes = {tuple(_sort(s) for s in stretch) for stretch in stretches}
        if len(shapes) == 1 and "" not in texts:
            return cls._of_stretches(list(zip(*stretches, strict=True)), len(texts), floor)
        if len({len(text) for text in texts}) == 1 and all(c.isalnum() and c.isascii() for t in texts for c in t):
            alphabet = _alphabet("".join(texts))
            run = Run(alphabet=alphabet, lengths=(len(texts[0]), len(texts[0])))
            return cls((run,), None, 0, None, _roomy((run,), len(texts)))
        return None

    @classmethod
    def _of_stretches(cls, columns: list[tuple[str, ...]], n: int, floor: int) -> Pattern | None:
        numbers = [i for i, column in enumerate(columns) if _sort(column[0]) == "0" and len(set(column)) > 1]
        counter = max(numbers, key=lambda i: len(set(columns[i])), default=None)
        runs = tuple(_run(column, floor) for column in columns)
        if counter is None:
            free = any(run.alphabet for run in runs)
            return cls(runs, None, 0, None, _roomy(runs, n)) if free else None
        widths = {len(text) for text in columns[counter]}
        padded = len(widths) == 1 or any(text[0] == "0" and len(text) > 1 for text in columns[counter])
        last = max(int(text) for text in columns[counter])
        return cls(runs, counter, last, max(widths) if padded else None, True)

    def write(self, n: int, rng: np.random.Generator, first: int = 0) -> list[str]:
        """Write n different texts; `first` have been written before."""
        columns = [self._column(place, run, n, rng, first) for place, run in enumerate(self.runs)]
        texts = ["".join(parts) for parts in zip(*columns, strict=True)] if columns else [""] * n
        return texts if self.counter is not None else self._apart(texts, rng)

    def _column(self, place: int, run: Run, n: int, rng: np.random.Generator, first: int) -> list[str]:
        if place == self.counter:
            numbers = range(self.last + 1 + first, self.last + 1 + first + n)
            return [str(number).zfill(self.width or 0) for number in numbers]
        if run.choices:
            return [run.choices[i] for i in rng.choice(len(run.choices), n, p=np.array(run.shares))]
        low, high = run.lengths
        longer = 0 if self.spare else 1
        lengths = rng.integers(low, high + 1, n) if self.spare else np.full(n, high + longer)
        letters = np.array(list(run.alphabet))[rng.integers(len(run.alphabet), size=(n, high + longer))]
        return ["".join(row[:length]) for row, length in zip(letters, lengths, strict=True)]

    def _apart(self, texts: list[str], rng: np.random.Generator) -> list[str]:
        """Make equal texts differ: each further one gets more characters of the last stretch that has any."""
        seen: set[str] = set()
        alphabet = next((run.alphabet for run in reversed(self.runs) if run.alphabet), string.digits)
        for place, text in enumerate(texts):
            while text in seen:
                text += alphabet[int(rng.integers(len(alphabet)))]
            seen.add(text)
            texts[place] = text
        return texts

    @property
    def example(self) -> str:
        """One text of the pattern."""
        return self.write(1, np.random.default_rng(0))[0]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        runs = [[list(r.choices), list(r.shares), r.alphabet, list(r.lengths)] for r in self.runs]
        return {"runs": runs, **{name: getattr(self, name) for name in ("counter", "last", "width", "spare")}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Pattern:
        """Inverse of `to_json`."""
        runs = tuple(Run(tuple(c), tuple(s), a, (low, high)) for c, s, a, (low, high) in data["runs"])
        return cls(**{**data, "runs": runs})


def _sort(stretch: str) -> str:
    """The sort of a stretch: digits, letters, or the sign itself."""
    return "0" if stretch[0] in string.digits else "a" if stretch.isalpha() else stretch


def _run(texts: tuple[str, ...], floor: int) -> Run:
    counts = Counter(texts)
    if (len(counts) <= MOST_CHOICES and min(counts.values()) >= floor) or len(counts) == 1:
        choices = tuple(sorted(counts))
        return Run(choices, tuple(counts[choice] / len(texts) for choice in choices))
    lengths = [len(text) for text in counts]
    return Run(alphabet=_alphabet("".join(counts)), lengths=(min(lengths), max(lengths)))


def _alphabet(characters: str) -> str:
    """The plainest alphabet that holds all characters."""
    used = set(characters)
    hexadecimal = used - set(string.digits) <= set("abcdef") or used - set(string.digits) <= set("ABCDEF")
    lower, upper = (any(test(c) for c in used) for test in (str.islower, str.isupper))
    digits = bool(used & set(string.digits))
    if hexadecimal and digits and (lower or upper):
        return string.digits + ("abcdef" if lower else "ABCDEF")
    parts = (digits, string.digits), (upper, string.ascii_uppercase), (lower, string.ascii_lowercase)
    return "".join(letters for wanted, letters in parts if wanted) or string.ascii_lowercase


def _roomy(runs: tuple[Run, ...], n: int) -> bool:
    space = 1.0
    for run in runs:
        space *= max(len(run.choices), float(len(run.alphabet)) ** run.lengths[0], 1.0)
    return space >= ROOM * n


def _uuids(*, upper: bool) -> Pattern:
    """Version 4, variant 1."""
    digits = "0123456789" + ("ABCDEF" if upper else "abcdef")
    variant = "89AB" if upper else "89ab"
    runs = [Run(alphabet=digits, lengths=(8, 8)), Run(("-",), (1.0,)), Run(alphabet=digits, lengths=(4, 4))]
    runs += [Run(("-4",), (1.0,)), Run(alphabet=digits, lengths=(3, 3)), Run(("-",), (1.0,))]
    runs += [Run(alphabet=variant, lengths=(1, 1)), Run(alphabet=digits, lengths=(3, 3)), Run(("-",), (1.0,))]
    return Pattern((*runs, Run(alphabet=digits, lengths=(12, 12))), None, 0, None, True)
