"""Conditions on values: the small language of `sample(n, given=…)`.

{"sex": "Female"}                  equal
{"age": (30, 40)}                  between, for numbers, times and durations
{"state": ["CA", "NY"]}            one of
{"age": ge(40), "note": missing()} and so on: eq, ne, lt, le, gt, ge, between, isin, missing, present
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..errors import ConfigError

Given = Any
"""A condition, or a plain value that means one."""


@dataclass(frozen=True, repr=False)
class Condition:
    """An operator and its operands."""

    operator: str
    operands: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        operands = (list(self.operands),) if self.operator == "isin" else self.operands
        shown = ", ".join(repr(operand) for operand in operands)
        return f"{self.operator}({shown})"


def eq(value: Any) -> Condition:
    """Equal to the value.

    Parameters
    ----------
    value
        A value of the column, as the table has it.

    Examples
    --------
    >>> len(model.sample(9, given={"job": eq("cook")}))
    9
    """
    return Condition("eq", (value,))


def ne(value: Any) -> Condition:
    """Anything but the value, and not missing.

    Parameters
    ----------
    value
        A value of the column, as the table has it.

    Examples
    --------
    >>> len(model.sample(9, given={"job": ne("cook")}))
    9
    """
    return Condition("ne", (value,))


def lt(value: Any) -> Condition:
    """Less than the value.

    Parameters
    ----------
    value
        A value of the column, as the table has it.

    Examples
    --------
    >>> len(model.sample(9, given={"age": lt(40)}))
    9
    """
    return Condition("lt", (value,))


def le(value: Any) -> Condition:
    """At most the value.

    Parameters
    ----------
    value
        A value of the column, as the table has it.

    Examples
    --------
    >>> len(model.sample(9, given={"age": le(40)}))
    9
    """
    return Condition("le", (value,))


def gt(value: Any) -> Condition:
    """More than the value.

    Parameters
    ----------
    value
        A value of the column, as the table has it.

    Examples
    --------
    >>> len(model.sample(9, given={"age": gt(40)}))
    9
    """
    return Condition("gt", (value,))


def ge(value: Any) -> Condition:
    """At least the value.

    Parameters
    ----------
    value
        A value of the column, as the table has it.

    Examples
    --------
    >>> len(model.sample(9, given={"age": ge(40)}))
    9
    """
    return Condition("ge", (value,))


def between(low: Any, high: Any) -> Condition:
    """From low to high, both included.

    Parameters
    ----------
    low, high
        Values of the column.

    Examples
    --------
    >>> len(model.sample(9, given={"age": between(30, 40)}))
    9
    """
    return Condition("between", (low, high))


def isin(values: Iterable[Any]) -> Condition:
    """One of the values.

    Parameters
    ----------
    values
        Values of the column, at least one.

    Examples
    --------
    >>> len(model.sample(9, given={"job": isin(["cook", "nurse"])}))
    9
    """
    chosen = tuple(values)
    if not chosen:
        raise ConfigError("isin() needs at least one value")
    return Condition("isin", chosen)


def missing() -> Condition:
    """No value.

    >>> str(missing())
    'missing()'
    """
    return Condition("missing")


def present() -> Condition:
    """Any value that is not missing.

    >>> len(model.sample(9, given={"job": present()}))
    9
    """
    return Condition("present")


def as_condition(value: Given, *, measured: bool) -> Condition:
    """Read a plain value: a pair is a range if values are `measured`, a list or set is a choice, None is no value."""
    if isinstance(value, Condition):
        return value
    if isinstance(value, tuple) and measured:
        if len(value) != 2:
            raise ConfigError(f"a range is a pair (low, high), got {value!r}; for a choice of values use a list")
        return between(*value)
    if isinstance(value, list | set | frozenset | tuple):
        return isin(value)
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return missing()
    return eq(value)
