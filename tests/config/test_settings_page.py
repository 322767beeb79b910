"""docs/settings.md says what the code does."""

from __future__ import annotations

import dataclasses
import itertools
import runpy
from pathlib import Path

import pytest
from benchmarks.auto import VARIANTS
from benchmarks.experiments import EXPERIMENTS

from tabtreeformer.config.presets import PRESETS, auto, private_auto, trees_alone
from tabtreeformer.config.settings import (
    SECTIONS,
    Config,
    ForestConfig,
    ModelConfig,
    SampleConfig,
    TokenConfig,
    TrainConfig,
    TreeConfig,
)

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "settings_page.py"))


def test_the_page_is_what_the_script_writes():
    assert SCRIPT["PAGE"].read_text() == SCRIPT["page"](), "run python scripts/settings_page.py"


@pytest.mark.parametrize("section", [TreeConfig, TokenConfig, ModelConfig, TrainConfig, SampleConfig, ForestConfig])
def test_every_setting_has_a_docstring(section):
    assert set(SCRIPT["docstrings"](section)) == {field.name for field in dataclasses.fields(section)}


RESOURCES = {
    "tree.timeout_seconds": "time",
    "train.accumulate": "memory",
    "train.precision": "memory",
    "model.backbone": "networks of transformers",
    "model.backbone_options": "networks of transformers",
}
"""Settings that neither a preset nor an experiment varies, and what they are for."""


def test_every_setting_is_varied_by_a_preset_or_an_experiment():
    autos = (auto(150), auto(50_000), auto(1000, n_columns=100), private_auto(1000))
    presets = (*PRESETS.values(), *autos, trees_alone(1000), trees_alone(10**6))
    varied = set()
    for section in SECTIONS:
        given = [dataclasses.asdict(value) for p in presets if (value := getattr(p, section)) is not None]
        varied |= {f"{section}.{name}" for name in given[0] if any(own[name] != given[0][name] for own in given)}
    generators = [generator for experiment in EXPERIMENTS.values() for generator in experiment.generators]
    changes = [*(generator.options.get("settings", ()) for generator in generators), *VARIANTS.values()]
    varied |= {change.partition("=")[0] for change in itertools.chain(*changes)}
    sections = {"forest": ForestConfig(), **{name: getattr(Config(), name) for name in SECTIONS if name != "forest"}}
    settings = {f"{name}.{field.name}" for name, own in sections.items() for field in dataclasses.fields(own)}
    assert settings - varied == set(RESOURCES)
