"""Generative trees as prompts: boosted trees that distinguish real rows from rows whose columns were shuffled.

The first round of an adversarial random forest (Watson et al., 2023), boosted: what distinguishes a row from
independent columns is how its columns depend on each other, and the leaves show that without a column to predict. For
tables without a target.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArchiveError
from .base import not_a_model
from .features import Features, Target
from .lightgbm import LightGBM

if TYPE_CHECKING:
    from typing_extensions import Self

MARK = "real rows and shuffled columns\n"
"""The first line of the text; the rest is LightGBM's own."""


RANDOM = {"extra_trees": True, "bagging_fraction": 0.632, "feature_fraction": 0.8}
"""Defaults: the gain of a first split is small and partly chance; it is the second split that pays."""


class Adversarial(LightGBM):
    """LightGBM's trees for two classes: rows as they are, and rows whose columns were drawn one by one."""

    def __init__(self, params: Mapping[str, Any], seed: int) -> None:
        """Take LightGBM's parameters, and a seed."""
        super().__init__({**RANDOM, **params}, seed)

    def fit(self, features: Features, target: Target) -> Self:
        """Grow the trees; the target is ignored."""
        rng, matrix = np.random.default_rng(self._seed), features.matrix
        # Drawn with replacement: columns that are only shuffled have the same shares as before, so that no first split
        # would gain anything and no tree would grow.
        shuffled = np.column_stack([rng.choice(column, len(column)) for column in matrix.T])
        both = Features(np.concatenate([matrix, shuffled]), features.categorical)
        return super().fit(both, Target(np.repeat(np.array([1, 0]), features.n_rows), 2))

    def predict(self, features: Features) -> NDArray[Any]:
        """Return 0 for all rows, (N,): nothing is predicted."""
        self._booster_for(features)
        return np.zeros(features.n_rows, dtype=np.int64)

    def to_text(self) -> str:
        """Return LightGBM's own model text under a first line of ours."""
        return MARK + super().to_text()

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Inverse of `to_text`."""
        if not text.startswith(MARK):
            raise ArchiveError(not_a_model("adversarial"))
        return super().from_text(text.removeprefix(MARK))
