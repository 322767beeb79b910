"""The registry of forms of laws: one line per form, in the order of searching and parsing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..data.schema import Schema
from . import (
    area,
    bins,
    clip,
    clock,
    combination,
    copies,
    curve,
    demand,
    difference,
    elapsed,
    find_clock,
    find_flat,
    find_identities,
    find_linear,
    find_lookup,
    find_parts,
    find_powers,
    find_product,
    gaps,
    implication,
    linear,
    lookup,
    only,
    order,
    parts,
    period,
    product,
    ratio,
    running,
    same,
    share,
    steps,
    tolerance,
    within,
)
from .base import Law
from .search import Candidate, Search


@dataclass(frozen=True)
class Form:
    """How to make laws of one form: by search, from a sentence, or from a file."""

    law: type[Any]
    """The class, whose `from_json` reads a file."""
    find: Callable[[Search], Sequence[Candidate]]
    """Candidates that hold in the rows of the search and save bits on held-out rows."""
    parse: Callable[[str, Schema], Law | None]
    """Parses a sentence: None if it is of another form, an error if a name or kind is invalid."""


FORMS: Mapping[str, Form] = {
    "copy": Form(copies.Copy, copies.find, copies.parse),
    "part": Form(parts.Part, find_parts.find, parts.parse_number),
    "named part": Form(parts.NamedPart, find_parts.find_named, parts.parse_named),
    "clock sum": Form(clock.ClockSum, find_clock.find_sums, clock.parse_sum),
    "clock gap": Form(clock.ClockGap, lambda search: [], clock.parse_gap),
    "clock number": Form(clock.ClockNumber, find_clock.find_numbers, clock.parse_number),
    "elapsed": Form(elapsed.Elapsed, elapsed.find, elapsed.parse),
    "linear": Form(
        linear.Linear,
        lambda search: [*find_identities.find(search), *find_linear.find(search), *difference.find(search)],
        linear.parse,
    ),
    "product": Form(
        product.Product, lambda search: [*find_product.find(search), *find_powers.find(search)], product.parse
    ),
    "ratio": Form(ratio.Ratio, ratio.find, ratio.parse),
    "curve": Form(curve.Curve, curve.find, curve.parse),
    "clip": Form(clip.Clip, clip.find, clip.parse),
    "running": Form(running.Running, running.find, running.parse),
    "bins": Form(bins.Bins, bins.find, bins.parse),
    "share": Form(share.Share, share.find, share.parse),
    "same": Form(same.Same, lambda search: [], same.parse),
    "gaps": Form(gaps.Together, gaps.find, gaps.parse),
    "demand": Form(demand.Demand, lambda search: [], demand.parse),
    "tolerance": Form(tolerance.Tolerance, lambda search: [], tolerance.parse),
    "period": Form(period.Period, period.find, period.parse),
    "steps": Form(steps.Steps, steps.find, steps.parse),
    "implication": Form(
        implication.Implication,
        lambda search: [*implication.find(search), *find_flat.find_pairs(search)],
        implication.parse,
    ),
    "only": Form(only.Only, find_flat.find_only, only.parse),
    "combination": Form(combination.Combination, combination.find, combination.parse),
    "order": Form(order.AtLeast, order.find, order.parse),
    "area": Form(area.Area, area.find, area.parse),
    "within": Form(within.Within, area.find_single, within.parse),
    "lookup": Form(lookup.Lookup, find_lookup.find, lookup.parse),
}
"""By the name of the form (`Law.form`)."""
