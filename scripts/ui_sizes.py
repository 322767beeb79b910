"""What page libraries weigh once installed, and when the first page of `ttf ui` answers; docs/ui.md has the figures.

python scripts/ui_sizes.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

LIBRARIES = {
    "ours": ("starlette", "uvicorn", "jinja2", "python-multipart"),
    "NiceGUI": ("nicegui",),
    "Streamlit": ("streamlit",),
    "Gradio": ("gradio",),
}
SHARED = "numpy", "numpy.libs", "pandas", "pandas.libs", "pyarrow", "pyarrow.libs"
"""Left out: people who use this package have them."""


def megabytes(packages: tuple[str, ...]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        install = ("pip", "install", "-q", "--no-compile", "--disable-pip-version-check", "--target", folder)
        subprocess.run([sys.executable, "-m", *install, *packages], check=True, stderr=subprocess.DEVNULL)
        for name in SHARED:
            shutil.rmtree(Path(folder) / name, ignore_errors=True)
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 2**20


def seconds_to_the_first_page() -> float:
    started = time.monotonic()
    command = [sys.executable, "-u", "-m", "tabtreeformer", "ui", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as page:
        assert page.stdout is not None
        address = page.stdout.readline().split()[-1]
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(address).read()  # the socket listens before the address is printed
        took = time.monotonic() - started
        page.terminate()
    return took


if __name__ == "__main__":
    print(f"first page of ttf ui: {seconds_to_the_first_page():.1f} s")
    for name, packages in LIBRARIES.items():
        print(f"{name}: {megabytes(packages):.0f} MB")
