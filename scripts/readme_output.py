"""Runs the Python of README.md and writes what it prints below it.

python scripts/readme_output.py
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
START, END = "<!-- output: begin -->", "<!-- output: end -->"


def main() -> None:
    """Execute the blocks in a folder of their own and put their output between the marks."""
    text = README.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        os.chdir(folder)
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(compile(block, "README.md", "exec"), names)
        os.chdir(README.parent)
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{START}\n\n```\n{printed.getvalue()}```\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
