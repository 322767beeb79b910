"""How strongly each pair of columns is associated, in both tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding import Table

MAX_ROWS = 20_000
"""Maximum rows from which associations are computed."""
MAX_SHOWN = 90
"""Maximum columns of a heatmap."""


def associations(real: Table, new: Table) -> dict[str, Any] | None:
    """How strongly each pair of columns is associated, 0 to 1, in both tables; categories first, as in the paper."""
    order = [*real.categorical, *real.numeric]
    if len(order) < 2:
        return None
    rng = np.random.default_rng(0)
    matrices = [association_matrix(table.sample(MAX_ROWS, rng), order) for table in (real, new)]
    return {
        "names": [str(real.features[i].name) for i in order],
        "places": order,
        "n_categorical": len(real.categorical),
        "real": matrices[0].tolist(),
        "synthetic": matrices[1].tolist(),
        "difference": np.abs(matrices[0] - matrices[1]).tolist(),
    }


def shown_associations(found: dict[str, Any]) -> dict[str, Any]:
    """The part of the matrices that a heatmap can show with legible names: the largest differences and associations."""
    real, new = np.array(found["real"]), np.array(found["synthetic"])
    gap = np.abs(real - new)
    chosen = np.arange(len(real))
    if len(chosen) > MAX_SHOWN:
        off = np.where(np.eye(len(real), dtype=bool), 0.0, real)
        worth = np.maximum(gap.max(1) * 2, off.max(1))
        chosen = np.sort(np.argsort(-worth, kind="stable")[:MAX_SHOWN])
    part = np.ix_(chosen, chosen)
    return {
        "names": [found["names"][i] for i in chosen],
        "n_categorical": int((chosen < found["n_categorical"]).sum()),
        "left_out": len(real) - len(chosen),
        "real": real[part].tolist(),
        "synthetic": new[part].tolist(),
        "difference": gap[part].tolist(),
        "top": next(top for top in (0.05, 0.1, 0.2, 0.5, 1.0) if gap[part].max() <= top or top == 1.0),
    }


def association_matrix(table: Table, order: list[int]) -> NDArray[np.float64]:
    """|Pearson| for two numbers, Cramér's V for two categories, the correlation ratio for one of each."""
    columns, kinds = [table.columns[i] for i in order], [table.features[i].categorical for i in order]
    matrix = np.eye(len(order))
    for i in range(len(order)):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = _association(columns[i], kinds[i], columns[j], kinds[j])
    return matrix


def _association(a: NDArray[Any], a_is_code: bool, b: NDArray[Any], b_is_code: bool) -> float:
    if a_is_code and b_is_code:
        return _cramers_v(a, b)
    if a_is_code or b_is_code:
        codes, numbers = (a, b) if a_is_code else (b, a)
        return _correlation_ratio(codes, numbers)
    both = ~(np.isnan(a) | np.isnan(b))
    a, b = a[both], b[both]
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(min(1.0, abs(np.corrcoef(a / np.abs(a).max(), b / np.abs(b).max())[0, 1])))


def _cramers_v(a: NDArray[Any], b: NDArray[Any]) -> float:
    a_codes, a = np.unique(a, return_inverse=True)
    b_codes, b = np.unique(b, return_inverse=True)
    least = min(len(a_codes), len(b_codes)) - 1
    if least < 1:
        return 0.0
    cells = a.astype(np.int64) * len(b_codes) + b
    # Only the cells that occur: two columns of 10,000 categories have too many others.
    seen, counts = np.unique(cells, return_counts=True)
    a_counts, b_counts = np.bincount(a), np.bincount(b)
    expected = a_counts[seen // len(b_codes)] * b_counts[seen % len(b_codes)] / len(a)
    chi2 = (counts**2 / expected).sum() - len(a)
    return float(np.sqrt(max(chi2, 0) / len(a) / least))


def _correlation_ratio(codes: NDArray[Any], numbers: NDArray[np.float64]) -> float:
    there = ~np.isnan(numbers)
    codes, numbers = codes[there], numbers[there]
    if len(numbers) < 2 or np.ptp(numbers) == 0:
        return 0.0
    numbers = numbers / np.abs(numbers).max()
    _, groups = np.unique(codes, return_inverse=True)
    counts = np.bincount(groups)
    means = np.bincount(groups, weights=numbers) / counts
    between = (counts * (means - numbers.mean()) ** 2).sum()
    return float(np.sqrt(min(1.0, between / ((numbers - numbers.mean()) ** 2).sum())))
