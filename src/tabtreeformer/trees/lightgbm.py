"""Gradient boosting by LightGBM, the paper's tree model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from ..errors import ArchiveError
from .base import blaming_params, blaming_text, codes_or_values, fitted, not_a_model, threads
from .features import Features, Target
from .spaces import LIGHTGBM_SPACE

if TYPE_CHECKING:
    from typing_extensions import Self

ALL_CORES = 0


class LightGBM:
    """T is rounds for two classes and numbers, rounds × classes beyond; LightGBM's own leaf ids already start at 0."""

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
        booster = fitted(self._booster, self)
        scores = booster.predict(features.matrix, num_threads=threads(features, ALL_CORES))
        return codes_or_values(scores, _n_classes(self.to_text()))

    def leaves(self, features: Features) -> NDArray[np.int64]:
        """Return the leaf of each row in each tree, (N, T)."""
        booster = fitted(self._booster, self)
        ids = booster.predict(features.matrix, pred_leaf=True, num_threads=threads(features, ALL_CORES))
        return np.asarray(ids, dtype=np.int64).reshape(features.n_rows, len(self.n_leaves))

    def to_text(self) -> str:
        """Return LightGBM's own model text."""
        return fitted(self._text, self)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read LightGBM's own model text."""
        if not _is_whole(text):
            raise ArchiveError(not_a_model("LightGBM"))
        with blaming_text("LightGBM", lgb.basic.LightGBMError):
            return cls({}, 0)._hold(lgb.Booster(model_str=text), text)

    def _settings(self, target: Target) -> dict[str, Any]:
        """Return what is set unless the user's parameters say otherwise."""
        return {
            **_objective(target.n_classes),
            "seed": self._seed,
            "deterministic": True,
            # LightGBM else times both ways and takes the faster, and the two round differently.
            "force_row_wise": True,
            "verbosity": -1,
            # NOTE[PAPER]: the paper tunes the bagging fraction and leaves out its frequency; we set 1 because at
            # LightGBM's default of 0 the fraction does nothing.
            "bagging_freq": 1,
        }

    def _hold(self, booster: Any, text: str) -> Self:
        """Keep a fitted booster, with its real number of leaves."""
        self._booster, self._text = booster, text
        self.n_leaves = tuple(int(count) for count in re.findall(r"^num_leaves=(\d+)$", text, re.MULTILINE))
        assert len(self.n_leaves) == booster.num_trees()
        return self


def _objective(n_classes: int | None) -> dict[str, Any]:
    if n_classes is None:
        return {"objective": "regression"}
    return {"objective": "multiclass", "num_class": n_classes} if n_classes > 2 else {"objective": "binary"}


def _n_classes(text: str) -> int | None:
    """Read what is predicted from the head of the model text."""
    head = text[: text.find("\nTree=0")]
    found = re.search(r"^num_class=(\d+)$", head, re.MULTILINE)
    if found and int(found[1]) > 1:
        return int(found[1])
    return 2 if re.search(r"^objective=(binary|cross_entropy)", head, re.MULTILINE) else None


def _is_whole(text: str) -> bool:
    """Tell whether the trees have the sizes that the head states: LightGBM crashes on a text that was cut."""
    sizes = re.search(r"^tree_sizes=([\d ]+)$", text, re.MULTILINE)
    if not text.startswith("tree\n") or sizes is None:
        return False
    length = text.find("end of trees") - text.find("Tree=0")
    return length == sum(int(size) for size in sizes[1].split()) and "\nend of parameters" in text
