"""Relations that were found in some rows of a table, checked in all of them, part by part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..errors import SchemaError
from ..schema import Schema
from .plain import Plain
from .rules import AtLeast, Lookup, Rule
from .ruleset import RuleSet


class Checked:
    """Relations and what further rows say of them."""

    def __init__(self, rules: RuleSet, schema: Schema, *, drop: bool) -> None:
        """Take relations as learned; where `drop`, one that some row breaks is left out, else it is an error."""
        self._rules: list[Rule] = list(rules.rules)
        self._schema, self._drop = schema, drop
        self.dropped: list[str] = []

    @property
    def rules(self) -> RuleSet:
        """Those that hold so far, with what was learned from all rows."""
        return RuleSet(tuple(self._rules))

    def see(self, part: pd.DataFrame, first_row: int) -> None:
        """Check a part of the table."""
        plain = Plain.read(part, self._schema, {name for rule in self._rules for name in (rule.writes, *rule.reads)})
        kept: list[Rule] = []
        for rule in self._rules:
            wider, broken = _lookup(rule, plain) if isinstance(rule, Lookup) else (rule, rule.broken(plain))
            if not broken.any():
                kept.append(_wider(wider, plain) if isinstance(wider, AtLeast) else wider)
            elif self._drop:
                self.dropped.append(rule.text)
            else:
                raise SchemaError(
                    f"constraint {rule.text!r} does not hold in the table: row {first_row + int(np.argmax(broken)):,} "
                    f"breaks it; drop the constraint or clean the rows"
                )
        self._rules = kept


def _wider(rule: AtLeast, plain: Plain) -> AtLeast:
    """The rule with the smallest and largest distance of the part too."""
    low, high = rule.reach(plain)
    return replace(rule, gaps=(min(low, rule.gaps[0]), *rule.gaps[1:-1], max(high, rule.gaps[-1])))


def _lookup(rule: Lookup, plain: Plain) -> tuple[Lookup, Any]:
    """The function with the sources that only the part has, and the rows of the part that break it."""
    sources, targets = plain.labels(rule.source), plain.labels(rule.target)
    known: dict[Any, Any] = dict(rule.pairs)
    codes, distinct = pd.factorize(sources, use_na_sentinel=False)
    first = np.unique(codes, return_index=True)[1]
    wanted = np.empty(len(distinct), dtype=object)
    for code, row in enumerate(first):
        wanted[code] = known.setdefault(sources[row], targets[row])
    broken = np.array([goal != target for goal, target in zip(wanted[codes], targets, strict=True)], dtype=bool)
    return replace(rule, pairs=tuple(known.items())), broken
