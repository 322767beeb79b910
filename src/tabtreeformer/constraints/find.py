"""Finds relations that hold in every row, and are too many coincidences to be chance.

A relation has to be tested by enough rows; it must be one that shuffled columns would break; and what follows from
others is not listed again.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..schema import LABELLED, MEASURED, NUMERIC, Column, Schema
from ..tables.frames import take_in
from .parse import comparable
from .plain import Name, Plain
from .rules import AtLeast, Lookup, Product, Rule, Sum, tolerance
from .ruleset import in_order

ENOUGH_ROWS = 50
"""Rows that a relation has to hold in."""
SHUFFLED = 0.8
"""One column is found to be never below another only if in shuffled rows it would be, this often at the most."""
NEAR = 0.05
"""… and only if the two come near each other: within this share of their standard deviations."""
MANY_VALUES, SOME_VALUES = 10, 3
"""A total has at least so many different values, its parts so many."""
EVIDENCE = 30.0
"""Nats against chance that a function needs."""
REPEATS = 3
"""Rows that each value of a function's source has on average."""
MOST_VALUES = 1000
"""Values of a function's source at most."""
MOST_ROWS = 20_000
"""Rows that are searched."""
PROBES = 200
"""Rows that candidates are tried on first."""


def find_constraints(df: Any, schema: Schema | None = None) -> tuple[str, ...]:
    """Relations that hold in every row of a table, of pandas, polars or pyarrow, in their readable form.

    Large tables are searched in some of their rows; what is found there is then checked in all of them.
    """
    df, _ = take_in(df)
    schema = schema or Schema.infer(df)
    frame = schema.validate(df)
    names = [c.name for c in schema.columns if c.kind in (*MEASURED, *LABELLED)]
    if len(frame) < ENOUGH_ROWS or len(names) < 2:
        return ()
    searched = replace(schema, columns=tuple(schema.column(name) for name in names))
    some = np.unique(np.linspace(0, len(frame) - 1, min(len(frame), MOST_ROWS)).astype(np.int64))
    rules = _found(Plain.read(frame.iloc[some], searched), searched)
    if len(some) < len(frame):
        rules = [r for r in rules if not r.broken(Plain.read(frame, schema, {r.writes, *r.reads})).any()]
    return tuple(rule.text for rule in rules)


def _found(plain: Plain, schema: Schema) -> list[Rule]:
    """Relations that hold in every row, and can all be kept at once."""
    totals = _totals(plain, schema)
    lookups = _lookups(plain, schema, {rule.writes for rule in totals})
    orders = _orders(plain, schema, totals)
    rules: list[Rule] = []
    for rule in (*totals, *lookups, *orders):
        if not in_order([*rules, rule])[1]:
            rules.append(rule)
    return rules


# ---- one column never below another


def _orders(plain: Plain, schema: Schema, totals: list[Rule]) -> list[Rule]:
    columns = [c for c in schema.columns if c.kind in MEASURED]
    numbers = {c.name: plain.floats(c.name) for c in columns}
    probe = _probe_rows(len(next(iter(plain.values.values()))))
    probes = {name: values[probe] for name, values in numbers.items()}
    follows = {(rule.writes, part) for rule in totals for part in rule.reads}
    found: set[tuple[Name, Name]] = set()
    for left, right in permutations(columns, 2):
        pair = left.name, right.name
        if pair in follows or pair[::-1] in follows or not comparable(left, right):
            continue
        with np.errstate(invalid="ignore"):
            if (probes[pair[0]] < probes[pair[1]]).any():
                continue
        if _is_order(numbers[pair[0]], numbers[pair[1]]):
            found.add(pair)
    # What follows from two others is not listed: a >= c where a >= b and b >= c.
    names = {name for pair in found for name in pair}
    return [
        AtLeast(a, c)
        for a, c in sorted(found, key=lambda pair: [schema.names.index(name) for name in pair])
        if not any((a, b) in found and (b, c) in found for b in names)
    ]


def _is_order(greater: NDArray[np.float64], lesser: NDArray[np.float64]) -> bool:
    there = ~(np.isnan(greater) | np.isnan(lesser))
    greater, lesser = greater[there], lesser[there]
    if len(greater) < ENOUGH_ROWS or (greater < lesser).any() or (greater == lesser).all():
        return False
    gap = greater - lesser
    if gap.min() > NEAR * min(greater.std(), lesser.std()):
        return False
    below = np.searchsorted(np.sort(lesser), greater, side="right") / len(lesser)
    return bool(below.mean() <= SHUFFLED)


# ---- totals


def _totals(plain: Plain, schema: Schema) -> list[Rule]:
    """Columns that are the sum or the product of two others, or the same as another."""
    columns = [c for c in schema.columns if c.kind == NUMERIC]
    numbers = [plain.floats(c.name) for c in columns]
    distinct = [len(np.unique(values[~np.isnan(values)])) for values in numbers]
    useful = [i for i, count in enumerate(distinct) if count >= SOME_VALUES]
    if len(useful) < 2:
        return []
    matrix = np.stack([numbers[i] for i in useful])  # (M, N)
    margins = [_decimals(numbers[i]) for i in useful]
    found: list[Rule] = []
    taken: set[int] = set()
    for t, place in enumerate(useful):
        if distinct[place] < MANY_VALUES:
            continue
        rule = _explain(t, matrix, margins[t], taken, [columns[i] for i in useful])
        if rule is not None:
            found.append(rule)
            taken.add(t)
    return found


