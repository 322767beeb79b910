"""What an audit finds, shown without the private values unless they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

EXAMPLES = 3

MEANING = {
    "unknown": "is in the file and has no documented origin",
    "hidden": "lies outside the members of the file",
    "rare value": "is a value that too few training rows have",
    "rare text": "holds a text that too few training rows have",
    "midpoint": "lies half way between two neighbouring values of which one is rare, and so gives away either from the "
    "other",
    "range": "is the end of a range beyond which too few training rows lie",
    "support": "represents too few training rows",
    "leaf": "is a leaf that too few training rows reach, so that the way to it describes them",
    "share": "is a count of training rows of a leaf that is too small: it describes these few",
    "prompt": "is a prompt whose leaves, left unmasked, fit too few training rows",
    "mask": "is a prompt of which less than half is masked",
}
"""Kinds of findings, as the end of a sentence."""


@dataclass(frozen=True)
class Finding:
    """Something in a member that should not be there."""

    kind: str
    member: str
    path: str
    """Where: the general path, with [*] for any place of a list."""
    column: str | int | None = None
    count: int = 1
    """How many such values there are."""
    values: tuple[Any, ...] = ()
    """A few of them. They are private: shown only on demand."""

    def sentence(self, show: bool = False) -> str:
        """One line for people."""
        column = "" if self.column is None else f", column {self.column!r}"
        shown = f": {', '.join(map(repr, self.values))}" if show and self.values else ""
        what = f"{self.count:,} × " if self.count > 1 else ""
        return f"{self.member} {self.path}{column}: {what}{MEANING[self.kind]}{shown}"

    def to_json(self, show: bool = False) -> dict[str, Any]:
        """Plain data."""
        plain = {name: getattr(self, name) for name in ("kind", "member", "path", "column", "count")}
        return plain | ({"values": [str(value) for value in self.values]} if show else {})


def gathered(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Join findings of one kind at one place in one column."""
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.kind, finding.member, finding.path, finding.column), []).append(finding)
    for (kind, member, path, column), group in groups.items():
        values = [value for finding in group for value in finding.values]
        yield Finding(kind, member, path, column, sum(f.count for f in group), tuple(values[:EXAMPLES]))
