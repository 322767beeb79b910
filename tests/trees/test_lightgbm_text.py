"""LightGBM ends the process on a text with a wrong index: only texts that it can have written reach it."""

import re

import lightgbm as lgb
import numpy as np
import pytest

from tabtreeformer.errors import ArchiveError
from tabtreeformer.trees.lightgbm import LightGBM
from tabtreeformer.trees.lightgbm_text import check_text

RNG = np.random.default_rng(0)
ROWS = np.column_stack([RNG.normal(size=300), RNG.integers(0, 40, 300)]).astype(float)
ROWS[::7, 0] = np.nan
CLASSES = RNG.integers(0, 3, 300)


def text(target=CLASSES, rounds=3, **params) -> str:
    chosen = {"objective": "multiclass", "num_class": 3} if target is CLASSES else {}
    chosen |= {"verbosity": -1, "num_leaves": 6, "min_data_in_leaf": 5, "min_data_per_group": 5, "num_threads": 1}
    data = lgb.Dataset(ROWS, target, categorical_feature=[1])
    return lgb.train(chosen | params, data, rounds).model_to_string()


WRITTEN = text()


def resized(changed: str) -> str:
    """With the sizes of the trees as they are, which a stranger would not forget."""
    sizes = " ".join(str(len(block)) for block in re.findall(r"Tree=\d+\n.*?\n\n\n", changed, flags=re.DOTALL))
    return re.sub(r"^tree_sizes=.*$", f"tree_sizes={sizes}", changed, flags=re.MULTILINE)


@pytest.mark.parametrize("objective", ["binary", "regression", "regression_l1", "huber", "quantile"])
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_what_lightgbm_writes_passes(objective, scale):
    target = CLASSES % 2 if objective == "binary" else ROWS[:, 1] * scale + RNG.normal(size=300) * scale
    check_text(text(target.copy(), objective=objective))


def test_trees_that_found_nothing_pass():
    check_text(text(np.ones(300), objective="regression"))
    check_text(WRITTEN)


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"^left_child=\S+", "left_child=4"),
        (r"^left_child=\S+", "left_child=-7"),
        (r"^left_child=\S+", "left_child=0"),
        (r"^right_child=(\S+) (\S+)", r"right_child=\2 \1"),
        (r"^split_feature=\S+", "split_feature=2"),
        (r"^split_feature=\S+", "split_feature=-1"),
        (r"^split_feature=\S+ ", "split_feature="),
        (r"^decision_type=\S+", "decision_type=99"),
        (r"^leaf_value=\S+ ", "leaf_value="),
        (r"^leaf_value=\S+", "leaf_value=nan"),
        (r"^num_leaves=6", "num_leaves=7"),
        (r"^num_leaves=6", "num_leaves=1000000000"),
        (r"^num_cat=\d+", "num_cat=9"),
        (r"^cat_boundaries=0", "cat_boundaries=3"),
        (r"^cat_threshold=", "cat_threshold=1 "),
        (r"^is_linear=0", "is_linear=1"),
        (r"^num_class=3", "num_class=2"),
        (r"^num_class=3", "num_class=100000000"),
        (r"^max_feature_idx=1", "max_feature_idx=0"),
        (r"^objective=.*", "objective=multiclass num_class:99"),
        (r"^objective=.*", "objective=lambdarank"),
        (r"^feature_infos=.*", "feature_infos=none"),
        (r"^pandas_categorical:null", "pandas_categorical:[[1, 2]]"),
        (r"^Tree=1$", "Tree=7"),
        (r"^shrinkage=1$", "shrinkage=1\nodd=3"),
        (r"^end of parameters", "Tree=2\nend of parameters"),
        (r"^\[boosting: gbdt\]", "parameters:"),
        (r"^end of parameters", "Column_1=4\nend of parameters"),
        (r"^\[boosting: gbdt\]", ""),
    ],
)
def test_a_text_with_one_wrong_place_is_refused(pattern, replacement):
    changed = resized(re.sub(pattern, replacement, WRITTEN, count=1, flags=re.MULTILINE))
    assert changed != WRITTEN
    with pytest.raises(ArchiveError, match="not a whole LightGBM model"):
        LightGBM.from_text(changed)


def test_a_text_whose_sizes_are_wrong_is_refused():
    changed = re.sub(
        r"^tree_sizes=(\d+) (\d+)", lambda m: f"tree_sizes={int(m[1]) + 1} {int(m[2]) - 1}", WRITTEN, flags=re.M
    )
    with pytest.raises(ArchiveError):
        LightGBM.from_text(changed)


def test_texts_that_pass_can_be_read_and_asked():
    rng, passed = np.random.default_rng(3), 0
    for _ in range(150):
        lines = WRITTEN.split("\n")
        places = [k for k, line in enumerate(lines) if re.match(r"(threshold|leaf_value|split_gain|left_child)=", line)]
        place = places[rng.integers(len(places))]
        name, values = lines[place].split("=")
        lines[place] = f"{name}={' '.join(rng.permutation(values.split(' ')))}"
        changed = resized("\n".join(lines))
        try:
            check_text(changed)
        except ValueError:
            continue
        passed += 1
        booster = lgb.Booster(model_str=changed)
        assert booster.predict(ROWS, pred_leaf=True, num_threads=1).max() < 6
    assert passed > 20
