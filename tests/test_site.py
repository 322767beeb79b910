"""The documentation site builds without a warning, reaches every page, and fetches nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tabtreeformer

pytest.importorskip("mkdocs", reason="the site needs the extra docs")
ROOT = Path(__file__).parents[1]
PAGES = sorted(str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "--site-dir", str(place)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": ""}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr
    return place


def test_every_page_is_there_as_html_and_as_plain_markdown(site):
    for page in PAGES:
        assert (site / page).with_suffix(".html").exists(), page
        assert (site / page).read_text(encoding="utf-8").lstrip().startswith("#"), page


def test_the_list_for_assistants_names_every_page(site):
    listed = re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    assert sorted(listed) == PAGES


def test_no_page_fetches_anything_from_elsewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|iframe)[^>]+src=\"(?:https?:)?//", text), page
        assert not re.findall(r"<link[^>]+rel=\"stylesheet\"[^>]+href=\"(?:https?:)?//", text), page


def test_the_reference_has_every_public_class_and_its_parameters(site):
    text = (site / "reference.html").read_text(encoding="utf-8")
    settings = {"__version__", "PRESETS", *(name for name in tabtreeformer.__all__ if name.endswith("Config"))}
    for name in {*tabtreeformer.__all__, "budget_seconds"} - settings:  # settings have a page of their own
        assert re.search(rf"\b{name}\b", text), name


def test_the_help_of_every_command_is_a_section(site):
    text = (site / "command-line.md").read_text(encoding="utf-8")
    for name in ("fit", "sample", "evaluate", "audit"):
        assert f"## ttf {name}" in text, name
        assert f"Usage: ttf {name}" in text, name
