"""What the documentation site has beyond its pages: the help of `ttf`, plain Markdown next to every page, llms.txt."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))
# Why a signature of an inherited scikit-learn method has no types is nothing that a page can mend.
logging.getLogger("griffe").setLevel(logging.ERROR)

MARKDOWN: dict[str, str] = {}
"""Source of a page → its Markdown, as built."""


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Fill in what is generated, and remember each page as it is."""
    if page.file.src_uri == "command-line.md":
        markdown += _help_of_commands()
    MARKDOWN[page.file.src_uri] = markdown
    return markdown


def on_post_build(config: Any) -> None:
    """Write every page as plain Markdown next to its HTML, and llms.txt, the list of pages for assistants."""
    listing = Path(config["site_dir"]) / "llms.txt"
    listing.write_text(_listing(config["nav"], config["site_description"]), encoding="utf-8")
    for source, markdown in MARKDOWN.items():
        path = Path(config["site_dir"]) / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(markdown, encoding="utf-8")


def _listing(nav: list[dict[str, Any]], about: str) -> str:
    lines = ["# tabtreeformer", "", f"> {about}", ""]
    for entry in nav:
        ((title, target),) = entry.items()
        if isinstance(target, str):
            lines.append(f"- [{title}]({target})")
        else:
            lines += ["", f"## {title}", "", *(f"- [{name}]({page})" for part in target for name, page in part.items())]
    return "\n".join(lines) + "\n"


def _help_of_commands() -> str:
    import typer.main
    from typer.testing import CliRunner

    from tabtreeformer.cli import app

    runner = CliRunner()
    parts = []
    for name in typer.main.get_command(app).commands:  # type: ignore[attr-defined]
        shown = runner.invoke(app, [name, "--help"], prog_name="ttf", env={"COLUMNS": "110"}).output
        parts.append(f"\n## ttf {name}\n\n```text\n{shown.strip()}\n```\n")
    return "".join(parts)
