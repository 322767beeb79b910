"""Rows under conditions, some of which are on computed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...artifact.fitted import Fitted
from ...data.schema import IDENTIFIER
from ...tokens.codecs.base import Allowed
from ...tokens.writer import Given, Ids
from ..writer import Writer, allowed_by_slot, row_numbers
from .derived import Goal, all_met, distance, solve

POOL, MIN_POOL = 4, 256
"""Rows drawn per returned row for conditions on computed columns, and their minimum number."""
SPARE, MIN_SPARE = 2, 32
"""Rows solved per returned row, and at least this many more."""
PATIENCE = 8
"""Number of draws before a range of a computed column is solved for."""


@dataclass(frozen=True)
class Draws:
    """Draws rows under conditions on learned columns, and selects or moves them to meet conditions on computed ones."""

    fitted: Fitted
    rows: Writer
    allowed: Mapping[int, Allowed]
    goals: Sequence[Goal]

    def draw(self, places: NDArray[np.int64], attempt: int) -> pd.DataFrame:
        """One row per place: the nearest to the goals among more draws, then solved for.

        Ranges are solved for only if drawing fails, because solved rows would pile up at their ends.
        """
        n, laws, rng = len(places), self.fitted.codec.laws, self.rows.rng
        if not self.goals:
            return self.rows.decode(self._ids(n), places, self.allowed)
        pool = self._ids(max(POOL * n, MIN_POOL))
        expressed = self.rows.expressed(pool, within=self.allowed)
        far = distance(self.goals, laws.restore(expressed, rng))
        near = np.argsort(far + 1e-9 * rng.random(len(far)), kind="stable")[: SPARE * n + MIN_SPARE]
        expressed = expressed.iloc[near].reset_index(drop=True)
        goals = [goal for goal in self.goals if goal.is_point or attempt >= PATIENCE]
        expressed = solve(self.fitted, expressed, goals, self._fixed(expressed), rng)
        # Not every row has a solution: on a grid of cents, a price times 17 gives few totals.
        fine = self.fine(laws.restore(expressed, rng))
        taken = np.argsort(~fine, kind="stable")[:n]
        chosen = expressed.iloc[taken].reset_index(drop=True)
        numbered = self.rows.expressed(pool[near[taken]], places, self.allowed)
        for column in self.fitted.codec.expressed.columns:
            if column.kind == IDENTIFIER:  # keys follow the positions of the rows
                chosen[column.name] = numbered[column.name].to_numpy()
        return laws.restore(self._shared(chosen, places), rng)

    def _shared(self, expressed: pd.DataFrame, places: NDArray[np.int64]) -> pd.DataFrame:
        """Give rows of one key their common values, except rows that would then miss their goals."""
        codec = self.fitted.codec
        if not codec.shared:
            return expressed
        shared = codec.with_shared(expressed, row_numbers(self.rows, places))
        fine = self.fine(codec.laws.restore(shared, self.rows.rng))
        return pd.concat([shared[fine], expressed[~fine]]).sort_index()

    def _ids(self, n: int) -> Ids:
        return self.rows.write(n, Given(allowed_by_slot(self.fitted.layout, self.allowed)))

    def _fixed(self, expressed: pd.DataFrame) -> pd.DataFrame:
        """Columns with conditions of their own are fixed."""
        names = {self.fitted.codec.expressed.names[place] for place in self.allowed}
        return pd.DataFrame({name: name in names for name in expressed.columns}, index=expressed.index)

    def fine(self, frame: pd.DataFrame) -> NDArray[np.bool_]:
        """Rows that meet all goals."""
        return _meets(self.fitted, self.allowed, frame) & all_met(self.goals, frame)


def _meets(fitted: Fitted, allowed: Mapping[int, Allowed], frame: pd.DataFrame) -> NDArray[np.bool_]:
    fine = np.ones(len(frame), dtype=bool)
    for place, limits in allowed.items():
        codec = fitted.codec.columns[place]
        fine &= codec.meets(limits, frame[codec.column.name])
    return fine
