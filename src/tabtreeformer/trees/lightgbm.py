"""Gradient boosting by LightGBM, the paper's tree model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from ..errors import ArchiveError
from .base import MISREAD, blaming_params, blaming_text, codes_or_values, fitted, threads
from .features import Features, Target
from .lightgbm_text import check_text
from .spaces import LIGHTGBM_SPACE

if TYPE_CHECKING:
    from typing_extensions import Self

ALL_CORES = 0


class LightGBM:
    """T is rounds for two classes and numbers, else rounds × classes; LightGBM's own leaf ids already start at 0."""

    def __init__(self, params: Mapping[str, Any], seed: int) -> None:
        """Take LightGBM's parameters, and a seed."""
        self._params = dict(params)
        self._seed = seed
        self._booster: Any = None
        self._text: str | None = None
        self.n_leaves: tuple[int, ...] = ()

    def fit(self, features: Features, target: Target) -> Self:
        """Grow the trees."""
        params = self._settings(target) | {"num_threads": threads(features, ALL_CORES)} | self._params
        rounds = params.pop("n_estimators", LIGHTGBM_SPACE["n_estimators"].default)
        with blaming_params("LightGBM", self._params, lgb.basic.LightGBMError, ValueError, TypeError):
            data = lgb.Dataset(
                features.matrix,
                label=target.values,
                categorical_feature=list(features.categorical),
                params={"verbosity": -1},
            )
            booster = lgb.train(params, data, num_boost_round=rounds)
        return self._hold(booster, booster.model_to_string())

    def predict(self, features: Features) -> NDArray[Any]:
        """Return class codes or numbers, (N,)."""
        booster = self._booster_for(features)
        scores = booster.predict(features.matrix, num_threads=threads(features, ALL_CORES))
        return codes_or_values(scores, _n_classes(self.to_text()))

    def leaves(self, features: Features) -> NDArray[np.int64]:
        """Return the leaf of each row in each tree, (N, T)."""
        booster = self._booster_for(features)
        ids = booster.predict(features.matrix, pred_leaf=True, num_threads=threads(features, ALL_CORES))
        return np.asarray(ids, dtype=np.int64).reshape(features.n_rows, len(self.n_leaves))

    def _booster_for(self, features: Features) -> Any:
        """The fitted trees, provided they were fitted to the same number of features."""
        booster = fitted(self._booster, self)
        if booster.num_feature() != features.matrix.shape[1]:
            raise ArchiveError(
                f"the stored trees split {booster.num_feature():,} features and the table has "
                f"{features.matrix.shape[1]:,}; the file is damaged: save the model again"
            )
        return booster

    def to_text(self) -> str:
        """Return LightGBM's own model text."""
        return fitted(self._text, self)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read LightGBM's own model text."""
        with blaming_text("LightGBM", lgb.basic.LightGBMError, *MISREAD):
            check_text(text)
            return cls({}, 0)._hold(lgb.Booster(model_str=text), text)

    def _settings(self, target: Target) -> dict[str, Any]:
        """Return the defaults that the user's parameters override."""
        return {
            **_objective(target.n_classes),
            "seed": self._seed,
            "deterministic": True,
            # Otherwise LightGBM times two methods and takes the faster, and they round differently.
            "force_row_wise": True,
            "verbosity": -1,
            # NOTE[PAPER]: the paper tunes the bagging fraction and leaves out its frequency; we set 1 because at
            # LightGBM's default of 0 the fraction does nothing.
            "bagging_freq": 1,
        }

    def _hold(self, booster: Any, text: str) -> Self:
        """Keep a fitted booster, with the actual number of leaves."""
        self._booster, self._text = booster, text
        self.n_leaves = tuple(int(count) for count in re.findall(r"^num_leaves=(\d+)$", text, re.MULTILINE))
        assert len(self.n_leaves) == booster.num_trees()
        return self


def _objective(n_classes: int | None) -> dict[str, Any]:
    if n_classes is None:
        return {"objective": "regression"}
    return {"objective": "multiclass", "num_class": n_classes} if n_classes > 2 else {"objective": "binary"}


def _n_classes(text: str) -> int | None:
    """Read the number of classes from the head of the model text."""
    head = text[: text.find("\nTree=0")]
    found = re.search(r"^num_class=(\d+)$", head, re.MULTILINE)
    if found and int(found[1]) > 1:
        return int(found[1])
    return 2 if re.search(r"^objective=(binary|cross_entropy)", head, re.MULTILINE) else None
