"""The pattern of machine-made texts (`C-0042`, `a3f9-77`, a UUID), and new texts of the same pattern.

New texts never repeat a learned text, and the pattern stores none of them: a number in the text continues after the
largest one seen; without a number, either the space of texts is too large for collisions, or new texts are longer.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .row_numbers import RowNumbers

if TYPE_CHECKING:
    from typing_extensions import Self

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
ROOM = 10**9
"""Random texts need this many times as many possible texts as there are rows; otherwise they are made longer."""
MAX_CHOICES = 20
NEARLY_ALL = 0.9
"""Minimum share of texts with one of the frequent segments; then only those segments are written."""
MAX_CARRIED = 2**60
"""Row numbers are encoded in letters with at most this many combinations; other letters are drawn."""


@dataclass(frozen=True)
class Run:
    """One segment of a text: one of `choices`, or characters of `alphabet`."""

    choices: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    alphabet: str = ""
    lengths: tuple[int, int] = (0, 0)
    """Minimum and maximum number of characters."""


@dataclass(frozen=True)
class Pattern:
    """Segments in order; `counter` is the one with a running number."""

    name: ClassVar[str] = "pattern"
    is_person: ClassVar[bool] = False

    runs: tuple[Run, ...]
    counter: int | None
    last: int
    """The largest number seen there."""
    width: int | None
    """Digits of the number including leading zeros; None if it has no leading zeros."""
    spare: bool
    """Whether random texts are practically certain not to repeat a learned text."""

    @classmethod
    def learn(cls, texts: Sequence[str], floor: int) -> Pattern | None:
        """The pattern shared by all distinct texts, or None; a segment keeps only words that `floor` texts have."""
        if not texts:
            return None
        if all(UUID.fullmatch(text) for text in texts):
            return _uuids(upper=any("A" <= c <= "F" for text in texts for c in text))
        stretches = [split_text(text) for text in texts]
        shapes = {tuple(_sort(s) for s in stretch) for stretch in stretches}
        if len(shapes) == 1 and "" not in texts:
            return cls._of_stretches(list(zip(*stretches, strict=True)), len(texts), floor)
        return cls._of_fields(texts, floor)

    @classmethod
    def _of_fields(cls, texts: Sequence[str], floor: int) -> Pattern | None:
        """Mixed letters and digits in fields of fixed lengths, between signs shared by all texts: 87:f2:80."""
        fields = [re.split("([^0-9A-Za-z])", text) for text in texts]
        if len({tuple(own if k % 2 else str(len(own)) for k, own in enumerate(parts)) for parts in fields}) > 1:
            return None
        if len(fields[0]) == 1:
            runs: tuple[Run, ...] = (Run(alphabet=_alphabet("".join(texts)), lengths=(len(texts[0]), len(texts[0]))),)
        else:
            runs = tuple(_run(column, floor) for column in zip(*fields, strict=True) if column[0])
            if not all(run.choices or run.lengths[0] == run.lengths[1] for run in runs):
                return None
        free = any(run.alphabet for run in runs)
        roomy = _roomy(runs, len(texts))
        return cls(runs, None, 0, None, roomy) if free and (roomy or len(runs) == 1) else None

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
        if padded and 10 ** max(widths) - 1 - round_above(last) < n and _roomy(runs, n):
            return cls(runs, None, 0, None, True)  # numbers of this width are used up, but others have room
        return cls(runs, counter, last, max(widths) if padded else None, True)

    @property
    def n_forms(self) -> int:
        """Choices of the first segment with several: the deck of a cabin, the series of a part."""
        return len(self.runs[self._leading].choices) if self._leading is not None else 1

    @property
    def _leading(self) -> int | None:
        """The first segment with several choices."""
        return next((place for place, run in enumerate(self.runs) if len(run.choices) > 1), None)

    def form_of(self, text: str) -> int:
        """The choice made in a text, or the most common one."""
        if self._leading is None:
            return 0
        run, stretches = self.runs[self._leading], split_text(text)
        if len(stretches) == len(self.runs) and stretches[self._leading] in run.choices:
            return run.choices.index(stretches[self._leading])
        return int(np.argmax(run.shares))

    def fits(self, text: str) -> bool:
        """Whether a text has the pattern, with any number."""
        stretches = split_text(text)
        if len(stretches) != len(self.runs):
            return False
        for run, own in zip(self.runs, stretches, strict=True):
            low, high = run.lengths
            free = set(own) <= set(run.alphabet) and low <= len(own) <= high
            if own not in run.choices if run.choices else not free:
                return False
        return True

    @property
    def room(self) -> int:
        """How many larger numbers have as many digits; practically unlimited if there is no number."""
        if self.counter is None:
            return 2**60
        return int(10 ** (self.width or len(str(self.last))) - 1 - self.last)

    def rounded(self) -> Pattern:
        """The pattern, but continuing from a round number instead of the largest one seen."""
        return self if self.counter is None else replace(self, last=round_above(self.last))

    def write(self, rows: RowNumbers, rng: np.random.Generator, forms: NDArray[np.int64] | None = None) -> list[str]:
        """Write one text per row, all distinct, even from those of rows written elsewhere."""
        n = len(rows)
        letters = [self._letters(run, n, rng) for run in self.runs]
        lengths = [self._lengths(run, n, rng) for run in self.runs]
        again = np.zeros(n, dtype=np.int64)
        if self.counter is None:
            again = self._number_letters(letters, lengths, rows)
        columns = []
        for place, run in enumerate(self.runs):
            if place == self.counter:
                columns.append([str(self.last + 1 + int(i)).zfill(self.width or 0) for i in rows.numbers])
            elif run.choices and forms is not None and place == self._leading:
                columns.append([run.choices[i] for i in forms])
            elif run.choices:
                columns.append([run.choices[i] for i in rng.choice(len(run.choices), n, p=np.array(run.shares))])
            else:
                pairs = zip(np.array(list(run.alphabet))[letters[place]], lengths[place], strict=True)
                columns.append(["".join(row[:length]) for row, length in pairs])
        texts = ["".join(parts) for parts in zip(*columns, strict=True)] if columns else [""] * n
        return [text + _numeral(int(k), self._tail) if k else text for text, k in zip(texts, again, strict=True)]

    def _number_letters(
        self, letters: list[NDArray[np.int64]], lengths: list[NDArray[np.int64]], rows: RowNumbers
    ) -> NDArray[np.int64]:
        """Encode scattered row numbers in the letters of each text; return how often all combinations were used up."""
        size, carriers = 1, []
        for place, run in enumerate(self.runs):
            least = run.lengths[0] if self.spare else run.lengths[1] + 1
            for k in range(least if run.alphabet else 0):
                if size * len(run.alphabet) <= MAX_CARRIED:
                    size *= len(run.alphabet)
                    carriers.append((place, k))
        code = rows.scattered(size)
        for place, k in carriers:
            code, letters[place][:, k] = np.divmod(code, len(self.runs[place].alphabet))
        again = rows.numbers // size
        # Texts that would repeat become longer than all others.
        lengths[:] = [np.where(again > 0, all_.shape[1], own) for all_, own in zip(letters, lengths, strict=True)]
        return again

    def _letters(self, run: Run, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Random positions in the alphabet, enough for the longest text (n, maximum length)."""
        return rng.integers(max(len(run.alphabet), 1), size=(n, run.lengths[1] + (not self.spare)))

    def _lengths(self, run: Run, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        low, high = run.lengths
        return rng.integers(low, high + 1, n) if self.spare else np.full(n, high + 1)

    @property
    def _tail(self) -> str:
        """Characters that extend a text that would repeat."""
        return next((run.alphabet for run in reversed(self.runs) if run.alphabet), string.digits)

    @property
    def example(self) -> str:
        """One text of the pattern."""
        return self.write(RowNumbers.first(1), np.random.default_rng(0))[0]

    @property
    def longest(self) -> int:
        """Characters of the longest text, ignoring its running number."""
        return max([self.width or 0, *(length for run in self.runs for length in run.lengths)])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        runs = [[list(r.choices), list(r.shares), r.alphabet, list(r.lengths)] for r in self.runs]
        return {"runs": runs, **{name: getattr(self, name) for name in ("counter", "last", "width", "spare")}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        runs = tuple(Run(tuple(c), tuple(s), a, (low, high)) for c, s, a, (low, high) in data["runs"])
        lengths = [data["width"] or 0, *(length for run in runs for length in run.lengths)]
        if not all(type(length) is int and length >= 0 for length in lengths):
            raise ValueError("the lengths of a pattern must be whole numbers from 0")
        return cls(**{**data, "runs": runs})


def split_text(text: str) -> list[str]:
    """Segments of digits, of letters, and single signs."""
    return re.findall(r"[0-9]+|[^\W\d_]+|[\W_]", text)


def _numeral(number: int, alphabet: str) -> str:
    """A number, counting from 1, in the letters of an alphabet; no two numbers look alike."""
    text = ""
    while number:
        number, place = divmod(number - 1, len(alphabet))
        text = alphabet[place] + text
    return text


def round_above(number: int) -> int:
    """The next larger number with two digits followed by zeros, or a multiple of ten; it reveals only the magnitude."""
    step: int = 10 ** max(len(str(abs(number))) - 2, 1)
    return (number // step + 1) * step


def _sort(stretch: str) -> str:
    """The kind of a segment: digits, letters, or the sign itself."""
    return "0" if stretch[0] in string.digits else "a" if stretch.isalpha() else stretch


def _run(texts: tuple[str, ...], floor: int) -> Run:
    counts = Counter(texts)
    kept = {text: count for text, count in counts.items() if count >= floor}
    n_kept = sum(kept.values())
    if len(counts) == 1 or (len(kept) <= MAX_CHOICES and n_kept >= NEARLY_ALL * len(texts)):
        choices = tuple(
            sorted(kept or counts)
        )  # choices that few texts have are not written, and no new ones are made up
        return Run(choices, tuple(counts[choice] / (n_kept or len(texts)) for choice in choices))
    lengths = [len(text) for text in counts]
    return Run(alphabet=_alphabet("".join(counts)), lengths=(min(lengths), max(lengths)))


def _alphabet(characters: str) -> str:
    """The simplest alphabet that contains all characters."""
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
