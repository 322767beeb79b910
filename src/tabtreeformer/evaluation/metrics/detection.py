"""Detection: can a classifier distinguish synthetic rows from real ones?

It uses all columns together, so it detects what Shape and Trend miss with one and two columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._runtime.progress import stage
from ...trees.base import SMALL
from ..context import Context
from ..encoding import Table
from ..references import Tables
from ..score import Measurement
from .auc import auc

MAX_ROWS = 20_000
"""Maximum number of rows of each table."""
TWINS = 0.35
"""Chance seldom gives an AUC below this; rows that are in both tables can."""
MAX_CATEGORIES = 32
"""Columns with more categories are split by the order of their codes: free to group many categories, trees overfit them
and miss everything else, and two tables that plainly differ score one half."""
FOLDS = 5
ROUNDS = 100
SETTINGS = {
    "objective": "binary",
    "learning_rate": 0.1,
    "num_leaves": 31,
    "min_data_in_leaf": 10,
    # LightGBM ignores categories of fewer than 100 rows, which in a small table are all of them.
    "min_data_per_group": 10,
    "deterministic": True,
    "force_row_wise": True,
    "verbosity": -1,
}


def detection(tables: Tables, context: Context) -> Measurement:
    """Cross-validated AUC of gradient-boosted trees, real training rows against synthetic rows; 0.5 is best.

    Both tables have the same number of rows. A little below 0.5 is chance: the folds disagree about the noise.
    """
    rng = context.rng()
    n_rows = min(tables.train.n_rows, tables.synthetic.n_rows, MAX_ROWS)
    real, synthetic = (_matrix(table.sample(n_rows, rng)) for table in (tables.train, tables.synthetic))
    matrix, answers = np.concatenate([real, synthetic]), np.repeat([0, 1], n_rows)
    features = tables.train.features
    free = [place for place in tables.train.categorical if len(features[place].labels) <= MAX_CATEGORIES]
    folds, importance = _cross_validate(matrix, answers, free, context)
    names = [feature.name for feature in features]
    order = np.argsort(-importance, kind="stable")
    breakdown = {
        "folds": folds,
        "rows": {"real": n_rows, "synthetic": n_rows},
        "importance": [{"column": names[place], "share": float(importance[place])} for place in order],
    }
    value = float(np.mean(folds))
    return Measurement(value, breakdown, _note(tables, value))


def _note(tables: Tables, value: float) -> str | None:
    """Return what the reader needs to know besides the number."""
    if value < TWINS:
        return "far below 0.5: rows of one table are also in the other, so the classifier learns the wrong label"
    if min(tables.train.n_rows, tables.synthetic.n_rows) > MAX_ROWS:
        return f"measured on {MAX_ROWS:,} rows drawn from each table"
    return None


def _matrix(table: Table) -> NDArray[np.float64]:
    """Return all columns side by side, (N, D): numbers as they are, categories as codes."""
    return np.column_stack([np.clip(column, -1e30, 1e30) for column in table.columns]).astype(np.float64)


def _cross_validate(
    matrix: NDArray[np.float64], answers: NDArray[np.int64], categorical: list[int], context: Context
) -> tuple[list[float], NDArray[np.float64]]:
    """Return the AUC of each fold, and the share of each column in distinguishing the rows, (D,)."""
    import lightgbm
    from sklearn.model_selection import StratifiedKFold

    seed = int(context.rng().integers(2**31))
    settings = SETTINGS | {"seed": seed, "num_threads": 1 if matrix.size < SMALL else 0}
    n_folds = min(FOLDS, len(answers) // 2)
    splits = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(matrix, answers)
    scores, gains = [], np.zeros(matrix.shape[1])
    with stage(context.progress, f"detection of {context.label}", n_folds) as advance:
        for fitted_on, scored_on in splits:
            rows: Any = lightgbm.Dataset(
                matrix[fitted_on], answers[fitted_on], categorical_feature=categorical, params={"verbosity": -1}
            )
            booster = lightgbm.train(settings, rows, ROUNDS)
            predicted, truth = booster.predict(matrix[scored_on]), answers[scored_on]
            scores.append(auc(predicted[truth == 1], predicted[truth == 0]))
            gains += booster.feature_importance("gain")
            advance(1, auc=f"{np.mean(scores):.3f}")
    return scores, gains / gains.sum() if gains.sum() > 0 else gains
