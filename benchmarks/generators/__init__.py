"""All generators of the comparison: those of the package, and those that this folder's generators.json describes."""

from __future__ import annotations

from pathlib import Path

from tabtreeformer.cli.generators import BUILT_IN
from tabtreeformer.evaluation.compare import GeneratorSpec, choose, listed

HERE = Path(__file__).parent
GENERATORS = (*BUILT_IN, *listed(HERE))


def chosen(names: str) -> list[GeneratorSpec]:
    """Look up a comma-separated list of names."""
    return choose(names.split(","), GENERATORS)
