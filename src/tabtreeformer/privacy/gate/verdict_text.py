"""The verdict in a few lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .level_text import level_line
from .release import known_level

HEADS = {
    "pass": "privacy verdict: pass, no leak found in its rows",
    "fail": "privacy verdict: FAIL, do not pass its rows on",
    "not judged": "privacy verdict: none",
}


def verdict_lines(record: Mapping[str, Any]) -> list[str]:
    """What the user of a model should know; nothing where no verdict was asked for."""
    privacy = record.get("privacy") or {}
    verdict = privacy.get("verdict")
    if verdict not in HEADS or (verdict == "not judged" and privacy.get("mode") == "off"):
        return []
    lines = [f"{HEADS[verdict]}{_figures(privacy)}", *(f"  {reason}" for reason in privacy.get("reasons") or ())]
    if level := known_level(record):
        lines.append(f"  {level_line(level)}")
    file = privacy.get("file") or {}
    if file.get("leaks"):
        lines.append(f"file verdict: FAIL, keep the model file to yourself ({file['reasons'][0]})")
    if verdict == "pass" and privacy.get("not_covered"):
        lines.append(
            "  holdout=0.1 sets rows aside for a stricter verdict (ttf card says what this one does not cover)"
        )
    return lines


def _figures(privacy: Mapping[str, Any]) -> str:
    """The figures that are asked for most often."""
    measures = privacy.get("measures") or {}
    parts = []
    if "dcr" in measures:
        parts.append(f"distance test p = {measures['dcr']['value']:.2f}")
    if "copies" in measures:
        parts.append(
            f"copies {measures['copies']['value']:.1%} (held-out rows {measures['copies']['ceiling'] or 0:.1%})"
        )
    if "membership" in measures:
        parts.append(f"membership AUC {measures['membership']['value']:.2f}")
    return f" ({', '.join(parts)})" if parts else ""
