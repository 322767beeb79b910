"""Several relations at once: checked against the table, ordered so that none undoes another, and enforced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data.schema import Schema
from .parse import parse
from .plain_columns import Bounds, Name, Plain
from .rules import AtLeast, Rule


@dataclass(frozen=True)
class RuleSet:
    """Relations in the order in which they are enforced."""

    rules: tuple[Rule, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The relations in their readable form."""
        return tuple(rule.text for rule in self.rules)

    def keep(self, plain: Plain, bounds: Mapping[Name, Bounds], rng: np.random.Generator) -> None:
        """Change rows so that they satisfy every relation."""
        for rule in self.rules:
            rule.keep(plain, bounds, rng)
        # A column with several lower bounds may have been moved below one by another: now move it only up, past all.
        for rule in self.rules:
            if isinstance(rule, AtLeast):
                rows = np.flatnonzero(rule.broken(plain))
                if len(rows):
                    moved, fixed = (rule.greater, rule.lesser) if rule.moves_greater else (rule.lesser, rule.greater)
                    goal = bounds[moved].settle(plain.values[fixed][rows], up=rule.moves_greater)
                    plain.values[moved][rows] = goal
            else:
                rule.keep(plain, bounds, rng)

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data."""
        return [{"rule": rule.text, **rule.state()} for rule in self.rules]

    @classmethod
    def from_json(cls, data: Iterable[Mapping[str, Any]], schema: Schema) -> RuleSet:
        """Inverse of `to_json`."""
        return cls(tuple(parse(entry["rule"], schema).with_state(entry) for entry in data))


def in_order(rules: Sequence[Rule]) -> tuple[list[Rule], list[Rule]]:
    """Relations ordered so that each follows those that write what it reads, and relations that cannot be ordered.

    A column written by a sum or a function is changed by nothing else: a lower bound on it moves the other column.
    """
    owned: dict[Name, Rule] = {}
    left: list[Rule] = []
    for writer in (r for r in rules if not isinstance(r, AtLeast)):
        if writer.writes in owned:
            left.append(writer)
        owned.setdefault(writer.writes, writer)
    wanted: list[Rule] = [rule for rule in rules if rule in owned.values()]
    for rule in rules:
        if isinstance(rule, AtLeast):
            if rule.greater in owned and rule.lesser in owned:
                left.append(rule)
            else:
                wanted.append(replace(rule, moves_greater=rule.greater not in owned))
    ordered: list[Rule] = []
    while wanted:
        free = [rule for rule in wanted if not any(other.writes in rule.reads for other in wanted if other != rule)]
        if not free:
            return ordered, left + wanted
        ordered += free
        wanted = [rule for rule in wanted if rule not in free]
    return ordered, left
