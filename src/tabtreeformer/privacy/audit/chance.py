"""Decides whether numbers match rare values more often than by chance.

A count of 12,345 rows may equal someone's balance, and an end of an interval, half a step off the column's grid, may be
halfway between two neighbours. Such matches are a finding only if one part of the file has more of them than random
numbers would.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .findings import EXAMPLES, Finding
from .rare import RareValues

ALARM = 0.01
"""Probability of a false alarm over all parts of a file together."""


@dataclass(frozen=True)
class Meeting:
    """The distinct numbers of one part of the file, compared with one column."""

    member: str
    path: str
    column: RareValues
    numbers: Sequence[Any]
    half_way: bool
    """Whether to compare with midpoints of rare values instead of the rare values themselves."""

    def matches(self) -> list[Any]:
        """Numbers that match."""
        found = self.column.is_midpoint if self.half_way else self.column.holds
        return [number for number in self.numbers if found(number)]

    def chances(self) -> list[float]:
        """The probability that each number matches, if it is independent of the rows."""
        chance = self.column.midpoint_chance if self.half_way else self.column.chance
        return [chance(number) for number in self.numbers]


def suspicious(meetings: Iterable[Meeting]) -> tuple[list[Finding], int]:
    """Matches beyond chance as findings, and the number of other matches."""
    held = list(meetings)
    findings, coincidences = [], 0
    for meeting in held:
        matches = meeting.matches()
        if not matches:
            continue
        if at_least(len(matches), meeting.chances()) * len(held) < ALARM:
            kind = "midpoint" if meeting.half_way else "rare value"
            where = meeting.member, meeting.path, meeting.column.name
            findings.append(Finding(kind, *where, len(matches), tuple(matches[:EXAMPLES])))
        else:
            coincidences += len(matches)
    return findings, coincidences


def at_least(n: int, chances: Sequence[float]) -> float:
    """The probability that at least n of several independent events happen."""
    fewer = np.zeros(n)  # the probability of exactly 0, 1, … n - 1 of them
    fewer[:1] = 1.0
    for chance in chances:
        fewer[1:] = fewer[1:] * (1 - chance) + fewer[:-1] * chance
        fewer[:1] *= 1 - chance
    return max(0.0, 1.0 - float(fewer.sum()))
