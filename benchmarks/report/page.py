"""The words of docs/benchmark.md; every number in it comes from the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ..generators import GENERATORS
from ..tables import LARGE, SMALL
from . import numbers

FIGURES = {
    "radar": "Eight measures on fixed scales, over the tables that all of these finished; large and round is good",
    "pareto": "Quality against time; the dashed line joins those that nobody beats in both",
    "by_features": "What auto gains in Trend over each rival, and what a row costs, against the number of columns",
    "marginals": "Densities of columns with several modes",
    "correlation": "Correlations of the real rows, and the error of each generator's",
    "mask_ratio": "Mask ratio", "temperature": "Temperature", "number_of_trees": "Number of trees",
    "tree_model": "Tree model", "equal_time": "The same time for everybody",
}  # fmt: skip

START = """# Comparison with other generators

Written by `python -m benchmarks report --page docs/benchmark.md` from `benchmarks/results/*.csv`; do not edit.

All generators learn the same 80 % of a table (the split is the seed's) and draw as many rows as they learned; all rows
are judged by the same code: utility is the signed relative error of models trained on them against models trained on
real rows, tested on the real rest (`quick` settings, not tuned as in the paper); Shape and Trend are against the
training rows. Each run is a process on one thread (`OMP_NUM_THREADS=1`), and times are processor seconds, which mean
about the same on a busy machine (this one was busy in many of the runs, which costs caches and so
processor time too). Packages of others run with their documented defaults; rivals without a package were
written here from their papers, in sizes that a CPU can train (each file's first lines say how). The paper's numbers
come from GPUs, tuned evaluators and other splits.
"""

BESIDE = """What differs, beyond splits, evaluators and the few seeds here: **ForestDiffusion** and **TabSyn** come
out about as printed, TabSyn nearer to the training rows. **TabMT** comes out as printed over all tables, behind on
iris (the paper's widths were searched, and 120 rows stop ours early); it is what `auto` would be if it were masked
instead of autoregressive and had no trees. **REaLTabFormer** comes out about as printed on its two tables, with less
Trend on iris; on breast-w it fails the distance test here and there. **CTAB-GAN+** and **TTVAE** are better here on
nearly every table; TTVAE draws between neighbouring real rows, which fails the distance test here and does not in the
paper, for reasons that we do not know. **Tabula** copies training rows on every table here, on some in the paper.
**GReaT** is not pretrained here and is no measure of the published one. On breast-w the paper prints a low Shape and
Trend for everybody, its own models too; here its whole numbers from 1 to 10 come back as whole numbers. ARF, CTGAN,
TVAE and TabularARGN are not in the paper's tables; they are packages with their defaults.
"""


def compose(
    tables: Mapping[str, tuple[str, str]],
    figures: Sequence[str],
    runs: pd.DataFrame,
    facts: Mapping[str, Any],
    folder: str,
) -> str:
    """Put the page together; a section without a table is not written."""
    parts = [START, _machine(facts), _extent(runs)]
    sections = (
        ("In one table", ("complete", "summary"), ("radar", "pareto")),
        ("Against auto, run by run", ("against",), ()),
        ("Beside the paper", ("beside_paper",), ()),
        ("Utility", ("relative_error", "utility"), ()),
        ("Fidelity", ("shape", "trend"), ("by_features", "marginals", "correlation")),
        ("Privacy", ("privacy", "dcr", "membership"), ()),
        ("Time", ("fit_cpu_seconds", "sample_cpu_seconds"), ()),
        ("The same time for everybody", ("leaders", "equal_time"), ("equal_time",)),
        ("Ablations", ("ablations", "settings"), ("mask_ratio", "temperature", "number_of_trees", "tree_model")),
        ("What failed", ("unfinished",), ()),
    )
    for title, names, pictures in sections:
        body = [BESIDE] if title == "Beside the paper" and "beside_paper" in tables else []
        body += [f"{tables[n][0]}\n\n{tables[n][1]}\n" for n in names if n in tables]
        body += [f"![{FIGURES[p]}]({folder}/{p}.svg)\n\n*{FIGURES[p]}.*\n" for p in pictures if p in figures]
        if body:
            parts.append(f"## {title}\n\n" + "\n".join(body))
    parts.append(_generators(runs))
    return "\n".join(parts)


def _machine(facts: Mapping[str, Any]) -> str:
    if not facts:
        return ""
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return (
        f"Made on {facts['cores']} cores with {facts['memory_gib']} GiB of memory and no GPU, {facts['system']}, "
        f"Python {facts['python']}: {versions}.\n"
    )


def _extent(runs: pd.DataFrame) -> str:
    """What was run, and what is missing."""
    ends = runs[runs["metric"] == "run"]
    count = ends["status"].value_counts()
    ways = {"ok": "ended well", "failed": "failed", "timeout": "took too long"}
    words = ", ".join(f"{count[status]} {words}" for status, words in ways.items() if status in count)
    budgets = ", ".join(f"{b:g} s" for b in sorted(ends["budget_seconds"].dropna().unique()))
    absent = numbers.missing(runs, [*SMALL, *LARGE], [g.name for g in GENERATORS], 3)
    borrowed = (ends["message"] == "benchmarks/quality.py").sum()
    if borrowed:
        words += f" ({borrowed} of auto made by `benchmarks/quality.py`: same splits and judge, no processor times)"
    lines = [
        f"{len(ends)} runs: {words}. Processor time allowed for a run: {budgets}. Means over fewer tables or seeds "
        "than others have are not to be compared with them; the table of differences below is.",
        "",
        "Runs that exist of the three seeds of each pair, where not all do (0: never run, for want of time on this "
        "machine; there the paper's own presets would take hours a fit):",
        "",
        "| | " + " | ".join(absent.columns) + " |",
        "|---" * (absent.shape[1] + 1) + "|",
        *(f"| {row[0]} | " + " | ".join(str(v) for v in row[1:]) + " |" for row in absent.itertuples()),
        "",
    ]  # fmt: skip
    return "\n".join(lines)


def _generators(runs: pd.DataFrame) -> str:
    made = runs.loc[runs["metric"] == "run", "generator"].value_counts()
    rows = [f"| {g.name} | {g.family} | {made.get(g.name, 0)} | {g.note} |" for g in GENERATORS]
    head = ["## The generators", "", "| name | kind | runs, each in its own time | note |", "|---|---|---:|---|"]
    return "\n".join([*head, *rows, ""])
