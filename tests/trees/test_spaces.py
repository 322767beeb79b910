from __future__ import annotations

import pytest

from tabtreeformer.config.settings import TREE_MODELS
from tabtreeformer.trees.spaces import LIGHTGBM_SPACE, SPACES, canonical, defaults


def test_every_model_of_the_config_has_a_space():
    assert list(SPACES) == list(TREE_MODELS)
    assert {name for name, space in SPACES.items() if not space} == {"adversarial", "none"}


@pytest.mark.parametrize("name", [name for name in TREE_MODELS if name != "none"])
def test_defaults_lie_in_the_space(name):
    for parameter, value in defaults(SPACES[name]).items():
        space = SPACES[name][parameter]
        assert space.low <= value <= space.high, parameter
        assert isinstance(value, int) == space.whole, parameter
        assert space.step is None or (value - space.low) % space.step == 0, parameter
        assert space.step is None or (space.high - space.low) % space.step == 0, parameter


@pytest.mark.parametrize("name", TREE_MODELS)
def test_no_name_means_two_parameters(name):
    names = [n for parameter, space in SPACES[name].items() for n in (parameter, *space.aliases)]
    assert len(names) == len(set(names))


def test_other_names_become_those_of_the_space():
    given = {"num_iterations": 7, "lambda_l2": 1.0, "max_bin": 15}
    assert canonical(given, LIGHTGBM_SPACE) == {"n_estimators": 7, "reg_lambda": 1.0, "max_bin": 15}
