"""Writes docs/settings.md from the docstrings of the configuration; a test keeps the page true.

python scripts/settings_page.py
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
from pathlib import Path
from typing import Any

from tabtreeformer.config.presets import PRESETS, configure
from tabtreeformer.config.settings import Config

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
SMALL, LARGE = 1_000, 50_000
"""Rows of the tables for which `auto` is shown."""

HEAD = f"""# Settings

Every setting of a model. In Python a section is a parameter of `TabTreeFormer`, e.g. `train={{"steps": 200}}`; on the
command line it is `--set train.steps=200`. What is not set comes from the preset: `S` is the paper's, `L` and `NM`
differ from it as listed below; `auto` and `trees` follow from the table (here with {SMALL:,} and {LARGE:,} rows, 10
columns and a target of two classes; [auto.md](auto.md) has the reasons).

This page is written by `scripts/settings_page.py` from the docstrings of `src/tabtreeformer/config/settings.py`.
"""


def page() -> str:
    """The whole page."""
    configs = {
        "`S`": PRESETS["S"],
        "`auto`, small": configure("auto", {}, SMALL, 2),
        "`auto`, large": configure("auto", {}, LARGE, 2),
        "`trees`": configure("trees", {}, LARGE),
    }
    parts = [HEAD]
    for section in dataclasses.fields(Config):
        used = {
            name: part for name, config in configs.items() if (part := section_of(config, section.name)) is not None
        }
        first = next(iter(used.values()))
        texts = docstrings(type(first))
        parts.append(f"## {section.name}\n\n{inspect.getdoc(type(first))}\n")
        rows = [f"| setting | {' | '.join(used)} | |", "|---" * (len(used) + 2) + "|"]
        for field in dataclasses.fields(first):
            values = [shown(getattr(part, field.name)) for part in used.values()]
            rows.append(f"| `{section.name}.{field.name}` | {' | '.join(values)} | {texts[field.name]} |")
        parts.append("\n".join(rows) + "\n")
    parts.append("## `L` and `NM`\n")
    for name in ("L", "NM"):
        changes = ", ".join(f"`{path}={shown(value)}`" for path, value in differences(PRESETS[name]))
        parts.append(f"- `{name}` is `S` with {changes}.")
    return "\n".join(parts) + "\n"


def section_of(config: Config, name: str) -> Any:
    """A section of the settings; None where the preset does not use it."""
    if config.forest is not None and name not in ("tokens", "forest"):
        return None
    return getattr(config, name)


def docstrings(section: type[Any]) -> dict[str, str]:
    """The text under each field of a dataclass."""
    (definition,) = ast.parse(inspect.getsource(section)).body
    assert isinstance(definition, ast.ClassDef)
    texts = {}
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            assert isinstance(field.target, ast.Name)
            texts[field.target.id] = " ".join(str(below.value.value).split()).replace("|", "\\|")
    return texts


def differences(config: Config) -> list[tuple[str, Any]]:
    """Settings that are not as in `S`."""
    found = []
    for section in dataclasses.fields(Config):
        own, base = getattr(config, section.name), getattr(PRESETS["S"], section.name)
        for field in dataclasses.fields(own) if own is not None else ():
            value = getattr(own, field.name)
            if value != getattr(base, field.name):
                found.append((f"{section.name}.{field.name}", value))
    return found


def shown(value: Any) -> str:
    """A value as `--set` takes it."""
    return value if isinstance(value, str) else json.dumps(value)


if __name__ == "__main__":
    PAGE.write_text(page())
