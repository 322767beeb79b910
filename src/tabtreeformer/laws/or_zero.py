"""Finds laws with additional zeros: `revenue = rate * nights, or 0`, `bonus = 0.1 * salary, or 0`.

Zeros are treated as missing, so that no law applies to them; a law that is found then must hold in all other rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from . import find_identities, find_linear, find_powers, find_product
from .base import Law, Name
from .computed import Computed
from .search import Candidate, Search

MIN_ZEROS, MIN_OTHERS = 0.02, 50
"""Minimum share of rows that are 0, and minimum number of other rows."""
MIN_BESIDE = 0.5
"""Minimum share of zeros that the law itself does not give; otherwise they are just rows in which a part is 0."""


def find(search: Search, exact: Iterable[Law]) -> list[Candidate]:
    """Find laws for columns that no exact law computes."""
    numbers = search.numbers
    known = {name for law in exact for name in law.writes}
    zeros = numbers.matrix == 0
    often = (zeros.mean(0) >= MIN_ZEROS) & ((~np.isnan(numbers.matrix) & ~zeros).sum(0) >= MIN_OTHERS)
    names = {name for name, own in zip(numbers.names, often, strict=True) if own and name not in known}
    if not names:
        return []
    blind = _without_zeros(search, names)
    finders = (find_identities.find, find_product.find, find_powers.find, find_linear.find)
    found: dict[str, Candidate] = {}
    for candidate in (own for finder in finders for own in finder(blind)):
        law = candidate.law
        if isinstance(law, Computed) and law.target in names and candidate.exact:
            law = replace(law, or_zero=True)
            if _holds(law, search):
                found.setdefault(law.text, replace(candidate, law=law))
    return list(found.values())


def _without_zeros(search: Search, names: set[Name]) -> Search:
    """The same search, with the zeros of some columns as missing values."""
    numbers = search.numbers
    own = [numbers.names.index(name) for name in names]
    matrix, distinct = numbers.matrix.copy(), numbers.distinct.copy()
    matrix[:, own] = np.where(matrix[:, own] == 0, np.nan, matrix[:, own])
    distinct[own] -= 1
    blind = replace(search, wanted=frozenset(names))
    blind.__dict__.update(rows=search.rows, numbers=replace(numbers, matrix=matrix, distinct=distinct))
    return blind


def _holds(law: Computed, search: Search) -> bool:
    """Whether all rows keep the law, and its zeros are not just results of the formula."""
    learned = law.learn(search.frame, search.floor)
    if learned.exceptions:
        return False
    zero = search.frame.present(law.target) & (search.frame.values(law.target) == 0)
    alone = replace(learned, or_zero=False).holds(search.frame)[1]
    return bool((zero & ~alone).sum() >= MIN_BESIDE * zero.sum())
