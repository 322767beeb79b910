"""Which rows each step takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Batches:
    """Row indices, batch by batch; each pass over the rows has a new order, and its last batch may be shorter.

    Its state is the random state at the start of the pass and the number of rows taken since, not the order itself,
    which is as long as the table.
    """

    def __init__(self, n_rows: int, rng: np.random.Generator) -> None:
        """Iterate over the indices 0 … n_rows - 1 in orders drawn by `rng`."""
        self._n_rows, self._rng = n_rows, rng
        self._start: dict[str, Any] = {}
        self._order = np.empty(0, dtype=np.int64)
        self._taken = 0

    def take(self, size: int) -> NDArray[np.int64]:
        """The next `size` rows, or what is left of this pass."""
        if self._taken == len(self._order):
            self._begin_pass()
        batch = self._order[self._taken : self._taken + size]
        self._taken += len(batch)
        return batch

    def _begin_pass(self) -> None:
        self._start = dict(self._rng.bit_generator.state)
        self._order, self._taken = self._rng.permutation(self._n_rows), 0

    def to_json(self) -> dict[str, Any]:
        """The state, once a first batch has been taken."""
        return {"start": self._start, "taken": self._taken}

    def go_on(self, state: dict[str, Any]) -> None:
        """Continue from what `to_json` returned."""
        self._rng.bit_generator.state = state["start"]
        self._begin_pass()
        self._taken = state["taken"]
