"""Trees that predict one column from the others; the leaves that a row falls into prompt the transformer.

The libraries are imported when a model is requested, not with this package.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._runtime.progress import Progress, Silent
from ..config.settings import TREE_MODELS, TreeConfig
from ..errors import ArchiveError, ConfigError
from .base import LeafModel
from .features import FeatureEncoder, Features, Target, choose_target, count_classes
from .spaces import SPACES, canonical, defaults, leaves_of
from .trials import Trials

__all__ = [
    "FeatureEncoder",
    "Features",
    "LeafModel",
    "Target",
    "Trials",
    "choose_target",
    "count_classes",
    "fit_leaf_model",
    "load_leaf_model",
]

MAX_CLASSES = 100
"""This many classes times 50 rounds would make a prompt too long for any transformer here."""


def fit_leaf_model(
    config: TreeConfig,
    features: Features,
    target: Target,
    seed: int,
    progress: Progress | None = None,
    trials: Trials | None = None,
    floor: int = 0,
) -> LeafModel:
    """Search for parameters if the config says so, then grow the trees on all rows.

    `trials` are those already done; at least `floor` rows reach each leaf.
    """
    if config.model in ("lightgbm", "xgboost") and (target.n_classes or 0) > MAX_CLASSES:
        raise ConfigError(
            f"the target has {target.n_classes:,} classes, and {config.model} builds a tree for each in every round; "
            f"choose a target of at most {MAX_CLASSES} classes, or tree='decision_tree', 'catboost' or 'none'"
        )
    model_class, space = _model_class(config.model), SPACES.get(config.model, {})
    seed %= 2**31  # the libraries take seeds as signed 32-bit integers
    params = canonical(config.params, space)
    if config.trials and space:
        from .tuning import tune

        params = tune(model_class, space, features, target, config, seed, progress or Silent(), trials)
    params = defaults(space) | params
    if floor <= 1:
        return model_class(params, seed).fit(features, target)
    return _with_full_leaves(model_class, config.model, params, seed, features, target, floor)


def _with_full_leaves(
    model_class: type[LeafModel],
    name: str,
    params: dict[str, Any],
    seed: int,
    features: Features,
    target: Target,
    floor: int,
) -> LeafModel:
    """Grow trees again, with larger leaves each time, until each nonempty leaf holds at least `floor` rows.

    The libraries' own limits are not enough: LightGBM estimates counts, XGBoost weights rows, CatBoost's symmetric
    trees have no limit.
    """
    least = floor
    while True:
        model = model_class(leaves_of(name, params, least, target.n_classes), seed).fit(features, target)
        if least > features.n_rows or not _has_thin_leaf(model.leaves(features), floor):
            return model
        least *= 2


def _has_thin_leaf(leaf_ids: NDArray[np.int64], floor: int) -> bool:
    for tree in range(leaf_ids.shape[1]):
        counts = np.bincount(leaf_ids[:, tree])
        if ((counts > 0) & (counts < floor)).any():
            return True
    return False


def load_leaf_model(name: str, text: str) -> LeafModel:
    """Read a model of this kind back from its `to_text`."""
    if name not in TREE_MODELS:
        raise ArchiveError(f"there is no tree model {name!r} in this version; known: {', '.join(TREE_MODELS)}")
    return _model_class(name).from_text(text)


def _model_class(name: str) -> type[LeafModel]:
    module = importlib.import_module(f".{name}", __package__)
    model_class: type[LeafModel] = getattr(module, TREE_MODELS[name])
    return model_class
