"""Whole rows for partial ones, which keep the laws of the table together with what is given.

Rows are drawn given what is there. Where a law would make another value of one that is given, a part of it is solved
for, and where that does not lead there the row is drawn again, several times. Rows that cannot be completed so (what is
given may contradict a law by itself) keep what is given, and a warning counts them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..._runtime.warning import warn
from ...artifact.fitted import Fitted
from ...errors import LawWarning
from ...laws.laws import always, replaces
from ...tokens import Given
from ...tokens.codecs.base import Allowed
from ...tokens.codecs.column import ColumnCodec
from ...tokens.conditions import present
from ..writer import Writer, allowed_by_slot
from .derived import Goal, met_by_goal, picked, solve
from .given import Name, check_rows, express_part, given_part, need_any_order
from .look_back import look_back

_ANYTHING: Mapping[int, Allowed] = {}
COPIES = (8, 16)
"""How many rows are drawn for each that does not keep the laws yet, attempt by attempt; in the last one values may be
missing."""


def complete(
    fitted: Fitted,
    rows: Writer,
    partial: pd.DataFrame,
    *,
    fill: bool,
    context: Collection[Name] = (),
    strict: bool = True,
    within: Mapping[int, Allowed] = _ANYTHING,
) -> pd.DataFrame:
    """Whole rows for partial ones: what is there stays, what is missing is drawn; index and order are kept.

    With `fill` what is drawn is never itself a missing value, unless a law says that it is, nor a group of rare values:
    one that has a name and fits the row is drawn instead. Missing values in columns of the `context` stay. Labels that
    were never learned stay too, and say nothing about the rest, unless `strict`. What is drawn of the columns in
    `within` is as they allow; no law of the table may compute or read these.
    """
    need_any_order(fitted)
    check_rows(fitted, partial)
    codecs = fitted.codec.columns if fill else ()
    limits = {p: _named(c) for p, c in enumerate(codecs) if fitted.layout.slots_of(p)} | dict(within)
    part = replace(given_part(fitted, partial, context, strict=strict), allowed=allowed_by_slot(fitted.layout, limits))
    laws = fitted.codec.laws
    written = {name for law in laws.laws if always(law) or replaces(law, laws.schema) for name in law.writes}
    if not written & {*partial.columns}:
        expressed = rows.expressed(rows.write(len(partial), part), within=within)
    else:
        expressed = _Completion.of(fitted, rows, partial, part, written).run()
    whole = _as_fitted(fitted, _keep_given(laws.restore(expressed, rows.rng), partial))
    if written & {*partial.columns}:
        _say(laws.n_broken(whole), len(whole))
    return whole


@dataclass(frozen=True, eq=False)
class _Completion:
    """Partial rows of a table with laws."""

    fitted: Fitted
    rows: Writer
    part: Given
    goals: Sequence[Goal]
    """The given values of columns that a law writes."""
    given: pd.DataFrame
    """Partial rows as the laws express them …"""
    known: pd.DataFrame
    """… and which of these cells are known."""
    hopeless: NDArray[np.bool_]
    """Rows whose given values break a law by themselves."""

    @classmethod
    def of(cls, fitted: Fitted, rows: Writer, partial: pd.DataFrame, part: Given, written: set[Any]) -> _Completion:
        given, known = (frame.reset_index(drop=True) for frame in express_part(fitted, partial))
        plain = partial.reset_index(drop=True)
        goals = [Goal(fitted.schema.column(n), values=plain[n]) for n in plain.columns if n in written]
        own = cls(fitted, rows, part, goals, given, known, np.zeros(len(plain), dtype=bool))
        fixed = known.all(axis=1).to_numpy()
        if not fixed.any():
            return own
        # Nothing is left to draw: either the laws give back what is given, or nothing can.
        whole = fitted.codec.laws.restore(given[fixed].reset_index(drop=True), rows.rng)
        hopeless = np.zeros(len(plain), dtype=bool)
        hopeless[fixed] = ~met_by_goal([picked(g, np.flatnonzero(fixed)) for g in goals], whole).all(1)
        return replace(own, hopeless=hopeless)

    def run(self) -> pd.DataFrame:
        """Expressed rows: the first draw, and better ones for those that do not keep what is given."""
        n = len(self.given)
        expressed, met = self._solved(np.arange(n), self.part)
        for attempt, copies in enumerate(COPIES):
            bad = np.flatnonzero(~met.all(1) & ~self.hopeless)
            if not len(bad):
                break
            last = attempt == len(COPIES) - 1
            again, fresh = self._solved(np.repeat(bad, copies), replace(self.part, allowed={}) if last else self.part)
            score = fresh.sum(1).reshape(len(bad), copies)
            best = score.argmax(1)
            better = score.max(1) > met[bad].sum(1)
            taken = (np.arange(len(bad)) * copies + best)[better]
            expressed = _put(expressed, bad[better], again.iloc[taken])
            met[bad[better]] = fresh[taken]
        return expressed

    def _solved(self, places: NDArray[np.int64], part: Given) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
        """Draws for some of the rows, with what is given, and which goals each meets."""
        own = _taken(part, places)
        expressed = self.rows.expressed(self.rows.write(len(places), own), places)
        given, known = (frame.iloc[places].reset_index(drop=True) for frame in (self.given, self.known))
        for name in known.columns:  # what is given takes part in the law with its own value, not with that of an id
            expressed[name] = _over(expressed[name], given[name], known[name].to_numpy())
        goals = [picked(goal, places) for goal in self.goals]
        expressed = look_back(self.fitted, expressed, goals, known, self.rows.rng)
        expressed = solve(self.fitted, expressed, goals, known, self.rows.rng)
        names = [goal.column.name for goal in goals]
        return expressed, met_by_goal(goals, self.fitted.codec.laws.restore(expressed, self.rows.rng, names))


def _say(n_broken: int, n: int) -> None:
    if n_broken:
        warn(
            f"{n_broken:,} of {n:,} rows keep what is given and not every law of the table: their given values "
            f"contradict a law, or no values were found that fit both (ttf explain lists the laws)",
            LawWarning,
        )


def _taken(part: Given, places: NDArray[np.int64]) -> Given:
    """What some of the rows give."""
    assert part.ids is not None
    assert part.known is not None
    leaves = None if part.leaves is None else part.leaves[places]
    has_leaves = None if part.has_leaves is None else part.has_leaves[places]
    return Given(part.allowed, part.ids[places], part.known[places], leaves, has_leaves)


def _put(frame: pd.DataFrame, places: NDArray[np.int64], rows: pd.DataFrame) -> pd.DataFrame:
    """The frame with other rows in some places."""
    kept = np.setdiff1d(np.arange(len(frame)), places)
    return pd.concat([frame.iloc[kept], rows.set_axis(places)]).sort_index()


def _named(codec: ColumnCodec) -> Allowed:
    """Any value of a column that is not missing and not one of a group without a name."""
    allowed = codec.allow(present())
    unnamed = codec.inner.unnamed_ids()
    if not unnamed or not codec.inner.classes():
        return allowed
    first = allowed.masks[0]
    mask = np.ones(codec.slots(0)[0].size, dtype=bool) if first is None else first.copy()
    mask[list(unnamed)] = False
    return replace(allowed, masks=(mask, *allowed.masks[1:]))


def _over(drawn: pd.Series, given: pd.Series, known: NDArray[np.bool_]) -> pd.Series:
    """Given values over drawn ones, in the dtype of the drawn."""
    if not known.any():
        return drawn
    merged = drawn.astype(object)
    merged[known] = given[known].astype(object)
    try:
        return merged.astype(drawn.dtype)
    except (TypeError, ValueError):
        return merged


def _keep_given(drawn: pd.DataFrame, partial: pd.DataFrame) -> pd.DataFrame:
    """Put what was given back over what was drawn, to the bit."""
    drawn.index = partial.index
    for name in partial.columns:
        known = partial[name].notna()
        if known.all():
            drawn[name] = partial[name]
        elif known.any():
            drawn[name] = pd.concat([partial[name][known], drawn[name][~known]]).loc[partial.index]
    return drawn


def _as_fitted(fitted: Fitted, frame: pd.DataFrame) -> pd.DataFrame:
    """Give columns the dtype of the fitted table where no value changes by it: 3.0 is a 3 again once no gap is left."""
    for column in fitted.schema.columns:
        series = frame[column.name]
        wanted = column.write(np.zeros(0, dtype=object if column.sort == "label" else np.int64)).dtype
        if series.dtype == wanted:
            continue
        if isinstance(wanted, pd.CategoricalDtype) and not series.dropna().isin(wanted.categories).all():
            continue  # a rare category that was given is in no list of the model
        try:
            cast = series.astype(wanted)
            same = (cast == series) | (cast.isna() & series.isna())
        except (ValueError, TypeError):
            continue
        if same.fillna(False).all():
            frame[column.name] = cast
    return frame
