"""The area under the ROC curve, from ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def auc(positive: NDArray[Any], negative: NDArray[Any]) -> float:
    """Return how often a positive scores above a negative, a tie counting half; 0.5 where one of them is empty."""
    n_positive, n_negative = len(positive), len(negative)
    if not n_positive or not n_negative:
        return 0.5
    order = np.sort(negative)
    below = np.searchsorted(order, positive, side="left").sum(dtype=np.float64)
    not_above = np.searchsorted(order, positive, side="right").sum(dtype=np.float64)
    return float((below + not_above) / 2 / n_positive / n_negative)


def weighted_auc(classes: NDArray[np.integer[Any]], scores: NDArray[Any]) -> float:
    """Return the AUC of each class against all others, weighted by the number of rows of the class.

    Shapes: classes (N,), scores (N, n_classes). For two classes this is the usual AUC.
    """
    total = 0.0
    for k in np.unique(classes):
        of_class = classes == k
        total += of_class.sum() * auc(scores[of_class, k], scores[~of_class, k])
    return total / len(classes)
