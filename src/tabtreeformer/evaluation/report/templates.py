"""Templates of the pages that are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import import_extra


def templates(folder: Path) -> Any:
    """Templates of a folder: everything that comes from data is escaped, and an undefined name is an error."""
    jinja2 = import_extra("jinja2", "report")
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
