"""Virtual environments for generators whose packages need their own versions, from pinned lists."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tabtreeformer.errors import ConfigError

HERE = Path(__file__).parent
FOLDER = HERE / ".venvs"


def names() -> list[str]:
    """Environments that have a list."""
    return sorted(path.stem for path in HERE.glob("*.txt"))


def create(name: str, folder: Path = FOLDER) -> Path:
    """Create the environment from scratch and return its Python.

    The lists are complete, so that nothing but torch's own needs is resolved: a package that a rival declares and does
    not need (e.g. torchvision next to a CPU build of torch) is simply not in them.
    """
    listing = HERE / f"{name}.txt"
    if not listing.exists():
        raise ConfigError(f"there is no environment {name!r}; there are {', '.join(names())}")
    place = folder / name
    subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
    python = next(p for p in (place / "bin" / "python", place / "Scripts" / "python.exe") if p.exists())
    pip = [python, "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    if "torch==" in listing.read_text(encoding="utf-8"):  # what torch needs depends on the build that pip finds
        subprocess.run([*pip, "-c", listing, "torch"], check=True)
    subprocess.run([*pip, "--no-deps", "-r", listing], check=True)
    print(f"{name} is ready in {place}")
    return python
