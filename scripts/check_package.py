"""Builds wheel and sdist, checks them, and runs the README's example in an empty environment with the wheel.

    python scripts/check_package.py

With uv only the package itself is installed, next to the dependencies that pip has installed: where the pinned build
of PyTorch is a file that pip knows of, uv would fetch another.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run(sys.executable, "-m", "build", "--outdir", place / "dist", ROOT)
        (wheel,), (sdist,) = place.glob("dist/*.whl"), place.glob("dist/*.tar.gz")
        check_version(wheel)
        run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
        environment = place / "environment"
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        install = ("install", "-q", "--disable-pip-version-check", "-c", ROOT / "constraints.txt")
        run(python, "-m", "pip", *install, wheel)
        try_out(python, place)
        run(python, "-m", "pip", "uninstall", "-q", "-y", "tabtreeformer")
        run(sys.executable, "-m", "uv", "pip", "install", "-q", "--no-deps", "--python", python, wheel)
        try_out(python, place)
        print(f"{wheel.name} and {sdist.name} are ready to be installed")


def check_version(wheel: Path) -> None:
    """A tagged commit is released under its tag, and under nothing else."""
    tags = subprocess.run(["git", "tag", "--points-at", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    version = wheel.name.split("-")[1]
    for tag in re.findall(r"^v(\d.*)$", tags.stdout, re.MULTILINE):
        if tag != version:
            sys.exit(f"the commit has the tag v{tag}, the package is {version}; change src/tabtreeformer/_version.py")


def try_out(python: Path, place: Path) -> None:
    """Both ways to the command line, and the example of the README, outside of the checkout."""
    run(python.with_name("ttf"), "--version")
    run(python, "-m", "tabtreeformer", "--version")
    (block, *_) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (place / "example.py").write_text(block, encoding="utf-8")
    run(python, "example.py", cwd=place)


def run(*command: object, cwd: Path | None = None) -> None:
    words = [str(word) for word in command]
    print("$", " ".join(words), flush=True)
    subprocess.run(words, check=True, cwd=cwd)


if __name__ == "__main__":
    main()