def _explain(
    t: int, matrix: NDArray[np.float64], decimals: int | None, taken: set[int], columns: list[Column]
) -> Rule | None:
    """The columns of which column t is the sum or product; none that was itself explained before."""
    rows = _probe_rows(matrix.shape[1])
    rows = rows[~np.isnan(matrix[t, rows])]
    if not len(rows):
        return None
    free = np.array([i not in taken and i != t for i in range(len(matrix))])
    start = rows[int(np.argmax((~np.isnan(matrix[:, rows])).sum(0)))]
    goal, column = matrix[t, start], matrix[:, start]
    margin = tolerance(np.array(goal), decimals)
    with np.errstate(invalid="ignore"):
        pairs = {
            "+": np.argwhere(np.triu(np.abs(column[:, None] + column - goal) <= margin, 1)),
            "*": np.argwhere(np.triu(np.abs(column[:, None] * column - goal) <= margin, 1)),
        }
    for mark, candidates in pairs.items():
        for i, j in candidates:
            if not (free[i] and free[j]):
                continue
            value = matrix[i] + matrix[j] if mark == "+" else matrix[i] * matrix[j]
            if _equal(matrix[t], value, decimals, rows) and _moves(matrix[i], matrix[j], mark):
                names = columns[i].name, columns[j].name
                if mark == "+":
                    return Sum(columns[t].name, ((1, names[0]), (1, names[1])))
                return Product(columns[t].name, names)
    for i in np.flatnonzero(free[:t]):
        if _equal(matrix[t], matrix[i], None, rows):
            return Sum(columns[t].name, ((1, columns[i].name),))
    return None


def _equal(
    total: NDArray[np.float64], value: NDArray[np.float64], decimals: int | None, probe: NDArray[np.int64]
) -> bool:
    """Whether two columns agree wherever both are there, in enough rows."""
    for rows in (probe, np.arange(len(total))):
        there = rows[~(np.isnan(total[rows]) | np.isnan(value[rows]))]
        if (np.abs(total[there] - value[there]) > tolerance(total[there], decimals)).any():
            return False
    return len(there) >= ENOUGH_ROWS


def _moves(left: NDArray[np.float64], right: NDArray[np.float64], mark: str) -> bool:
    """Whether both parts matter: a part that is nearly always 0, or a factor that is nearly always 1, does not."""
    idle = 0.0 if mark == "+" else 1.0
    return all(np.mean(part[~np.isnan(part)] != idle) > 0.1 for part in (left, right))


def _decimals(values: NDArray[np.float64]) -> int | None:
    there = values[~np.isnan(values)]
    with np.errstate(over="ignore", invalid="ignore"):
        return next((d for d in range(7) if np.array_equal(np.round(there, d), there)), None)


# ---- functions


def _lookups(plain: Plain, schema: Schema, taken: set[Name]) -> list[Rule]:
    """Columns that are a function of another, each of the one that has the fewest values."""
    codes: dict[Name, NDArray[np.int64]] = {}
    for column in schema.columns:
        if column.kind in LABELLED or (column.kind == NUMERIC and column.whole):
            own = pd.factorize(plain.labels(column.name), use_na_sentinel=False)[0].astype(np.int64)
            if 2 <= own.max() + 1 <= min(MOST_VALUES, len(own) // REPEATS):
                codes[column.name] = own
    found: list[Rule] = []
    for target, own in codes.items():
        kind = schema.column(target).kind
        if target in taken:
            continue
        by_size = sorted(codes, key=lambda name: int(codes[name].max()))
        allowed = [n for n in by_size if n != target and (schema.column(n).kind in LABELLED or kind == NUMERIC)]
        sources = [name for name in allowed if _is_function(codes[name], own)]
        source = next((name for name in sources if not _reaches(found, name, target)), None)
        if source is not None:
            found.append(Lookup(target, source))
    return found


def _reaches(found: list[Rule], start: Name, end: Name) -> bool:
    """Whether `start` is already a function of `end`, directly or by way of others."""
    while True:
        rule = next((rule for rule in found if rule.writes == start), None)
        if rule is None:
            return False
        start = rule.reads[0]
        if start == end:
            return True


def _is_function(source: NDArray[np.int64], target: NDArray[np.int64]) -> bool:
    n_source = int(source.max()) + 1
    first = np.zeros(n_source, dtype=np.int64)
    first[source[::-1]] = target[::-1]
    if (target != first[source]).any():
        return False
    shares = np.bincount(target) / len(target)
    # By chance a further row of a source value agrees with the first as often as the target has its value at all.
    # Rows of the commonest value prove nothing: where there are hardly any others, most sources have no other.
    further = np.bincount(source, minlength=n_source) - 1
    nats = np.where(first == shares.argmax(), 0.0, -further * np.log(shares[first]))
    return bool(nats.sum() >= EVIDENCE)


def _probe_rows(n_rows: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, n_rows - 1, min(PROBES, n_rows)).astype(np.int64))
