import dataclasses

import numpy as np
import pytest

from tabtreeformer.config.override import BY_SOFTMAX, FITTING_ONLY, ONE_VALUE, parse_settings
from tabtreeformer.config.presets import PRESETS, auto, configure
from tabtreeformer.config.settings import Config, ModelConfig, TrainConfig
from tabtreeformer.errors import ConfigError


@pytest.mark.parametrize("preset", ["S", "auto", "trees"])
def test_configs_of_earlier_versions_are_read_unless_they_use_what_is_gone(preset):
    config = configure(preset, {})
    earlier = config.to_json()
    retired = ONE_VALUE | {name: by[config.model.softmax] for name, by in BY_SOFTMAX.items()}
    for name, value in retired.items() | dict.fromkeys(FITTING_ONLY, "anything").items():
        section, field = name.split(".")
        if earlier[section] is not None:
            earlier[section][field] = value
    assert Config.from_json(earlier) == config
    for name in ("train.leaf_loss", "model.order"):
        section, field = name.split(".")
        changed = {**earlier, section: {**earlier[section], field: "other"}}
        with pytest.raises(ConfigError, match=f"{name}='other', a setting that no longer exists"):
            Config.from_json(changed)


@pytest.mark.parametrize(("flag", "function", "sigma"), [(True, "sigmoid", 0.005), (False, "none", 0.0)])
def test_flags_of_earlier_versions_mean_what_they_did(flag, function, sigma):
    config = Config.from_json({"model": {"quantile_embedding": flag}, "train": {"ordinal_loss": flag}})
    assert (config.model.quantile_embedding, config.train.ordinal_loss) == (function, sigma)


@pytest.mark.parametrize("preset", PRESETS)
def test_config_survives_json(preset):
    config = configure(preset, {"tree": {"params": {"n_estimators": 7}}, "train": {"leaf_mask": [0.1, 0.2]}})
    assert Config.from_json(config.to_json()) == config


def test_overrides_reach_every_field_and_leave_the_others():
    for section in dataclasses.fields(Config):
        defaults = getattr(Config(), section.name)
        if defaults is None:
            continue  # a forest, which networks do not have
        for field in dataclasses.fields(defaults):
            value = getattr(defaults, field.name)
            changed = configure("S", {section.name: {field.name: value}})
            assert changed == PRESETS["S"], (section.name, field.name)
    config = configure("L", {"train": {"steps": 200}})
    assert config.train.steps == 200
    assert config.model == PRESETS["L"].model


def test_trees_that_write_have_a_forest_and_come_back_from_json():
    config = configure("trees", {"forest": {"leaf_rows": 50}}, n_rows=1_000_000)
    assert config.forest.leaf_rows == 50
    assert configure("trees", {}, n_rows=1_000_000).forest.leaf_rows == 200
    assert Config.from_json(config.to_json()) == config


def test_a_section_can_be_a_whole_dataclass():
    assert configure("S", {"model": ModelConfig(width=8, heads=2)}).model.width == 8


def test_numbers_of_numpy_are_numbers():
    changes = {"steps": np.int64(3), "learning_rate": np.float32(2)}
    assert configure("S", {"train": changes}).train == TrainConfig(steps=3, learning_rate=2.0)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"train": {"stepps": 3}}, "there is no setting train.stepps; known: train.steps"),
        ({"training": {"steps": 3}}, "there is no setting training; known: tree, tokens"),
        ({"train": {"steps": "many"}}, "train.steps must be a whole number, got 'many'"),
        ({"train": {"steps": 2.5}}, "train.steps must be a whole number, got 2.5"),
        ({"train": {"steps": True}}, "train.steps must be a whole number, got True"),
        ({"train": {"steps": 0}}, "train.steps must be at least 1, got 0"),
        ({"train": {"leaf_mask": 0.5}}, "train.leaf_mask must be 2 values"),
        ({"train": {"leaf_mask": [0.9, 0.5]}}, "train.leaf_mask must be two shares in order"),
        ({"train": {"precision": "int8"}}, "train.precision must be one of auto, fp32, fp16, bf16, got 'int8'"),
        ({"model": {"heads": 7}}, "model.heads must divide model.width, got heads=7, width=256"),
        ({"model": {"dropout": 1}}, "model.dropout must be in"),
        ({"model": {"backbone": "llama"}}, "model.backbone must be 'gpt2' or 'hf:<model type>', got 'llama'"),
        ({"tree": {"model": "random_forest"}}, "tree.model must be one of lightgbm, xgboost"),
        ({"tree": {"timeout_seconds": 0}}, "tree.timeout_seconds must be above 0"),
        ({"tokens": {"scheme": "words"}}, "tokens.scheme must be one of quantile, atoms"),
        ({"sampling": {"temperature_numeric": 0}}, "sampling.temperature_numeric must be above 0"),
        ({"train": 3}, "train must be TrainConfig, got 3"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(overrides, message):
    with pytest.raises(ConfigError, match="^" + message.replace("[", r"\[").replace("(", r"\(")):
        configure("S", overrides)


def test_an_unknown_preset_lists_the_known():
    with pytest.raises(ConfigError, match="preset must be one of auto, trees, S, L, NM, got 'XL'"):
        configure("XL", {})


def test_settings_are_read_from_text():
    read = parse_settings(
        ["train.steps=200", "tree.params.n_estimators=5", "tree.model=none", "train.leaf_mask=[0, 0.5]"]
    )
    assert read == {
        "train": {"steps": 200, "leaf_mask": [0, 0.5]},
        "tree": {"params": {"n_estimators": 5}, "model": "none"},
    }


@pytest.mark.parametrize("text", ["train.steps", "steps=3", "=3"])
def test_a_malformed_setting_says_how_to_write_one(text):
    with pytest.raises(ConfigError, match=r"section\.field=value"):
        parse_settings([text])


@pytest.mark.parametrize(("columns", "told"), [(10, True), (300, True), (301, False), (5_000, False)])
def test_only_networks_of_tables_that_are_not_very_wide_are_told_correlations(columns, told):
    assert auto(1_000, n_columns=columns).model.copula is told


def test_training_takes_no_more_time_per_row_however_large_the_table():
    def work_per_row(n_rows):
        """Weights that rows pass through, times the rows that are trained on, per row of the table."""
        config = configure("auto", {}, n_rows, n_columns=20)
        weights = config.model.layers * config.model.width**2
        return weights * config.train.steps * config.train.batch_size / n_rows

    few = work_per_row(400)
    assert all(work_per_row(round(400 * 1.2**k)) < 1.6 * few for k in range(60))  # to 20,000,000 rows
