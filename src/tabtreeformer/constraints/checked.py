"""Relations that were found in some rows of a table, checked in all of them, part by part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import SchemaError
from ..schema import Schema
from .plain import Plain
from .rules import Lookup, Rule
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
        """Those that hold so far."""
        return RuleSet(tuple(self._rules))

    def see(self, part: pd.DataFrame, first_row: int) -> None:
        """Check a part of the table."""
        plain = Plain.read(part, self._schema, {name for rule in self._rules for name in (rule.writes, *rule.reads)})
        kept: list[Rule] = []
        for rule in self._rules:
            broken = _differs(rule, plain) if isinstance(rule, Lookup) else rule.broken(plain)
            if not broken.any():
                kept.append(rule)
            elif self._drop:
                self.dropped.append(rule.text)
            else:
                raise SchemaError(
                    f"constraint {rule.text!r} does not hold in the table: row {first_row + int(np.argmax(broken)):,} "
                    f"breaks it; drop the constraint or clean the rows"
                )
        self._rules = kept


def _differs(rule: Lookup, plain: Plain) -> NDArray[np.bool_]:
    """Rows whose target is not that of their source; sources that the rule does not list are free."""
    sources, targets = plain.labels(rule.source), plain.labels(rule.target)
    known: dict[Any, Any] = dict(rule.pairs)
    pairs = zip(sources, targets, strict=True)
    return np.array([source in known and known[source] != target for source, target in pairs], dtype=bool)
