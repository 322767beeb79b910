"""The generators of `ttf benchmark`: our presets, the controls, and the repository's adapters if available."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...evaluation.compare import CONTROLS, GeneratorSpec, listed

OURS_FILE = Path(__file__).parent / "ours.py"
REPOSITORY = Path(__file__).parents[4]
"""Root of the repository if the package runs from a checkout."""


def _ours(preset: str, **rest: Any) -> GeneratorSpec:
    return GeneratorSpec(name=preset, family="ours", file=OURS_FILE, options={"preset": preset}, **rest)


BUILT_IN: Sequence[GeneratorSpec] = (
    _ours("auto"),
    _ours("trees", note="decision trees only: seconds, little protection"),
    _ours("S", paper="ttf_s"),
    _ours("L", paper="ttf_l"),
    _ours("NM", paper="ttf_nm", note="no masks: can repeat real rows"),
    *CONTROLS,
)


def known(folder: Path | None = None) -> list[GeneratorSpec]:
    """Return the built-in generators, and those of a folder or the repository."""
    if folder is not None:
        return [*BUILT_IN, *listed(folder)]
    adapters = REPOSITORY / "benchmarks" / "generators"
    return [*BUILT_IN, *(listed(adapters) if (adapters / "generators.json").exists() else ())]
