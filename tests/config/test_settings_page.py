"""docs/settings.md says what the code does."""

from __future__ import annotations

import dataclasses
import runpy
from pathlib import Path

import pytest

from tabtreeformer.config.settings import (
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
