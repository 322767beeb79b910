"""Small tables with something to learn in them: two columns of numbers, one of four categories, the last."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tabtreeformer.trees import Features, Target

CLASSES = {"number": None, "two classes": 2, "three classes": 3}


@pytest.fixture(params=CLASSES)
def goal(request) -> str:
    """Run a test for each thing to predict."""
    return request.param


@pytest.fixture
def make() -> Callable[..., tuple[Features, Target]]:
    """Return a builder of tables."""

    def build(goal: str, n_rows: int = 150, seed: int = 0) -> tuple[Features, Target]:
        rng = np.random.default_rng(seed)
        numbers, codes = rng.normal(size=(n_rows, 2)), rng.integers(0, 4, n_rows)
        features = Features(np.column_stack([numbers, codes]), categorical=(2,))
        # Codes 0 and 2 against 1 and 3: one split for who takes them as categories.
        score = numbers[:, 0] + 2.0 * (codes % 2) + 0.1 * rng.normal(size=n_rows)
        if goal == "number":
            return features, Target(score, None)
        cuts = [1.0] if goal == "two classes" else [0.3, 1.7]
        return features, Target(np.digitize(score, cuts).astype(np.int64), CLASSES[goal])

    return build
