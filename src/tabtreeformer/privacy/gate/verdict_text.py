"""The verdict as a few lines of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .level_text import level_line
from .release import known_level

HEADS = {
    "pass": "privacy verdict: pass, no leak found in its rows",
    "fail": "privacy verdict: FAIL, do not share its rows",
    "not judged": "privacy verdict: none",
}


def verdict_lines(record: Mapping[str, Any]) -> list[str]:
    """The lines to print; none if privacy is off."""
    privacy = record.get("privacy") or {}
    verdict = privacy.get("verdict")
    if verdict not in HEADS or (verdict == "not judged" and privacy.get("mode") == "off"):
        return []
    lines = [HEADS[verdict], *(f"  {reason}" for reason in privacy.get("reasons") or ())]
    if figures := _figures(privacy):
        lines.append(f"  {figures}")
    if level := known_level(record):
        lines.append(f"  {level_line(level)}")
    file = privacy.get("file") or {}
    if file.get("leaks"):
        lines.append(f"file verdict: FAIL, do not share the model file ({file['reasons'][0]})")
    if verdict == "pass" and privacy.get("not_covered"):
        lines.append("  rows set aside (--holdout 0.1) make it stricter; ttf card lists what it does not cover")
    return lines


def _figures(privacy: Mapping[str, Any]) -> str:
    """The figure that is asked for most often; the card has all."""
    copies = (privacy.get("measures") or {}).get("copies")
    if copies is None:
        return ""
    return f"{copies['value']:.1%} of new rows equal a training row, of held-out rows {copies['ceiling'] or 0:.1%}"
