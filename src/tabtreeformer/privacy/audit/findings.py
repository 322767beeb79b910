"""The findings of an audit; private values are shown only on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

EXAMPLES = 3

MEANING = {
    "unknown": "is in the file and has no documented origin",
    "hidden": "is outside the members of the file",
    "rare value": "is a value that too few training rows have",
    "rare text": "holds a text that too few training rows have",
    "midpoint": "is halfway between two neighbouring values, one of them rare, so that either reveals the other",
    "range": "is the end of a range with too few training rows beyond it",
    "support": "represents too few training rows",
    "leaf": "is a leaf with too few training rows, so that its path describes them",
    "share": "is a count of too few training rows in a leaf, so that it describes them",
    "prompt": "is a prompt whose visible leaves match too few training rows",
    "mask": "is a prompt with less than half of its leaves masked",
}
"""Kinds of findings, as predicates of a sentence."""


@dataclass(frozen=True)
class Finding:
    """Something in a member that should not be in the file."""

    kind: str
    member: str
    path: str
    """The general path, with [*] for any index of a list."""
    column: str | int | None = None
    count: int = 1
    """Number of such values."""
    values: tuple[Any, ...] = ()
    """Some of them; private, shown only on request."""

    def sentence(self, show: bool = False) -> str:
        """One line of text."""
        column = "" if self.column is None else f", column {self.column!r}"
        shown = f": {', '.join(map(repr, self.values))}" if show and self.values else ""
        what = f"{self.count:,} × " if self.count > 1 else ""
        return f"{self.member} {self.path}{column}: {what}{MEANING[self.kind]}{shown}"

    def to_json(self, show: bool = False) -> dict[str, Any]:
        """Plain data."""
        plain = {name: getattr(self, name) for name in ("kind", "member", "path", "column", "count")}
        return plain | ({"values": [str(value) for value in self.values]} if show else {})


def gathered(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Merge findings of the same kind, path and column."""
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.kind, finding.member, finding.path, finding.column), []).append(finding)
    for (kind, member, path, column), group in groups.items():
        values = [value for finding in group for value in finding.values]
        yield Finding(kind, member, path, column, sum(f.count for f in group), tuple(values[:EXAMPLES]))
