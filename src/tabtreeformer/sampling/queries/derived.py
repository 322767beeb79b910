"""Conditions on computed columns: rows are drawn until they meet them, or one part is solved for.

Laws are not inverted in general. Rows near the goal are taken, and one column that the computed one depends on is moved
by the secant method until the goal is met. Given columns are never moved, and no column leaves its learned range. Every
returned row was restored by the laws and checked.
"""

from __future__ import annotations

import operator as op
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...artifact.fitted import Fitted
from ...data.schema import CONSTANT, MEASURED, Column
from ...errors import ConditionError
from ...tokens.codecs.plain_values import plain_value
from ...tokens.conditions import Condition, as_condition
from .given import Name

Mask = NDArray[np.bool_]
MAX_ATOMS = 50
"""Columns with at most this many values are moved from one value to another."""
SECANTS, PASSES = 4, 2
"""Steps of the secant method, and passes over all goals: reaching one may lead away from another."""


@dataclass(frozen=True)
class Goal:
    """A condition on a computed column."""

    column: Column
    condition: Condition | None = None
    """For all rows …"""
    values: pd.Series | None = None
    """… or one value per row; missing means no condition."""

    @property
    def is_point(self) -> bool:
        """Whether it asks for single values, which random rows rarely have."""
        return self.condition is None or self.condition.operator in ("eq", "isin")

    @classmethod
    def of(cls, column: Column, value: Any) -> Goal:
        """Read a condition."""
        measured = column.kind in MEASURED or (column.kind == CONSTANT and column.sort != "label")
        return cls(column, as_condition(value, measured=measured))

    def met(self, series: pd.Series) -> Mask:
        """Which values meet the goal."""
        gaps = series.isna().to_numpy()
        if self.values is not None:
            free = self.values.isna().to_numpy()
            same = np.zeros(len(series), dtype=bool)
            both = ~gaps & ~free
            own, wanted = (self.column.read(s[both]).to_numpy() for s in (series, self.values))
            same[both] = own == wanted
            return np.asarray(free | same)
        assert self.condition is not None
        if self.condition.operator in ("missing", "present"):
            return np.asarray(gaps if self.condition.operator == "missing" else ~gaps)
        fine = np.zeros(len(series), dtype=bool)
        fine[~gaps] = self._holds(self.column.read(series[~gaps]).to_numpy())
        return fine

    def _holds(self, values: NDArray[Any]) -> Mask:
        assert self.condition is not None
        first, *rest = [plain_value(self.column, operand) for operand in self.condition.operands]
        operator = self.condition.operator
        try:
            if operator == "isin":
                found: Any = np.isin(values, [first, *rest])
            elif operator == "between":
                found = (values >= first) & (values <= rest[0])
            else:
                found = getattr(op, operator)(values, first)
        except TypeError as error:
            raise ConditionError(
                f"column {self.column.name!r} has no order in which {self.condition} means something; use a list"
            ) from error
        return np.asarray(found, dtype=np.bool_)

    def nearest(self, values: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """For numbers, the nearest values that meet the goal; `rows` are the positions of the values among all rows."""
        if self.values is not None:
            wanted = self.values.iloc[rows]
            goal = values.astype(np.float64)
            known = wanted.notna().to_numpy()
            goal[known] = self.column.read(wanted[known]).to_numpy().astype(np.float64)
            return goal
        assert self.condition is not None
        ends = [float(plain_value(self.column, operand)) for operand in self.condition.operands]
        numbers = values.astype(np.float64)
        if self.condition.operator in ("eq", "isin"):
            return np.asarray(np.array(ends)[np.abs(numbers[:, None] - ends).argmin(1)])
        low = ends[0] if self.condition.operator in ("ge", "gt", "between") else -np.inf
        high = ends[-1] if self.condition.operator in ("le", "lt", "between") else np.inf
        return np.clip(numbers, low, high)


def all_met(goals: Sequence[Goal], frame: pd.DataFrame) -> Mask:
    """Rows that meet every goal."""
    fine = np.ones(len(frame), dtype=bool)
    for goal in goals:
        fine &= goal.met(frame[goal.column.name])
    return fine


def distance(goals: Sequence[Goal], frame: pd.DataFrame) -> NDArray[np.float64]:
    """Distance of rows from the goals: for numbers in units of the column's spread, for labels 0 or 1."""
    far = np.zeros(len(frame))
    for goal in goals:
        series = frame[goal.column.name]
        miss = ~goal.met(series)
        far[miss] += 1.0
        rows = np.flatnonzero(miss & series.notna().to_numpy())
        if goal.column.kind in MEASURED and len(rows) and _is_range(goal):
            values = goal.column.read(series.iloc[rows]).to_numpy().astype(np.float64)
            spread = float(np.std(values)) or 1.0
            far[rows] += np.abs(goal.nearest(values, rows) - values) / spread
    return far


def _is_range(goal: Goal) -> bool:
    return goal.condition is None or goal.condition.operator not in ("missing", "present", "ne")


def met_by_goal(goals: Sequence[Goal], frame: pd.DataFrame) -> Mask:
    """Which goals each row meets (n, G)."""
    met = [goal.met(frame[goal.column.name]) for goal in goals]
    return np.stack(met, 1) if met else np.ones((len(frame), 0), dtype=bool)


def solve(
    fitted: Fitted, expressed: pd.DataFrame, goals: Sequence[Goal], fixed: pd.DataFrame, rng: np.random.Generator
) -> pd.DataFrame:
    """Move parts of expressed rows so that goals are met, where possible.

    `fixed` marks cells that must not change. A move is accepted if its goal is met and not fewer goals are met than
    before: for a date, the month may be reached first and the day next.
    """
    laws = fitted.codec.laws
    expressed = expressed.copy()
    names = list(dict.fromkeys(goal.column.name for goal in goals))
    met = met_by_goal(goals, laws.restore(expressed, rng, names))
    for _ in range(PASSES):
        before = met.copy()
        for place, goal in enumerate(goals):
            if goal.column.kind not in MEASURED or not _is_range(goal) or met[:, place].all():
                continue
            for name in _movable(fitted, goal.column.name, rng):
                bad = np.flatnonzero(~met[:, place] & ~fixed[name].to_numpy())
                if not len(bad):
                    continue
                for step in _steps(fitted, name):
                    bad = bad[~met[bad, place]]
                    if len(bad):
                        moved = _Solver(fitted, goal, name, expressed.iloc[bad], bad, step).run(rng)
                        after = met_by_goal([picked(g, bad) for g in goals], laws.restore(moved, rng, names))
                        fine = after[:, place] & (after.sum(1) >= met[bad].sum(1))
                        series = expressed[name].copy()
                        series.iloc[bad[fine]] = moved[name].to_numpy()[fine]
                        expressed[name], met[bad[fine]] = series, after[fine]
        if met.all() or np.array_equal(met, before):
            break
    return expressed


def picked(goal: Goal, rows: NDArray[np.int64]) -> Goal:
    """The goal of some of the rows."""
    return goal if goal.values is None else Goal(goal.column, None, goal.values.iloc[rows])


def _steps(fitted: Fitted, name: Name) -> list[float | None]:
    """First steps of the secant method: a part of the range, and for times also hours, days, etc."""
    column = fitted.codec.expressed.column(name)
    if column.sort != "time":
        return [None]
    second = float(pd.Timedelta(1, "s") / pd.Timedelta(1, column.unit))
    return [length * second for length in (30 * 86_400, 86_400, 3_600, 60)]


def _movable(fitted: Fitted, name: Name, rng: np.random.Generator) -> list[Name]:
    """Learned numbers and times that a computed column depends on, widest range first."""
    laws, found = fitted.codec.laws, []
    names = {read for law in laws.makers(name) for read in (*law.reads, *law.writes)}
    for codec in fitted.codec.columns:
        own = codec.column
        if own.kind in MEASURED and (own.name in names or laws.origins[own.name] in names):
            bounds = codec.bounds
            if np.isfinite(float(bounds.high) - float(bounds.low)) and bounds.high > bounds.low:
                found.append((float(bounds.high) - float(bounds.low), rng.random(), own.name))
    times = {c.column.name for c in fitted.codec.columns if c.column.sort == "time"}
    return [own for *_, own in sorted(found, key=lambda f: (f[2] in times, -f[0], f[1]))]


@dataclass(frozen=True)
class _Solver:
    """Moves one learned column of some rows until a computed one meets its goal."""

    fitted: Fitted
    goal: Goal
    name: Name
    rows: pd.DataFrame
    places: NDArray[np.int64]
    step: float | None = None
    """First step of the column; None for a part of its range."""

    def run(self, rng: np.random.Generator) -> pd.DataFrame:
        """The rows with the column moved; unsolved rows end at the nearest point found."""
        start, there = self._values(self.rows)
        computed = self._restored(self.rows, rng)
        reached, wanted = self._levels(computed), self._wanted(computed)
        bounds = self._codec.bounds
        reach = float(bounds.high) - float(bounds.low)
        step = reach if self._atoms is not None else max(reach / 20, 1.0 if self._whole else 1e-9)
        step = step if self.step is None else self.step
        up = start + step <= float(bounds.high)
        other = np.where(up, start + step, start - step)
        rows = self._with(other, there)
        other, _ = self._values(rows)
        beside = self._levels(self._restored(rows, rng))
        if not (np.isfinite(beside) & (beside != reached)).any():  # the computed column does not depend on this one
            return rows
        for _ in range(SECANTS):
            with np.errstate(all="ignore"):
                slope = (beside - reached) / (other - start)
                fresh = start + (wanted - reached) / slope
            usable = np.isfinite(fresh) & there
            fresh = np.where(usable, fresh, start)
            if self.step is not None:  # whole days do not change the hour
                fresh = start + np.rint((fresh - start) / self.step) * self.step
            rows = self._with(fresh, there)
            fresh, _ = self._values(rows)
            now = self._levels(self._restored(rows, rng))
            if np.array_equal(now[usable], wanted[usable]):
                break
            keep = fresh != start
            other, beside = np.where(keep, start, other), np.where(keep, reached, beside)
            start, reached = fresh, now
        return rows

    @property
    def _codec(self) -> Any:
        return self.fitted.codec.columns[self.fitted.codec.expressed.names.index(self.name)]

    @property
    def _atoms(self) -> NDArray[np.float64] | None:
        """The values of a column with only a few; None if it is continuous."""
        inner = self._codec.inner
        lows: NDArray[np.float64] | None = getattr(inner, "lows", None)
        few = lows is not None and len(lows) <= MAX_ATOMS and bool((lows == inner.highs).all())
        return lows if few else None

    @property
    def _whole(self) -> bool:
        return bool(self._codec.column.whole)

    def _values(self, rows: pd.DataFrame) -> tuple[NDArray[np.float64], Mask]:
        series = rows[self.name]
        there = series.notna().to_numpy()
        values = np.full(len(rows), np.nan)
        values[there] = self._codec.column.read(series[there]).to_numpy().astype(np.float64)
        return values, there

    def _with(self, values: NDArray[np.float64], there: Mask) -> pd.DataFrame:
        """The rows with new values of the column, on its grid and inside its range."""
        bounds, column = self._codec.bounds, self._codec.column
        inside = np.clip(np.where(there, values, float(bounds.low)), float(bounds.low), float(bounds.high))
        atoms = self._atoms
        if atoms is not None:
            inside = atoms[np.abs(inside[:, None] - atoms).argmin(1)]
        elif self._whole or bounds.decimals == 0:
            inside = np.rint(inside)
        elif bounds.decimals is not None:
            inside = np.round(inside, bounds.decimals)
        written = column.write(inside.astype(np.int64) if self._whole else inside, ~there)
        return _replaced(self.rows, self.name, written)

    def _levels(self, series: pd.Series) -> NDArray[np.float64]:
        """The computed column as numbers on a linear scale."""
        there = series.notna().to_numpy()
        levels = np.full(len(series), np.nan)
        levels[there] = self._level(self.goal.column.read(series[there]).to_numpy())
        return levels

    def _wanted(self, series: pd.Series) -> NDArray[np.float64]:
        there = np.flatnonzero(series.notna().to_numpy())
        wanted = np.full(len(series), np.nan)
        values = self.goal.column.read(series.iloc[there]).to_numpy()
        wanted[there] = self._level(self.goal.nearest(values, self.places[there]))
        return wanted

    def _restored(self, rows: pd.DataFrame, rng: np.random.Generator) -> pd.Series:
        name = self.goal.column.name
        return self.fitted.codec.laws.restore(rows, rng, [name])[name]

    def _level(self, values: NDArray[Any]) -> NDArray[np.float64]:
        law = self.fitted.codec.laws.by_column().get(self.goal.column.name)
        level = getattr(law, "levels", None)
        return np.asarray(values if level is None else level(values), dtype=np.float64)


def _replaced(frame: pd.DataFrame, name: Name, series: pd.Series) -> pd.DataFrame:
    frame = frame.copy()
    frame[name] = pd.Series(series.array, index=frame.index, dtype=series.dtype)
    return frame
