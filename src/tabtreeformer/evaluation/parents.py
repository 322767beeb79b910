"""Parents with aggregated children: distinguished from real ones by boosted trees, and predicted from children."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.schema import MEASURED, Schema

MIN_PARENTS = 50
"""Minimum number of parents for trees to learn from."""
MAX_CLASSES = 10
"""Maximum number of labels that are predicted; rarer ones are left out."""
FOLDS = 5


def told_apart(real: pd.DataFrame, synthetic: pd.DataFrame) -> float:
    """AUC with which boosted trees distinguish aggregated parents from real ones, over five folds (C2ST-Agg)."""
    from lightgbm import LGBMClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    n = min(len(real), len(synthetic))
    if n < MIN_PARENTS:
        return float("nan")
    rows = pd.concat([real.sample(n, random_state=0), synthetic.sample(n, random_state=0)], ignore_index=True)
    side = np.repeat([0, 1], n)
    trees = LGBMClassifier(n_estimators=100, num_leaves=15, verbose=-1, n_jobs=1, random_state=0)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    chances = cross_val_predict(trees, matrix(rows), side, cv=folds, method="predict_proba")[:, 1]
    return float(roc_auc_score(side, chances))


def predicted(train: pd.DataFrame, test: pd.DataFrame, target: str, schema: Schema) -> float:
    """How well a column of parents is predicted from their children: R² of a number, AUC of a label; nan if impossible.

    Boosted trees learn from aggregated parents of one table and are tested on those of another.
    """
    from lightgbm import LGBMClassifier, LGBMRegressor
    from sklearn.metrics import r2_score, roc_auc_score

    features = [column for column in train.columns if ": " in column]
    train, test = train[train[target].notna()], test[test[target].notna()]
    if min(len(train), len(test)) < MIN_PARENTS or not features:
        return float("nan")
    kwargs: dict[str, Any] = {"n_estimators": 50, "num_leaves": 7, "verbose": -1, "n_jobs": 1, "random_state": 0}
    if schema.column(target).kind in MEASURED:
        trees = LGBMRegressor(**kwargs).fit(matrix(train[features]), matrix(train[[target]])[:, 0])
        return float(r2_score(matrix(test[[target]])[:, 0], trees.predict(matrix(test[features]))))
    common = list(train[target].value_counts().index[:MAX_CLASSES])
    train, test = train[train[target].isin(common)], test[test[target].isin(common)]
    if min(train[target].nunique(), test[target].nunique()) < 2 or len(test) < MIN_PARENTS:
        return float("nan")
    codes = [side[target].map(common.index).to_numpy() for side in (train, test)]
    trees = LGBMClassifier(**kwargs).fit(matrix(train[features]), codes[0])
    chances = trees.predict_proba(matrix(test[features]))
    areas = [
        roc_auc_score(codes[1] == label, chances[:, place])
        for place, label in enumerate(trees.classes_)
        if 0 < (codes[1] == label).sum() < len(codes[1])
    ]
    return float(np.mean(areas)) if areas else float("nan")


def matrix(frame: pd.DataFrame) -> NDArray[np.float64]:
    """Columns as numbers (n, C): labels by their rank among all labels, so that both sides of a comparison share it."""
    from .aggregates import in_numbers

    columns = []
    for name in frame.columns:
        values = frame[name]
        numeric = pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_datetime64_any_dtype(values.dtype)
        if numeric:
            columns.append(in_numbers(values).to_numpy(dtype=np.float64))
        else:
            columns.append(pd.factorize(values.astype(str), sort=True)[0].astype(np.float64))
    return np.stack(columns, axis=1) if columns else np.zeros((len(frame), 0))
