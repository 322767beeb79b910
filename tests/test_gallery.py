"""The scripts of the gallery run, and their pages hold the code that is there now."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from tabtreeformer.config import presets

pytest.importorskip("matplotlib", reason="the pictures need the extra bench")
ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("gallery", ROOT / "scripts" / "gallery.py")
gallery = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gallery)
NAMES = sorted(path.stem for path in gallery.SCRIPTS.glob("*.py"))


def test_there_are_six():
    assert len(NAMES) == 6


@pytest.mark.parametrize("name", NAMES)
def test_a_page_holds_the_code_and_its_output(name):
    page = (gallery.PAGES / f"{name}.md").read_text(encoding="utf-8")
    for words, code in gallery.cells((gallery.SCRIPTS / f"{name}.py").read_text(encoding="utf-8")):
        assert words in page
        assert code in page
    assert "```text" in page


@pytest.mark.parametrize("name", NAMES)
def test_a_script_runs(name, tmp_path, monkeypatch):
    """With few steps: what is learned matters to the page, not to this."""
    for preset in ("auto", "private_auto"):
        whole = getattr(presets, preset)

        def short(*facts, whole=whole, **named):
            config = whole(*facts, **named)
            return replace(config, train=replace(config.train, steps=6, validate_every=3))

        monkeypatch.setattr(presets, preset, short)
    page = gallery.run(name, tmp_path)
    assert page.count("```text") >= 1
