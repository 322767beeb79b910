"""Completes partial rows so that they keep both the given values and the laws of the table.

Rows are drawn given their known values. If a law would change a given value, one of its parts is solved for; if that
fails, the row is redrawn several times. Rows that cannot be completed this way (given values may contradict a law by
themselves) keep the given values, and a warning counts them.
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
"""Number of draws per unsolved row, by attempt; in the last attempt, values may be missing."""


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
    """Complete partial rows: known values stay, missing ones are drawn; index and order are kept.

    With `fill`, drawn values are never missing (unless a law requires it) and never the group of rare values: a named
    value that fits the row is drawn instead. Missing values in `context` columns stay missing. Unknown labels stay too
    and are ignored, unless `strict`. Columns in `within` are restricted to the allowed ids; no law of the table may
    compute or read these.
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
    """The completion of partial rows under laws."""

    fitted: Fitted
    rows: Writer
    part: Given
    goals: Sequence[Goal]
    """The given values of columns that laws compute."""
    given: pd.DataFrame
    """The expressed partial rows …"""
    known: pd.DataFrame
    """… and a mask of their known cells."""
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
        # Nothing left to draw: the laws either reproduce the given values or cannot.
        whole = fitted.codec.laws.restore(given[fixed].reset_index(drop=True), rows.rng)
        hopeless = np.zeros(len(plain), dtype=bool)
        hopeless[fixed] = ~met_by_goal([picked(g, np.flatnonzero(fixed)) for g in goals], whole).all(1)
        return replace(own, hopeless=hopeless)

    def run(self) -> pd.DataFrame:
        """Expressed rows: a first draw, replaced by better ones where given values are not kept."""
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
        """Draws for some of the rows, and the goals that each meets."""
        own = _taken(part, places)
        expressed = self.rows.expressed(self.rows.write(len(places), own), places)
        given, known = (frame.iloc[places].reset_index(drop=True) for frame in (self.given, self.known))
        for name in known.columns:  # given values enter laws exactly, not rounded to an id
            expressed[name] = _over(expressed[name], given[name], known[name].to_numpy())
        goals = [picked(goal, places) for goal in self.goals]
        expressed = look_back(self.fitted, expressed, goals, known, self.rows.rng)
        expressed = solve(self.fitted, expressed, goals, known, self.rows.rng)
        names = [goal.column.name for goal in goals]
        return expressed, met_by_goal(goals, self.fitted.codec.laws.restore(expressed, self.rows.rng, names))


def _say(n_broken: int, n: int) -> None:
    if n_broken:
        warn(
            f"{n_broken:,} of {n:,} rows keep the given values but not every law of the table: the values contradict "
            "a law, or no completion was found (ttf explain lists the laws)",
            LawWarning,
        )


def _taken(part: Given, places: NDArray[np.int64]) -> Given:
    """The given part of some rows."""
    assert part.ids is not None
    assert part.known is not None
    leaves = None if part.leaves is None else part.leaves[places]
    has_leaves = None if part.has_leaves is None else part.has_leaves[places]
    return Given(part.allowed, part.ids[places], part.known[places], leaves, has_leaves)


def _put(frame: pd.DataFrame, places: NDArray[np.int64], rows: pd.DataFrame) -> pd.DataFrame:
    """The frame with some rows replaced."""
    kept = np.setdiff1d(np.arange(len(frame)), places)
    return pd.concat([frame.iloc[kept], rows.set_axis(places)]).sort_index()


def _named(codec: ColumnCodec) -> Allowed:
    """Ids of a column except missing values and unnamed groups."""
    allowed = codec.allow(present())
    unnamed = codec.inner.unnamed_ids()
    if not unnamed or not codec.inner.classes():
        return allowed
    first = allowed.masks[0]
    mask = np.ones(codec.slots(0)[0].size, dtype=bool) if first is None else first.copy()
    mask[list(unnamed)] = False
    return replace(allowed, masks=(mask, *allowed.masks[1:]))


def _over(drawn: pd.Series, given: pd.Series, known: NDArray[np.bool_]) -> pd.Series:
    """Drawn values overwritten by given ones, in the dtype of the drawn."""
    if not known.any():
        return drawn
    merged = drawn.astype(object)
    merged[known] = given[known].astype(object)
    try:
        return merged.astype(drawn.dtype)
    except (TypeError, ValueError):
        return merged


def _keep_given(drawn: pd.DataFrame, partial: pd.DataFrame) -> pd.DataFrame:
    """Restore the given values exactly."""
    drawn.index = partial.index
    for name in partial.columns:
        known = partial[name].notna()
        if known.all():
            drawn[name] = partial[name]
        elif known.any():
            drawn[name] = pd.concat([partial[name][known], drawn[name][~known]]).loc[partial.index]
    return drawn


def _as_fitted(fitted: Fitted, frame: pd.DataFrame) -> pd.DataFrame:
    """Restore the dtypes of the fitted table if no value changes: 3.0 becomes 3 again once no gaps are left."""
    for column in fitted.schema.columns:
        series = frame[column.name]
        wanted = column.write(np.zeros(0, dtype=object if column.sort == "label" else np.int64)).dtype
        if series.dtype == wanted:
            continue
        if isinstance(wanted, pd.CategoricalDtype) and not series.dropna().isin(wanted.categories).all():
            continue  # a given rare category is not in the model's list
        try:
            cast = series.astype(wanted)
            same = (cast == series) | (cast.isna() & series.isna())
        except (ValueError, TypeError):
            continue
        if same.fillna(False).all():
            frame[column.name] = cast
    return frame
