"""Texts and codes derived from others: copies, prefixes, suffixes, upper or lower case, and concatenations.

country_code = code                            the same label
deck = first 1 of cabin                        a beginning; `last 4 of …` an end
login = lower case of name                     or upper case
full_name = first_name & ' ' & last_name       joined by a separator
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ..data.schema import CATEGORICAL, IDENTIFIER, TEXT, Schema
from ..data.schema.values import LABEL
from ..errors import SchemaError
from .base import Cells, DropsTarget, Frame, Mask, Name
from .search import Candidate, Search
from .sentences import named, quoted, said, unsaid, written

MIN_ROWS = 50
MIN_VALUES = 3
MAX_LETTERS = 12
"""Maximum length of prefixes and suffixes."""
PROBES = 200
BETWEEN = (" ", "", "-", "_", ", ", "/", ".", ":", " - ")
"""Separators of joined texts that are tried."""
_CHANGES: Mapping[str, Callable[[str], str]] = {
    "": lambda text: text,
    "lower case": str.lower,
    "upper case": str.upper,
    "title case": str.title,
}


def _change(name: str) -> Callable[[str], str]:
    """The function for a change such as `first 3`."""
    if name in _CHANGES:
        return _CHANGES[name]
    found = re.fullmatch(r"(first|last) ([1-9]\d?)", name)
    if found is None:
        raise ValueError(f"unknown change {name!r} of a text")
    count = int(found[2])
    return (lambda text: text[:count]) if found[1] == "first" else (lambda text: text[-count:])


@dataclass(frozen=True, kw_only=True)
class Copy(DropsTarget):
    """A text that is made from others."""

    form: ClassVar[str] = "copy"
    target: Name
    sources: tuple[Name, ...]
    change: str = ""
    """With a single source: empty, `first 3`, `last 2`, `lower case` or `upper case`."""
    between: str = ""
    """Separator of several sources."""
    near: bool = False
    support: int = 0
    exceptions: int = 0

    @property
    def text(self) -> str:
        """The sentence."""
        if len(self.sources) > 1:
            glue = f" & {written(self.between)} & " if self.between else " & "
            return said(f"{quoted(self.target)} = {glue.join(quoted(n) for n in self.sources)}", near=self.near)
        words = f"{self.change} of " if self.change else ""
        return said(f"{quoted(self.target)} = {words}{quoted(self.sources[0])}", near=self.near)

    @property
    def reads(self) -> tuple[Name, ...]:
        """The sources."""
        return self.sources

    def made(self, frame: Frame) -> tuple[Any, Mask]:
        """The texts made from the sources, and where they are missing."""
        gaps = ~frame.present(*self.sources)
        parts = [frame.labels(name).tolist() for name in self.sources]
        own = np.empty(frame.n_rows, dtype=object)
        if len(parts) == 1 and not self.change:
            own[:] = parts[0]
            return own, gaps
        change = _change(self.change)
        own[:] = [
            None if None in texts else change(self.between.join(map(str, texts))) for texts in zip(*parts, strict=True)
        ]
        return own, gaps

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Rows without missing values, and those whose target is the text made from the sources."""
        own, gaps = self.made(frame)
        applies = ~gaps & frame.present(self.target)
        return applies, applies & np.asarray(own == frame.labels(self.target), dtype=bool)

    def learn(self, frame: Frame, floor: int) -> Copy:
        """Count the rows that keep it."""
        law = self.counted(frame)
        return replace(law, near=law.near or law.exceptions > 0)

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Make the text from its sources; it becomes missing if a category dtype does not list it."""
        own, gaps = self.made(frame)
        listed = schema.column(self.target).categories
        if listed is not None:
            gaps = gaps | ~np.isin(own, np.array(listed, dtype=object))
        return frame.changed(schema, {self.target: Cells(own, gaps)})

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "form"}
        return {**own, "sources": list(self.sources)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Copy:
        """Inverse of `to_json`."""
        _change(data["change"])
        return cls(**{**data, "sources": tuple(data["sources"])})


# ---- finding


def find(search: Search) -> Sequence[Candidate]:
    """Texts that are made from one or two others in every row."""
    frame = search.frame
    names = [c.name for c in frame.schema.columns if c.sort == LABEL and c.kind in (CATEGORICAL, TEXT, IDENTIFIER)]
    labels = {name: frame.labels(name) for name in names}
    texts = [n for n in names if _are_texts(labels[n])]
    found: list[Candidate] = []
    for target in texts:
        if frame.schema.column(target).kind == IDENTIFIER:
            continue
        law = next(_laws(target, texts, labels, frame), None)
        if law is not None:
            codes = pd.factorize(labels[target])[0]
            counts = np.bincount(codes[codes >= 0])
            shares = counts / counts.sum()
            # If either can be made from the other, the shorter one is computed.
            found.append(Candidate(law, 2.0 + float(-(shares * np.log2(shares)).sum()), exact=True, share=1.0))
    return found


def _are_texts(labels: Any) -> bool:
    there = [label for label in labels[:PROBES].tolist() if label is not None]
    return bool(there) and all(isinstance(label, str) for label in there)


def _laws(target: Name, names: Sequence[Name], labels: Mapping[Name, Any], frame: Frame) -> Iterator[Copy]:
    """Laws for a target that hold in every row, and not only because of its most common value."""
    gaps = frame.gaps(target)
    sources = [n for n in names if n != target and bool((frame.gaps(n) == gaps).all())]
    for law in (*_single(target, sources, labels), *_joined(target, sources, labels)):
        applies, kept = law.holds(frame)
        if applies.sum() >= MIN_ROWS and bool(kept[applies].all()):
            distinct, counts = np.unique(labels[target][applies].astype(str), return_counts=True)
            if len(distinct) >= MIN_VALUES and counts.sum() - counts.max() >= MIN_ROWS // 2:
                yield law


def _single(target: Name, sources: Sequence[Name], labels: Mapping[Name, Any]) -> Iterator[Copy]:
    own = [label for label in labels[target][:PROBES].tolist() if label is not None]
    lengths = {len(label) for label in own}
    length = lengths.pop() if len(lengths) == 1 else 0
    ends = (f"first {length}", f"last {length}") if 0 < length <= MAX_LETTERS else ()
    for source in sources:
        others = [label for label in labels[source][:PROBES].tolist() if label is not None]
        for change in (*_CHANGES, *ends):
            make = _change(change)
            if all(isinstance(b, str) and make(b) == a for a, b in zip(own, others, strict=False)):
                yield Copy(target=target, sources=(source,), change=change)


def _joined(target: Name, sources: Sequence[Name], labels: Mapping[Name, Any]) -> Iterator[Copy]:
    first = next((i for i, label in enumerate(labels[target].tolist()) if label is not None), None)
    if first is None:
        return
    own = labels[target][first]
    for a in sources:
        if not isinstance(labels[a][first], str) or not own.startswith(labels[a][first]):
            continue
        for b in sources:
            for between in BETWEEN:
                if a != b and own == f"{labels[a][first]}{between}{labels[b][first]}":
                    yield Copy(target=target, sources=(a, b), between=between)


# ---- sentences

_OF = re.compile(r"(.+?) = (?:(first \d+|last \d+|lower case|upper case|title case) of )?(`[^`]*`|[^\W\d]\w*)")
_JOINED = re.compile(r"(.+?) = (.+ & .+)")


def parse(text: str, schema: Schema) -> Copy | None:
    """Read `deck = first 1 of cabin`, `code = other_code` or `name = first & ' ' & last`."""
    words, near = unsaid(text.strip())
    found = _JOINED.fullmatch(words)
    if found is not None:
        parts = re.findall(r"'((?:[^']|'')*)'|`([^`]*)`|([^\W\d]\w*)", found[2])
        between = [quote.replace("''", "'") for quote, a, b in parts if not (a or b)]
        names = tuple(named(a or b, text, schema) for _, a, b in parts if a or b)
        target = named(found[1].strip("`"), text, schema)
        return _checked(
            Copy(target=target, sources=names, between=between[0] if between else "", near=near), text, schema
        )
    found = _OF.fullmatch(words)
    if found is None or found[1].strip("`") not in map(str, schema.names):
        return None
    target = named(found[1].strip("`"), text, schema)
    if schema.column(target).sort != LABEL:
        return None
    source = named(found[3].strip("`"), text, schema)
    return _checked(Copy(target=target, sources=(source,), change=found[2] or "", near=near), text, schema)


def _checked(law: Copy, text: str, schema: Schema) -> Copy:
    for name in (law.target, *law.sources):
        if schema.column(name).sort != LABEL:
            raise SchemaError(f"constraint {text!r}: column {name!r} is {schema.column(name).kind}, not text")
    if len({law.target, *law.sources}) <= len(law.sources):
        raise SchemaError(f"constraint {text!r} names a column twice")
    return law
