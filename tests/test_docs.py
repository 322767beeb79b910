"""Pages that must not drift from the code."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_every_note_on_the_paper_is_a_line_of_the_deviations_and_the_reverse():
    source = ROOT / "src" / "tabtreeformer"
    notes = Counter(
        {
            str(path.relative_to(source)): count
            for path in source.rglob("*.py")
            if (count := path.read_text().count("NOTE[PAPER]"))
        }
    )
    departures = (ROOT / "docs" / "deviations.md").read_text().split("## Choices")[0]
    assert Counter(re.findall(r"^\| `([^`]+\.py)` \|", departures, re.MULTILINE)) == notes


@pytest.mark.parametrize(
    "page", ["README.md", "CHANGELOG.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
)
def test_links_to_files_lead_somewhere(page):
    path = ROOT / page
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_commands_of_the_readme_exist_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    commands = set(re.findall(r"^make ([\w-]+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert {"demo", "test"} <= commands
    for command in commands:
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command
