from __future__ import annotations

import numpy as np
import pytest

from tabtreeformer.trees import Features
from tabtreeformer.trees.base import codes_or_values, threads


@pytest.mark.parametrize(
    ("scores", "n_classes", "expected"),
    [
        ([1.5, -0.5], None, [1.5, -0.5]),
        ([0.2, 0.6], 2, [0, 1]),
        ([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]], 3, [2, 0]),
    ],
)
def test_scores_become_codes_or_stay_numbers(scores, n_classes, expected):
    answer = codes_or_values(np.array(scores), n_classes)
    np.testing.assert_array_equal(answer, expected)
    assert answer.dtype == (np.float64 if n_classes is None else np.int64)


@pytest.mark.parametrize(("n_rows", "expected"), [(999, 1), (1_000_000, -1)])
def test_only_large_tables_take_all_cores(n_rows, expected):
    assert threads(Features(np.zeros((n_rows, 1))), -1) == expected
