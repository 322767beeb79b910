"""docs/lab/paper.md: every claim of the paper, where it is in this repository, which test guards it, and its state.

    python -m benchmarks.claims            # writes the page
    python -m benchmarks.claims --check    # lists references that lead nowhere

The claims are in `benchmarks/paper/claims.csv`, one line each, in our own words. `where` is `file::symbol`, `test` is
`file::test`; several are separated by spaces. `state` is `exact`, `departs` (docs/deviations.md says how and why) or
`open`.
"""

from __future__ import annotations

import argparse
import ast
import csv
import functools
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import paper_under_way
from .pages import ROOT, as_table
from .paper_runs import RESULTS, section

CLAIMS = Path(__file__).parent / "paper" / "claims.csv"
PAGE = ROOT / "docs" / "lab" / "paper.md"
EXACT, DEPARTS, OPEN = "exact", "departs", "open"
STATES = {
    EXACT: "as the paper says",
    DEPARTS: "not as the paper says, or chosen where it is silent: [how and why](../deviations.md)",
    OPEN: "missing",
}
HEAD = """# The paper, claim by claim

Written by `python -m benchmarks.claims` from `benchmarks/paper/claims.csv`; do not edit. A test follows every reference
in the table.

The claims, equations, settings, experiments, tables and figures of *TabTreeFormer: Tabular Data Generation Using Hybrid
Tree-Transformer* (AISTATS 2026), in our own words.
"""


FIGURES = {
    "sigmoids": "The sigmoid with its core range, and other functions that `model.quantile_embedding` offers",
    "embeddings": "Quantile and positional embeddings of 1000 ids; colours are dimensions",
    "distances": "Distances from the embedding of one id: those of quantiles grow with the distance of the ids",
    "ocel_weights": "Weights of the ordinal cross-entropy, scaled to norm 1",
}


def read() -> list[dict[str, str]]:
    """All claims, in the order of the file."""
    with CLAIMS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def page(claims: Sequence[dict[str, str]], runs: Path = RESULTS) -> str:
    """The text of the page."""
    counts = Counter(claim["state"] for claim in claims)
    states = [[state, counts[state], meaning] for state, meaning in STATES.items()]
    parts = [HEAD, as_table(["state", "claims", "meaning"], states), ""]
    for part in dict.fromkeys(claim["part"] for claim in claims):
        rows = [
            [c["number"], c["claim"], _places(c["where"]), _places(c["test"]), c["state"], c["note"]]
            for c in claims
            if c["part"] == part
        ]
        table = as_table(["", "claim", "where", "test", "state", "note"], rows)
        parts += [f"## {part[0].upper()}{part[1:]}", "", table, ""]
    return "\n".join([*parts, section(runs), "", paper_under_way.section(), *_figures()])


def _figures() -> Iterator[str]:
    """The figures of the equations, which lie beside the page."""
    yield "## The figures of its equations\n\nDrawn from the functions that networks start from and are trained with.\n"
    for name, caption in FIGURES.items():
        yield f"![{caption}]({PAGE.stem}/{name}.svg)\n\n*{caption}.*\n"


def _places(text: str) -> str:
    """References as code, the name first and its file after it."""
    found = (reference.split("::") for reference in text.split())
    return "<br>".join(f"`{name}` in `{file.removeprefix('src/tabtreeformer/')}`" for file, name in found)


def dead(claims: Sequence[dict[str, str]]) -> Iterator[str]:
    """References that lead nowhere, and states that do not exist, each with its claim."""
    for claim in claims:
        if claim["state"] not in STATES:
            yield f"{claim['number']}: state {claim['state']!r}"
        if claim["state"] != OPEN and not (claim["where"] and claim["test"]):
            yield f"{claim['number']}: no place or no test"
        for reference in (claim["where"] + " " + claim["test"]).split():
            file, _, name = reference.partition("::")
            if name not in _names(ROOT / file):
                yield f"{claim['number']}: {reference}"


@functools.cache
def _names(path: Path) -> frozenset[str]:
    """What a Python file defines: functions, classes, methods as `Class.method`, and names at the top."""
    if not path.exists():
        return frozenset()
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{own.name}" for own in node.body if isinstance(own, ast.FunctionDef)}
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            found |= {name.id for name in ast.walk(target) if isinstance(name, ast.Name)} if target else set()
    return frozenset(found)


def main(arguments: list[str] | None = None) -> None:
    """Write the page, or list what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only list references that lead nowhere")
    options = parser.parse_args(arguments)
    claims = read()
    wrong = list(dead(claims))
    print("\n".join(wrong) or f"{len(claims)} claims, no dead reference")
    if not options.check:
        PAGE.write_text(page(claims), encoding="utf-8")
        draw()


def draw() -> None:
    """Draw the figures of the equations beside the page."""
    from .report.equations import draw as drawn
    from .report.figures import Book

    with tempfile.TemporaryDirectory() as folder:
        for name in drawn(Book(Path(folder))):
            target = PAGE.with_suffix("") / f"{name}.svg"
            target.parent.mkdir(exist_ok=True)
            shutil.copy(Path(folder) / f"{name}.svg", target)


if __name__ == "__main__":
    main()
