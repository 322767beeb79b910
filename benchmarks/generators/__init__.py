"""All generators of the comparison: those that come with the package, and rivals that have none, written here."""

from __future__ import annotations

from pathlib import Path

from tabtreeformer.compare import BUILT_IN, GeneratorSpec, choose

HERE = Path(__file__).parent

WRITTEN = (
    GeneratorSpec(name="tabmt", family="written here", file=HERE / "tabmt.py", paper="tabmt"),
    GeneratorSpec(name="tabsyn", family="written here", file=HERE / "tabsyn.py", paper="tabsyn"),
)
GENERATORS = (*BUILT_IN, *WRITTEN)


def chosen(names: str) -> list[GeneratorSpec]:
    """Look up a list of names."""
    return choose(names.split(","), GENERATORS)
