"""The laws that users list: sentences are read, and refused where they do not hold or contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..data.schema import Schema
from ..errors import SchemaError
from .base import Frame, Law, Name
from .computed import OR_ZERO, Computed
from .demand import FORM, Demand, merged
from .find import choose, is_turned, learn_in_order
from .forms import FORMS
from .laws import Laws, replaces
from .order import AtLeast
from .search import Candidate
from .second import given_second
from .sentences import SINGLE, listed, unsaid
from .share import Share
from .words import turned

WORDED = (
    "gaps",
    "steps",
    "implication",
    "only",
    "combination",
    "area",
    "within",
    "bins",
    "share",
    "same",
    "clip",
    "running",
    "period",
    "ratio",
    "curve",
    "demand",
    "tolerance",
)
"""Forms whose sentences cannot be read as any other form."""


def given_laws(texts: Sequence[str], df: pd.DataFrame, schema: Schema, *, floor: int) -> Laws:
    """Parse the given sentences; one that cannot be parsed, does not hold or contradicts another is an error."""
    frame = Frame.read(df, schema)
    laws = [parse(text, schema) for text in texts]
    second = [law for law in laws if isinstance(law, Share) and law.without]
    demands = [law for law in laws if isinstance(law, Demand)]
    laws = [*(law for law in laws if law not in second and law not in demands), *merged(demands)]
    for law in laws:
        _refuse_broken(law, frame)
    _refuse_rivals(laws, schema)
    chosen = [c.law for c in choose([Candidate(law, 0.0, getattr(law, "exact", True)) for law in laws], schema)]
    computed = {name for law in chosen if replaces(law, schema) for name in law.writes}
    for law in laws:
        if isinstance(law, Demand) and law.target in computed:
            owner = next(own for own in chosen if replaces(own, schema) and law.target in own.writes)
            raise SchemaError(
                f"constraints {owner.text!r}, {law.text!r} cannot both be kept: {law.target!r} is computed; restrict "
                f"{listed(owner.reads)} instead"
            )
    # A column that is computed exactly needs no law that corrects it.
    needed = [law for law in laws if replaces(law, schema) or isinstance(law, AtLeast) or not {*law.writes} <= computed]
    lost = [law for law in needed if not any(law is own or is_turned(own, law) for own in chosen)]
    if lost:
        columns = {name for law in lost for name in (*law.writes, *law.reads)}
        rivals = [law for law in laws if law not in lost and columns & {*law.writes, *law.reads}]
        texts = ", ".join(repr(law.text) for law in (*rivals, *lost))
        raise SchemaError(f"constraints {texts} cannot all be kept: each changes what another reads; drop one")
    learned, left = learn_in_order(schema, chosen, frame, floor)
    return given_second(learned, left, second, floor)


def parse(text: str, schema: Schema) -> Law:
    """One sentence → its law, not yet learned."""
    text = turned(text)
    words, near = unsaid(text)
    single = words.endswith(SINGLE)
    # Forms with distinctive words first: `area = 0 where garage is missing` is not a sum.
    for form in sorted(FORMS.values(), key=lambda form: form.law.form not in WORDED):
        computed = issubclass(form.law, Computed)
        law = form.parse(words.removesuffix(SINGLE).removesuffix(OR_ZERO) if computed else text, schema)
        if law is not None:
            zero = words.removesuffix(SINGLE).endswith(OR_ZERO)
            return replace(law, near=near, in_32_bits=single, or_zero=zero) if isinstance(law, Computed) else law
    raise SchemaError(
        f"constraint {text!r} cannot be read; write it as 'end >= start', 'total = net + tax', "
        f"'total = price * quantity', 'country from city', '{FORM}'"
    )


def _refuse_broken(law: Law, frame: Frame) -> None:
    if getattr(law, "near", False) or " ~ " in law.text:
        return
    learned: Any = law.learn(frame, 1)
    applies, kept = learned.holds(frame)
    broken = applies & ~kept
    if broken.sum() > (1 - getattr(law, "min_share", 1.0)) * applies.sum():
        row = int(np.argmax(broken))
        said = f"{int(broken.sum()):,} {'row breaks' if broken.sum() == 1 else 'rows break'}"
        cells = ", ".join(f"{n!r} is {frame.values(n)[row]}" for n in (*law.writes, *law.reads))
        raise SchemaError(
            f"constraint {law.text!r} does not hold in the table: {said} it, the first is "
            f"row {row}, where {cells}; drop the constraint or clean the rows"
        )


def _refuse_rivals(laws: Sequence[Law], schema: Schema) -> None:
    """Refuse two laws that both compute a column."""
    owners: dict[Name, Law] = {}
    for law in laws:
        for name in law.writes if replaces(law, schema) else ():
            if name in owners:
                raise SchemaError(
                    f"constraints {owners[name].text!r}, {law.text!r} cannot all be kept: both compute {name!r}; drop "
                    "one"
                )
            owners[name] = law
