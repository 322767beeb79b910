"""The list of hashes has the versions that are pinned, and at least one hash of each."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def versions(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = (re.match(r"([A-Za-z0-9_.-]+)(?:\[[a-z,]+\])?==([^ ;]+)", line) for line in lines)
    return {match[1].lower().replace("_", "-"): match[2] for match in found if match}


def test_the_list_of_hashes_has_the_pinned_versions():
    pinned, locked = versions("constraints.txt"), versions("requirements.lock")
    assert "torch" not in locked
    wrong = {name: (version, locked[name]) for name, version in pinned.items() if locked.get(name, version) != version}
    assert not wrong, "write it anew with the command in its head"


def test_every_version_has_a_hash():
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=[A-Za-z0-9])", text.split("\n\n")[0])
    assert all("--hash=sha256:" in block for block in blocks if "==" in block.split("\n")[0])
