"""All generators of the comparison: those that come with the package, and rivals that have none, written here."""

from __future__ import annotations

from pathlib import Path

from tabtreeformer.compare import BUILT_IN, GeneratorSpec, choose

HERE = Path(__file__).parent

PAPER = {"tabmt": "tabmt", "tabsyn": "tabsyn", "ctabgan_plus": "ctab_plus", "ttvae": "ttvae", "tabula": "tabula"}
WRITTEN = tuple(
    GeneratorSpec(
        name=name, family="written here", file=HERE / f"{name}.py", paper=paper, note="smaller than its paper's"
    )
    for name, paper in PAPER.items()
)
GENERATORS = (*BUILT_IN, *WRITTEN)


def chosen(names: str) -> list[GeneratorSpec]:
    """Look up a list of names."""
    return choose(names.split(","), GENERATORS)
