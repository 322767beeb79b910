"""Gradient boosting by CatBoost."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import import_extra
from .base import MISREAD, blaming_params, blaming_text, fitted, threads
from .catboost_text import check_state
from .features import Features, Target

if TYPE_CHECKING:
    from typing_extensions import Self

cat = import_extra("catboost", "catboost")

ALL_CORES = -1


class CatBoost:
    """T is the number of rounds, whatever the number of classes: a leaf has the scores of all classes.

    Categories are passed as ordered codes, because CatBoost's JSON leaves out what its own encoding of categories
    learns. Trees are symmetric unless `grow_policy` says otherwise, so a tree of depth k has 2**k leaves, reached or
    not.
    """

    def __init__(self, params: Mapping[str, Any], seed: int) -> None:
        """Take CatBoost's parameters, and a seed."""
        self._params = dict(params)
        self._seed = seed
        self._state: dict[str, Any] | None = None
        """`classes` seen when fitting (None for numbers), the `constant` to predict without trees, and the `trees`."""
        self._trees: Any = None
        self.n_leaves: tuple[int, ...] = ()

    def fit(self, features: Features, target: Target) -> Self:
        """Grow the trees."""
        # CatBoost refuses classes that no row has, which happens in folds: number those that occur.
        classes, values = None, target.values
        if target.n_classes is not None:
            present, values = np.unique(target.values, return_inverse=True)
            classes = [int(code) for code in present]
        state: dict[str, Any] = {"classes": classes, "constant": _commonest(target), "trees": None}
        if _vary(features.matrix) and _vary(values):
            state["trees"] = self._grow(features, values, classes)
        return self._hold(state)

    def predict(self, features: Features) -> NDArray[Any]:
        """Return class codes or numbers, (N,)."""
        state = fitted(self._state, self)
        if self._trees is None:
            return np.full(features.n_rows, state["constant"])
        scores = self._trees.predict(
            _single(features), prediction_type="RawFormulaVal", thread_count=threads(features, ALL_CORES)
        )  # (N,), or (N, classes) for more than two
        if state["classes"] is None:
            return np.asarray(scores, dtype=np.float64)
        places = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.int64)
        return np.asarray(np.array(state["classes"], dtype=np.int64)[places])

    def leaves(self, features: Features) -> NDArray[np.int64]:
        """Return the leaf of each row in each tree, (N, T)."""
        fitted(self._state, self)
        if self._trees is None:
            return np.zeros((features.n_rows, 0), dtype=np.int64)
        ids = self._trees.calc_leaf_indexes(_single(features), thread_count=threads(features, ALL_CORES))
        return np.asarray(ids, dtype=np.int64).reshape(features.n_rows, len(self.n_leaves))

    def to_text(self) -> str:
        """Return JSON that contains CatBoost's own."""
        return json.dumps(fitted(self._state, self), separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Inverse of `to_text`."""
        with blaming_text("CatBoost", cat.CatBoostError, *MISREAD):
            content = json.loads(text)
            state = {name: content[name] for name in ("classes", "constant", "trees")}
            check_state(state)
            return cls({}, 0)._hold(state)

    def _grow(self, features: Features, values: NDArray[Any], classes: list[int] | None) -> dict[str, Any]:
        """Let CatBoost fit, silently and without its folder of logs; return its JSON."""
        loss = "RMSE" if classes is None else "Logloss" if len(classes) == 2 else "MultiClass"
        own = {"loss_function": loss, "random_seed": self._seed, "thread_count": threads(features, ALL_CORES)}
        own |= {"logging_level": "Silent", "allow_writing_files": False}
        with blaming_params("CatBoost", self._params, cat.CatBoostError, ValueError, TypeError):
            model = cat.CatBoost(own | self._params)
            # Even when silent it writes warnings to stderr.
            model.fit(_single(features), values, log_cout=io.StringIO(), log_cerr=io.StringIO())
        return _written(model)

    def _hold(self, state: dict[str, Any]) -> Self:
        """Keep a fitted state, with the trees as read back: CatBoost renumbers leaves when it writes JSON."""
        self._state = state
        self._trees = None if state["trees"] is None else _read(state["trees"])
        self.n_leaves = () if self._trees is None else tuple(int(n) for n in self._trees.get_tree_leaf_counts())
        return self


def _single(features: Features) -> NDArray[np.float32]:
    return features.matrix.astype(np.float32)


def _vary(values: NDArray[Any]) -> bool:
    """Whether rows differ; CatBoost refuses a constant table."""
    return bool((values != values[:1]).any())


def _commonest(target: Target) -> int | float:
    """Return the class with the most rows, or the mean."""
    if target.n_classes is None:
        return float(target.values.mean())
    return int(np.bincount(target.values).argmax())


def _written(model: Any) -> dict[str, Any]:
    """Return a CatBoost model as plain data; CatBoost itself can only write files."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        model.save_model(str(file), format="json")
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    # Dates, paths and a random id, which would make equal models differ.
    content["model_info"] = {}
    return content


def _read(content: dict[str, Any]) -> Any:
    """Inverse of `_written`."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        model = cat.CatBoost()
        model.load_model(str(file), format="json")
    return model
