"""Laws for what other laws leave: a tip as a share of the total without the tip.

They are searched for in the expressed table, and expressed last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..data.schema import NUMERIC
from ..errors import SchemaError
from .base import Frame, Name
from .laws import Laws
from .linear import Linear
from .search import Search
from .share import Share, checked, often_round


def find_second(laws: Laws, frame: Frame, floor: int, rng: np.random.Generator, given: Sequence[Name] = ()) -> Laws:
    """Add laws that are found in `frame`, the expressed table; none of them is for a column in `given`."""
    wanted = [law for law in _possible(laws) if law.target not in given]
    if not wanted:
        return laws
    search = Search.begin(frame, floor, rng)
    best: dict[object, tuple[float, Share]] = {}
    for law in wanted:
        part, whole = search.frame.floats(law.target), law.whole(search.frame)
        decimals = search.numbers.decimals[search.numbers.names.index(law.target)]
        if decimals is None or not often_round(part, whole, decimals):
            continue
        candidate = checked(law, part, whole, search)
        if candidate is not None and candidate.bits > best.get(law.target, (0.0, law))[0]:
            best[law.target] = candidate.bits, law
    return _with(laws, frame, [law for _, law in best.values()], floor)


def given_second(laws: Laws, frame: Frame, shares: Iterable[Share], floor: int) -> Laws:
    """Add shares given by the user; a share without a matching sum is an error."""
    known = {(law.target, law.base): law for law in _possible(laws)}
    for share in shares:
        if (share.target, share.base) not in known:
            raise SchemaError(
                f"constraint {share.text!r} needs a sum for {share.base!r} of which {share.target!r} is a part, and no "
                f"other law for its parts"
            )
    return _with(laws, frame, [known[share.target, share.base] for share in shares], floor)


def _possible(laws: Laws) -> Iterator[Share]:
    """Parts of sums whose other parts and residual are learned unchanged."""
    left = laws.expressed_schema
    for law in laws.laws:
        if not isinstance(law, Linear) or law.units or any(factor != 1 for factor, _ in law.terms) or law.constant:
            continue
        if not all(name in left.names and left.column(name).kind == NUMERIC for name in law.reads):
            continue
        if law.rest is not None and (law.rest not in left.names or law.exact):
            continue
        for part in law.reads:
            others = tuple(name for name in law.reads if name != part)
            rest = None if law.rest is None else (law.rest, law.step / (law.scale or 1))
            yield Share(target=part, base=law.target, without=True, parts=others, rest=rest)


def _with(laws: Laws, frame: Frame, shares: list[Share], floor: int) -> Laws:
    """Add shares to laws; of two that read each other, only the first is added."""
    taken: list[Share] = []
    for share in shares:
        if not any({*share.writes} & {*own.reads} or {*own.writes} & {*share.reads} for own in taken):
            learned = share.learn(frame, floor)
            frame = learned.express(frame)
            taken.append(learned)
    return replace(laws, laws=(*laws.laws, *taken))
