"""What follows from two laws that move the same column: without it, one of them would undo the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from .base import Law, Name
from .gaps import Together
from .implication import Implication
from .order import AtLeast
from .states import Both, State


def following(fresh: Law, chosen: Sequence[Law]) -> list[Law]:
    """Laws that follow from one and the chosen ones, except those that are kept already."""
    return [*_between(fresh, chosen), *_nothing_of_nothing(fresh, chosen)]


def _between(fresh: Law, chosen: Sequence[Law]) -> list[AtLeast]:
    """Orders over a column that is moved from both sides.

    Where a total is at least a part, and a limit at least the total, the limit must be at least the part: otherwise no
    total is right, and the second order would undo the first.
    """
    orders = [law for law in chosen if _always(law)]
    found: dict[tuple[Name, Name], AtLeast] = {}
    for other in orders if _always(fresh) else ():
        if isinstance(fresh, AtLeast) and other.writes == fresh.writes and other.downward != fresh.downward:
            down, up = (fresh, other) if fresh.downward else (other, fresh)
            for low in up.lowers:
                kept = any(law.target == down.target and low in law.lowers for law in orders)
                if low != down.target and not kept:
                    found[down.target, low] = AtLeast(down.target, (low,), downward=True)
    return list(found.values())


def _nothing_of_nothing(fresh: Law, chosen: Sequence[Law]) -> list[Implication]:
    """Parts of a total that is 0: where there is no basement, no part of it has an area."""
    if not _always(fresh) and not isinstance(fresh, Together | Implication):
        return []
    laws = [*chosen, fresh]
    known = [clause for law in laws for clause in _clauses(law)]
    orders = [law for law in laws if _always(law) and not law.downward]
    found: list[Implication] = []
    for then, cause in known if _always(fresh) else _clauses(fresh):
        for order in orders:
            if then == State(order.target, 0) and (order is fresh or not _always(fresh)):
                clauses = [(State(low, 0), cause) for low in order.lowers if low not in cause.names]
                found += [Implication(own[0].name, (own,)) for own in clauses if own not in known]
    return found


def _clauses(law: Law) -> Iterator[tuple[State, State | Both]]:
    """What a law sets to a value, and where."""
    if isinstance(law, Together):
        yield law.member, law.leader
    elif isinstance(law, Implication) and not law.near:
        yield from law.clauses


def _always(law: Law) -> TypeGuard[AtLeast]:
    return isinstance(law, AtLeast) and not law.near and not law.zero
