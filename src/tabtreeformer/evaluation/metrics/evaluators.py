"""The models that learn from one table and are tested on real rows: LN, RF and XGB (paper, appendix on utility).

LN is logistic or linear regression on one-hot categories; RF (random forest) and XGB (XGBoost) take their codes.
Libraries are imported when a model is fitted.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import import_extra
from ...trees.base import SMALL
from ...trees.spaces import Parameter
from ..encoding import Table

EVALUATORS = ("LN", "RF", "XGB")
LARGEST = 1e30
"""Numbers beyond this are replaced by it: their squares must not overflow, and forests compute in single precision."""
DENSE_CELLS = 20_000_000
"""Linear regression solves a matrix up to this size directly, a larger one iteratively, without storing its zeros."""

# Legend of shapes: N rows, F columns to predict from, H columns once one-hot.


@dataclass(frozen=True)
class Choice:
    """A parameter that takes one of several values."""

    options: tuple[Any, ...]
    default: Any


EvaluatorSpace = Mapping[str, Parameter | Choice]

SPACES: Mapping[str, EvaluatorSpace] = {
    "LN": {},
    "RF": {
        "n_estimators": Parameter(low=100, high=300, step=50, default=100),
        "max_depth": Parameter(low=5, high=20, step=5, default=20),
        "min_samples_split": Parameter(low=2, high=10, step=2, default=2),
        "min_samples_leaf": Parameter(low=1, high=5, step=1, default=2),
        "max_features": Choice(("sqrt", "log2", None), default="sqrt"),
        "bootstrap": Choice((True, False), default=True),
    },
    "XGB": {
        "learning_rate": Parameter(low=0.01, high=0.3, log=True, default=0.1),
        "n_estimators": Parameter(low=100, high=300, step=50, default=150),
        "max_depth": Parameter(low=3, high=10, step=1, default=5),
        "min_child_weight": Parameter(low=1.0, high=10.0, log=True, default=1.0),
        "gamma": Parameter(low=0.0, high=0.5, default=0.0),
        "subsample": Parameter(low=0.5, high=1.0, default=0.9),
        "colsample_bytree": Parameter(low=0.5, high=1.0, default=0.8),
        "reg_alpha": Parameter(low=0.0, high=10.0, default=0.0),
    },
}
"""The paper's spaces; the defaults are what `quick` uses."""


def quick_settings(evaluator: str) -> dict[str, Any]:
    """Return settings that work well on most tables."""
    return {name: parameter.default for name, parameter in SPACES[evaluator].items()}


class Scaler:
    """Scales numbers to mean 0 and deviation 1 over the rows learned from; missing ones become the median, or stay."""

    def __init__(self, table: Table) -> None:
        """Learn the scale of each numeric column."""
        self._scales = [_scale(_clipped(table.columns[place])) for place in table.numeric]

    def numbers(self, table: Table) -> NDArray[np.float64]:
        """Return the scaled numbers, NaN where missing, (N, P)."""
        matrix = np.empty((table.n_rows, len(self._scales)))
        for column, (place, (mean, deviation, _)) in enumerate(zip(table.numeric, self._scales, strict=True)):
            matrix[:, column] = (_clipped(table.columns[place]) - mean) / deviation
        return np.clip(matrix, -LARGEST, LARGEST)

    def one_hot(self, table: Table) -> Any:
        """Return the table for a linear model, a sparse matrix (N, H); values that no training row had are all zero."""
        from scipy import sparse  # type: ignore[import-untyped]
        from sklearn.preprocessing import OneHotEncoder

        numbers = self.numbers(table)
        medians = np.array([median for _, _, median in self._scales])
        numbers = np.where(np.isnan(numbers), medians, numbers)
        if not table.categorical:
            return sparse.csr_matrix(numbers)
        known = [np.arange(table.features[place].n_known + 1) for place in table.categorical]
        codes = np.column_stack([table.columns[place] for place in table.categorical])
        encoder = OneHotEncoder(categories=known, handle_unknown="ignore").fit(codes[:1] * 0)
        return sparse.hstack([sparse.csr_matrix(numbers), encoder.transform(codes)]).tocsr()

    def codes(self, table: Table) -> NDArray[np.float32]:
        """Return the table for trees, (N, F); values that no training row had are missing ones."""
        known = [
            np.where(table.columns[place] <= table.features[place].n_known, table.columns[place], np.nan)
            for place in table.categorical
        ]
        return np.column_stack([self.numbers(table), *known]).astype(np.float32)


def _clipped(column: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(column, -LARGEST, LARGEST)


def _scale(column: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return mean, deviation (1 for a constant) and the scaled median."""
    values = column[~np.isnan(column)]
    if not len(values):
        return 0.0, 1.0, 0.0
    mean, deviation = float(values.mean()), float(values.std())
    deviation = deviation if deviation > 0 else 1.0
    return mean, deviation, (float(np.median(values)) - mean) / deviation


def fit_and_predict(
    evaluator: str,
    settings: Mapping[str, Any],
    learned_from: tuple[Any, NDArray[Any]],
    asked: Any,
    n_classes: int | None,
    seed: int,
) -> NDArray[np.float64]:
    """Fit a model on a matrix and its target; return numbers (N,), or the probability of each class (N, n_classes).

    Classes absent from the rows learned from get probability 0; if there is only one, it is always predicted.
    """
    matrix, target = learned_from
    if n_classes is None:
        model = _model(evaluator, settings, matrix, seed, classify=False)
        return np.asarray(_fitted(model, matrix, target).predict(asked), dtype=np.float64)
    present = np.unique(target)
    probabilities = np.zeros((asked.shape[0], n_classes))
    if len(present) == 1:
        probabilities[:, present] = 1
        return probabilities
    model = _model(evaluator, settings, matrix, seed, classify=True)
    probabilities[:, present] = _fitted(model, matrix, np.searchsorted(present, target)).predict_proba(asked)
    return probabilities


def _fitted(model: Any, matrix: Any, target: NDArray[Any]) -> Any:
    """Fit; warnings that a regression has not fully converged are hidden, because its ranking no longer changes."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(matrix, target)


def _model(evaluator: str, settings: Mapping[str, Any], matrix: Any, seed: int, *, classify: bool) -> Any:
    """Build a model; small tables get one thread, which is as fast there and does not fight for cores."""
    all_cores = -1 if matrix.shape[0] * matrix.shape[1] >= SMALL else 1
    if evaluator == "LN":
        from sklearn.linear_model import LinearRegression, LogisticRegression

        return LogisticRegression(max_iter=500) if classify else _Dense(LinearRegression())
    if evaluator == "RF":
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        forest = RandomForestClassifier if classify else RandomForestRegressor
        return forest(**settings, random_state=seed, n_jobs=all_cores)
    xgboost = import_extra("xgboost", "eval")
    booster = xgboost.XGBClassifier if classify else xgboost.XGBRegressor
    return booster(**settings, random_state=seed, n_jobs=0 if all_cores == -1 else 1, tree_method="hist", verbosity=0)


class _Dense:
    """A model that is solved exactly where its dense matrix is small enough."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def fit(self, matrix: Any, target: NDArray[Any]) -> _Dense:
        self._model.fit(self._written_out(matrix), target)
        return self

    def predict(self, matrix: Any) -> Any:
        return self._model.predict(matrix)

    @staticmethod
    def _written_out(matrix: Any) -> Any:
        return matrix.toarray() if matrix.shape[0] * matrix.shape[1] <= DENSE_CELLS else matrix
