"""No trees at all: rows are generated without a prompt of leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArchiveError
from .base import not_a_model
from .features import Features, Target

if TYPE_CHECKING:
    from typing_extensions import Self


class NoTrees:
    """T = 0. There is nothing to learn, so its text is empty and it need not be fitted."""

    n_leaves: tuple[int, ...] = ()

    def __init__(self, params: Mapping[str, Any], seed: int) -> None:
        """Take the arguments of other models, and ignore them."""

    def fit(self, features: Features, target: Target) -> Self:
        """Learn nothing."""
        return self

    def predict(self, features: Features) -> NDArray[Any]:
        """Return 0 for all rows, (N,)."""
        return np.zeros(features.n_rows, dtype=np.int64)

    def leaves(self, features: Features) -> NDArray[np.int64]:
        """Return an array without columns, (N, 0)."""
        return np.zeros((features.n_rows, 0), dtype=np.int64)

    def to_text(self) -> str:
        """Return an empty text."""
        return ""

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Take an empty text."""
        if text:
            raise ArchiveError(not_a_model("treeless"))
        return cls({}, 0)
