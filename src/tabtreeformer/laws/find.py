"""Find the laws of a table: search some rows, choose compatible laws, and verify them in all rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from ..data.schema import Schema
from . import or_zero
from .area import Area
from .base import Frame, Law, Name
from .computed import Computed
from .correcting import Correcting
from .follows import following
from .forms import FORMS
from .gaps import Together
from .laws import Laws, in_order, must_precede, replaces
from .lookup import Lookup
from .order import AtLeast, limited
from .orientation import weighed
from .same import Same
from .search import Candidate, Search
from .second import find_second

NEARLY = 0.9
"""Minimum share of rows for a law to hold "nearly always"."""
MAX_COMPARED, MAX_LEFT_OUT, MIN_BETTER = 200, 8, 1.0
"""Up to this many exact laws, leaving out each of the first ones is tried; it must save this many bits per row."""
MIN_ROWS = 50
"""Minimum number of rows; fewer prove nothing."""
FORMULAS = ("clock sum", "elapsed", "linear", "product", "ratio")
"""Forms of laws that may read columns which are known before a row is written."""


def find_laws(
    df: pd.DataFrame, schema: Schema, *, floor: int, rng: np.random.Generator, given: Sequence[Name] = ()
) -> Laws:
    """The laws of a table that has passed `Schema.validate`; the columns `given` are read by formulas, never written.

    Laws between the other columns are searched without the given ones, so that these replace none of them.
    """
    if len(df) < MIN_ROWS:
        return Laws(schema)
    own = replace(schema, columns=tuple(column for column in schema.columns if column.name not in given))
    alone = Frame.read(df[list(own.names)], own)
    candidates = _candidates(Search.begin(alone, floor, rng))
    whole = Frame.read(df, schema) if given else alone
    if given:
        candidates += reading(given, _candidates(Search.begin(whole, floor, rng)))
    laws, left = learn_in_order(schema, [c.law for c in choose(candidates, schema)], whole, floor)
    found = find_second(laws, left, floor, rng, given)
    read = {name for law in found.laws for name in law.reads}
    kept = tuple(column for column in schema.columns if column.name not in given or column.name in read)
    return Laws(replace(schema, columns=kept), found.laws, tuple(name for name in given if name in read))


def reading(given: Sequence[Name], candidates: Iterable[Candidate]) -> list[Candidate]:
    """Exact formulas that read given columns and write none of them."""
    return [
        candidate
        for candidate in candidates
        if candidate.exact
        and candidate.law.form in FORMULAS
        and set(given) & {*candidate.law.reads}
        and not set(given) & {*candidate.law.writes}
    ]


def searched_laws(frame: Frame, *, floor: int, rng: np.random.Generator) -> list[Law]:
    """All laws found in a frame and learned from it, even if they could not all be kept together."""
    if frame.n_rows < MIN_ROWS:
        return []
    search = Search.begin(frame, max(floor, 2), rng)
    candidates = _candidates(search)
    texts = dict.fromkeys(candidate.law.text for candidate in candidates)
    laws = {candidate.law.text: candidate.law for candidate in reversed(candidates)}
    return [laws[text].learn(frame, floor) for text in texts]


def _candidates(search: Search) -> list[Candidate]:
    """The candidates of all searches; searches for laws that correct rows know which columns are computed anyway."""
    schema = search.frame.schema
    changing = [form for form in FORMS.values() if not issubclass(form.law, Correcting | Together)]
    proposed = [weighed(candidate, search) for form in changing for candidate in form.find(search)]
    found = [candidate for candidate in proposed if candidate is not None]
    found += or_zero.find(search, [c.law for c in found if c.exact and isinstance(c.law, Computed)])
    formulas = {name for c in found if c.exact and isinstance(c.law, Computed) for name in c.law.writes}
    # A lookup table knows only the combinations that it was learned from; a formula knows all.
    found = [c for c in found if not (isinstance(c.law, Lookup) and len(c.law.reads) > 1 and c.law.target in formulas)]
    found = _one_per_pair(found)
    exact = [candidate.law for candidate in choose(found, schema) if candidate.exact]
    computed = {name: law for law in exact if replaces(law, schema) for name in law.writes}
    own_gaps = frozenset(name for name, law in computed.items() if not _same_gaps(search, name, law))
    search = search.knowing(frozenset(computed), own_gaps)
    rest = [candidate for form in FORMS.values() if form not in changing for candidate in form.find(search)]
    return [*found, *rest]


def _one_per_pair(found: Sequence[Candidate]) -> list[Candidate]:
    """Without the differences of two columns that save less than a flag for when the two are equal."""
    saved: dict[frozenset[Name], float] = {}
    pairs = [frozenset((*c.law.writes, *c.law.reads)) for c in found]
    for c, pair in zip(found, pairs, strict=True):
        if isinstance(c.law, Same):
            saved[pair] = max(c.bits, saved.get(pair, 0.0))
    lengths = [saved.get(pair, 0.0) for pair in pairs]
    return [c for c, bits in zip(found, lengths, strict=True) if c.exact or isinstance(c.law, Same) or c.bits >= bits]


def _same_gaps(search: Search, name: Name, law: Law) -> bool:
    """Whether a computed column is missing exactly where a part is; if not, its gaps are learned too."""
    differ = search.frame.gaps(name) != ~search.frame.present(*law.reads)
    return int(differ.sum()) < max(search.floor, 1)


def choose(candidates: Iterable[Candidate], schema: Schema) -> list[Candidate]:
    """Choose the laws that give the shortest description of the table: greedily, unless leaving out an early one saves
    more.

    Example: gross pay is the sum of net pay and deductions, and each deduction is a share of the gross. The sum should
    then compute the net pay, although the gross takes more bits.
    """
    candidates = list(candidates)
    exact = [c for c in candidates if c.exact and replaces(c.law, schema)]
    without: list[Candidate] = []
    if 1 < len(exact) <= MAX_COMPARED:
        chosen = greedy(exact, schema)
        for first in chosen[:MAX_LEFT_OUT]:
            left = [c for c in exact if c not in without and c is not first]
            other = greedy(left, schema)
            if _saved(other) > _saved(chosen) + MIN_BETTER:
                without, chosen = [*without, first], other
    return greedy([c for c in candidates if c not in without], schema)


def _saved(chosen: Iterable[Candidate]) -> float:
    return sum(candidate.bits * (1 - candidate.lost) for candidate in chosen)


def greedy(candidates: Iterable[Candidate], schema: Schema) -> list[Candidate]:
    """Choose laws one by one: exact ones, near ones, then those that correct rows; by saved bits within each group.

    At most one law replaces a column. Others may correct it too, unless it is computed exactly. No column is computed
    from itself, not even indirectly.
    """
    chosen: list[Candidate] = []
    owners: dict[Name, Candidate] = {}
    later: dict[int, set[int]] = {}
    for candidate in sorted(candidates, key=lambda c: _rank(c, schema)):
        for variant in (candidate, *_turned(candidate)):
            law, owns = variant.law, replaces(variant.law, schema)
            rivals = [owners[name] for name in law.writes if name in owners]
            if owners.keys() & {*law.writes} and isinstance(law, Area):
                continue  # positions are learned unchanged; prices of a day are not positions
            if rivals and (owns or any(rival.exact for rival in rivals)) and not candidate.gaps_only:
                continue
            if _circles(chosen, variant, later, schema):
                continue
            chosen.append(variant)
            _link(chosen, variant, owners, later, schema)
            owners |= dict.fromkeys(law.writes, variant) if owns else {}
            if variant is candidate:
                break
    return chosen


def _rank(candidate: Candidate, schema: Schema) -> tuple[int, bool, float, bool, float]:
    """Laws that compute columns come before those that correct rows, because they imply many of these.

    "Often equals" comes last, because orders that always hold decide which column is copied.
    """
    order = not candidate.exact or candidate.coarse, candidate.lost, candidate.share < NEARLY, -candidate.bits
    return 2 if isinstance(candidate.law, Same) else int(not replaces(candidate.law, schema)), *order


def _turned(candidate: Candidate) -> list[Candidate]:
    """The same orders, but moving the lesser column if the greater cannot be moved."""
    law = candidate.law
    if not isinstance(law, AtLeast):
        return []
    return [replace(candidate, law=replace(law, lowers=(lower,), downward=True)) for lower in law.lowers]


def _link(
    chosen: list[Candidate],
    fresh: Candidate,
    owners: Mapping[Name, Candidate],
    later: dict[int, set[int]],
    schema: Schema,
) -> None:
    """Add what follows from a law and those that move the same column, where it is learned."""
    for law in following(fresh.law, [c.law for c in chosen]):
        candidate = replace(fresh, law=law)
        exact = any(name in owners and owners[name].exact for name in law.writes)
        if not exact and not _circles(chosen, candidate, later, schema):
            chosen.append(candidate)
            _link(chosen, candidate, owners, later, schema)


def is_turned(own: Law, law: Law) -> bool:
    return isinstance(own, AtLeast) and isinstance(law, AtLeast) and own.downward and own.target == law.target


def _circles(chosen: Sequence[Candidate], fresh: Candidate, later: dict[int, set[int]], schema: Schema) -> bool:
    """Whether adding this law would leave no valid order; otherwise update `later` (the laws after each)."""
    new = len(chosen)
    after = {k for k, c in enumerate(chosen) if must_precede(fresh.law, c.law, schema)}
    before = {k for k, c in enumerate(chosen) if must_precede(c.law, fresh.law, schema)}
    reached, pending = set[int](), list(after)
    while pending:
        place = pending.pop()
        if place in before:
            return True
        if place not in reached:
            reached.add(place)
            pending.extend(later[place])
    later[new] = after
    for place in before:
        later[place].add(new)
    return False


def learn_in_order(schema: Schema, laws: Sequence[Law], frame: Frame, floor: int) -> tuple[Laws, Frame]:
    """Return the laws in the order of expression, each learned on the frame left by those before, and the final frame.

    Laws that correct rows are learned without cells that were only filled because another column is empty.
    """
    learned: list[Law] = []
    unfilled = frame
    for law in in_order(limited(_beside(laws, schema)), schema):
        own = law.learn(unfilled if isinstance(law, Correcting) else frame, floor)
        learned.append(own)
        same = unfilled is frame
        frame, before = own.express(frame), frame
        if isinstance(law, Together):
            unfilled = before if same else unfilled
        else:
            unfilled = frame if same else own.express(unfilled)
    return Laws(schema, tuple(learned)), frame


def _beside(laws: Sequence[Law], schema: Schema) -> list[Law]:
    """The same laws, but those that fill gaps skip columns computed by another law."""
    computed = {name for law in laws if replaces(law, schema) for name in law.writes}
    return [
        replace(law, fills=False) if isinstance(law, Together) and law.member.name in computed else law for law in laws
    ]
