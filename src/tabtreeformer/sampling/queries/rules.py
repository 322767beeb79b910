"""The leaves of the trees as readable rules from which rows can be drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...artifact.fitted import Fitted
from ...data.schema import Column
from ...errors import ArchiveError, ConditionError, ConfigError
from ...tokens.conditions import Condition, between, gt, isin, le, missing, present
from ...trees.paths import Path, paths

Name = str | int


@dataclass(frozen=True)
class Rule:
    """One leaf as a rule. Rows that meet its conditions are in the leaf; rows with a missing number in it
    may be too.
    """

    tree: int
    leaf: int
    conditions: dict[Name, Condition]
    share: float
    """Share among the stored prompts that show a leaf of this tree; NaN if none does."""
    text: str


def rules(fitted: Fitted) -> list[Rule]:
    """All leaves that a row can reach, tree by tree."""
    if fitted.forest is not None:
        raise ConfigError("preset 'trees' has no rules; sample under conditions instead: sample(n, given=…)")
    if fitted.tree_encoder is None or not fitted.layout.n_trees:
        raise ConfigError("the model has no trees, and so no rules")
    sources = fitted.tree_encoder.sources
    n_codes = {k: s.n_codes + 1 for k, s in enumerate(sources) if s.n_codes is not None}  # and missing
    prompts = np.concatenate([bank.leaf_ids for bank in fitted.prompts])
    found = []
    for tree, leaves in enumerate(_paths(fitted, n_codes)):
        shown = prompts[:, tree][prompts[:, tree] >= 0]
        for leaf, path in enumerate(leaves):
            if not path.possible:  # symmetric trees have unreachable branches
                continue
            conditions, texts = _conditions(fitted, path)
            share = float((shown == leaf).mean()) if len(shown) else math.nan
            found.append(Rule(tree, leaf, conditions, share, " and ".join(texts) or "every row"))
    return found


def _paths(fitted: Fitted, n_codes: dict[int, int]) -> list[list[Path]]:
    """Paths of the leaves of each tree; inconsistent trees are an error of the file."""
    try:
        return [list(leaves) for leaves in paths(fitted.leaf_model, n_codes)]
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ArchiveError(f"the stored trees cannot be read as rules ({error}); fit the model again") from error


def rule_of(fitted: Fitted, leaf: tuple[int, int]) -> Rule:
    """The rule of a tree and a leaf."""
    for rule in rules(fitted):
        if (rule.tree, rule.leaf) == tuple(leaf):
            return rule
    raise ConditionError(f"there is no leaf {leaf!r}; rules() lists tree and leaf of each")


def _conditions(fitted: Fitted, path: Path) -> tuple[dict[Name, Condition], list[str]]:
    assert fitted.tree_encoder is not None
    conditions: dict[Name, Condition] = {}
    texts = []
    for place, source in enumerate(fitted.tree_encoder.sources):
        name = source.column.name
        if source.labels is not None and place in path.codes:
            labels = source.labels.values
            chosen = [label for code, label in enumerate(labels) if code in path.codes[place]]
            if len(chosen) == len(labels):
                conditions[name], text = present(), f"{name} present"
            elif not chosen and source.other in path.codes[place]:
                conditions[name], text = present(), f"{name} rare"  # which are never written, nor distinguished
            else:
                conditions[name] = isin(chosen) if chosen else missing()
                text = f"{name} in {chosen}" if chosen else f"{name} missing"
            texts.append(text)
        elif place in path.above or place in path.upto:
            low, high = (_finite(source, side.get(place)) for side in (path.above, path.upto))
            if low is None and high is None:
                continue
            conditions[name] = _stretch(source.column, low, high)
            texts += [] if low is None else [f"{name} > {_shown(source.column, low)}"]
            texts += [] if high is None else [f"{name} <= {_shown(source.column, high)}"]
    return conditions, texts


def _finite(source: Any, threshold: float | None) -> float | None:
    """The threshold of a split; None if it is infinite."""
    number = None if threshold is None else source.number_at(threshold)
    return number if number is not None and math.isfinite(number) else None


def _stretch(column: Column, low: float | None, high: float | None) -> Condition:
    if low is None:
        return le(_value(column, high or 0.0))
    if high is None:
        return gt(_value(column, low))
    start = math.nextafter(low, math.inf) if column.sort == "number" else math.floor(low) + 1
    return between(_value(column, start), _value(column, high))


def _value(column: Column, threshold: float) -> object:
    """A threshold as a value of the column; times and durations are stored as counts."""
    if column.sort == "number":
        return threshold
    count = np.array([math.floor(threshold)], dtype=np.int64)
    if column.sort == "duration":
        return pd.Timedelta(count.view(f"timedelta64[{column.unit}]")[0])
    return pd.Timestamp(count.view(f"datetime64[{column.unit}]")[0])


def _shown(column: Column, threshold: float) -> str:
    return f"{threshold:.6g}" if column.sort == "number" else str(_value(column, threshold))
