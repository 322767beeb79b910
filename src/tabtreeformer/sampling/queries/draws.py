"""Rows under conditions, some of them on columns that a law computes."""

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
"""Rows drawn for each that is taken where a computed column is asked for, and their minimum number."""
SPARE, MIN_SPARE = 2, 32
"""Rows that are solved for, for each that is taken, and at least this many more."""
PATIENCE = 8
"""How often rows are drawn before a range of a computed column is solved for."""


@dataclass(frozen=True)
class Draws:
    """Rows under conditions on learned columns, taken or moved so that computed ones are as asked too."""

    fitted: Fitted
    rows: Writer
    allowed: Mapping[int, Allowed]
    goals: Sequence[Goal]

    def draw(self, places: NDArray[np.int64], attempt: int) -> pd.DataFrame:
        """As many rows as there are places: those nearest to the goals of a larger number, then solved for.

        Ranges are solved for only where drawing has not led there: rows would gather at their ends.
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
        # Not every row can be solved for: on a grid of cents a price times 17 hits few totals.
        fine = self.fine(laws.restore(expressed, rng))
        taken = np.argsort(~fine, kind="stable")[:n]
        chosen = expressed.iloc[taken].reset_index(drop=True)
        numbered = self.rows.expressed(pool[near[taken]], places, self.allowed)
        for column in self.fitted.codec.expressed.columns:
            if column.kind == IDENTIFIER:  # keys follow the places of the rows
                chosen[column.name] = numbered[column.name].to_numpy()
        return laws.restore(self._shared(chosen, places), rng)

    def _shared(self, expressed: pd.DataFrame, places: NDArray[np.int64]) -> pd.DataFrame:
        """Rows of one key with what they have in common, except those that would no longer be as asked."""
        codec = self.fitted.codec
        if not codec.shared:
            return expressed
        shared = codec.with_shared(expressed, row_numbers(self.rows, places))
        fine = self.fine(codec.laws.restore(shared, self.rows.rng))
        return pd.concat([shared[fine], expressed[~fine]]).sort_index()

    def _ids(self, n: int) -> Ids:
        return self.rows.write(n, Given(allowed_by_slot(self.fitted.layout, self.allowed)))

    def _fixed(self, expressed: pd.DataFrame) -> pd.DataFrame:
        """Columns with conditions of their own stay."""
        names = {self.fitted.codec.expressed.names[place] for place in self.allowed}
        return pd.DataFrame({name: name in names for name in expressed.columns}, index=expressed.index)

    def fine(self, frame: pd.DataFrame) -> NDArray[np.bool_]:
        """Rows that are as asked."""
        return _meets(self.fitted, self.allowed, frame) & all_met(self.goals, frame)


def _meets(fitted: Fitted, allowed: Mapping[int, Allowed], frame: pd.DataFrame) -> NDArray[np.bool_]:
    fine = np.ones(len(frame), dtype=bool)
    for place, limits in allowed.items():
        codec = fitted.codec.columns[place]
        fine &= codec.meets(limits, frame[codec.column.name])
    return fine
