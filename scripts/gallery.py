"""Runs the scripts of examples/gallery and renders each with its output and pictures to docs/gallery.

python scripts/gallery.py            all of them
python scripts/gallery.py gaps shop  some
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SCRIPTS, PAGES = ROOT / "examples" / "gallery", ROOT / "docs" / "gallery"


def cells(source: str) -> list[tuple[str, str]]:
    """Words and code of each part of a script."""
    parts = []
    for part in source.split("\n# %%")[1:]:
        first, _, rest = part.partition("\n")
        lines = rest.split("\n")
        words = [first.strip()]
        while lines and lines[0].startswith("# "):
            words.append(lines.pop(0)[2:])
        parts.append((" ".join(words).strip(), "\n".join(lines).strip()))
    return parts


def title(source: str) -> str:
    """The first line of the docstring."""
    return str(ast.get_docstring(ast.parse(source))).rstrip(".")


def run(name: str, pictures: Path) -> str:
    """Execute a script part by part in a folder of its own; return its page."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = name  # the same picture is the same file
    import matplotlib.pyplot as plt

    source = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    page, names = [f"# {title(source)}", f"The script is `examples/gallery/{name}.py`."], {"__name__": name}
    place = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            for words, code in cells(source):
                page += [words] * bool(words) + [f"```python\n{code}\n```"]
                if printed := _executed(code, names):
                    page.append(f"```text\n{printed}\n```")
                for number in plt.get_fignums():
                    file = pictures / f"{name}.svg"
                    plt.figure(number).savefig(file, metadata={"Date": None})
                    plt.close(number)
                    page.append(f"![{title(source)}]({file.name})")
        finally:
            os.chdir(place)
    return "\n\n".join(page) + "\n"


def _executed(code: str, names: dict[str, Any]) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "gallery", "exec"), names)
    return said.getvalue().rstrip()


def main(chosen: list[str]) -> None:
    for name in chosen or sorted(path.stem for path in SCRIPTS.glob("*.py")):
        (PAGES / f"{name}.md").write_text(run(name, PAGES), encoding="utf-8")
        print(name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
