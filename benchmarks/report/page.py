"""The text of docs/lab/benchmark.md; all its numbers come from the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ..generators import GENERATORS
from ..tables import LARGE, SMALL
from . import numbers

FIGURES = {
    "radar": "Eight measures on fixed scales, over the tables that all of these finished; large and round is good",
    "pareto": "Quality against time; the dashed line joins the generators that no other beats in both",
    "by_features": "What auto gains in Trend over each generator, and the cost per row, against the number of columns",
    "marginals": "Densities of columns with several modes",
    "correlation": "Correlations of the real rows, and the error of each generator's",
    "leaf_mask": "Share of the leaves that is masked", "value_mask": "Share of the values that is masked",
    "temperature": "Temperature of numbers", "number_of_trees": "Number of trees",
    "tree_model": "Tree model", "equal_time": "The same budget for every generator",
}  # fmt: skip

START = """# Comparison with other generators

Written by `python -m benchmarks report --pages .` from `benchmarks/results/`; do not edit.

All generators learn the same 80 % of a table ({split}) and draw as many rows as they learned. All rows are
scored by the same code: utility is the signed relative error of models trained on them compared with models trained on
real rows, tested on the other 20 % ({utility}); Shape and Trend are measured against
the training rows. Each run is a process on {threads}. Times are processor seconds, which depend
little on the load of the machine (it was busy during many runs, which costs caches and so some processor time).

What to know before comparing:

- `auto 0.1` is the preset before its last change. **`auto` was developed on these very tables**; the other generators
  run with their documented defaults and are not
  tuned. That favours `auto`.
- **Generators "written here" are our reimplementations** from the papers (tabmt, tabsyn, ctabgan_plus, ttvae, tabula),
  in sizes that a CPU can train; the first lines of each file say how they differ. GReaT starts from random weights.
- **adult is OpenML's version 1**, in which age, capital gain, capital loss and hours are binned into five values each.
- The paper's numbers come from GPUs, tuned evaluators and other splits. Its models S, L and NM were not run here.
- `holdout` are real rows that no generator saw, a quarter as many as the others draw, which costs them Shape and Trend.
  Their distance test compares one half of them with the other.
"""

BESIDE = """Splits, evaluators and the number of seeds differ. **ForestDiffusion** and **TabSyn** come out about as
printed, TabSyn closer to the training rows. **TabMT** comes out as printed over all tables, and behind on iris. It is
what `auto` would be with masked instead of autoregressive training and without trees. **REaLTabFormer** comes out about
as printed, with less Trend on iris; on breast-w it fails the distance test here and there. **CTAB-GAN+** and **TTVAE**
are better here on nearly every table; TTVAE draws between neighbouring real rows, which fails the distance test here
and not in the paper; we do not know why. **Tabula** copies training rows on every table here, on some in the paper. On
breast-w the paper prints a low Shape and Trend for all models; here whole numbers from 1 to 10 come back as whole
numbers. ARF, CTGAN, TVAE, TabularARGN, CART and UnmaskingTrees are not in the paper's tables.
"""


def compose(
    tables: Mapping[str, tuple[str, str]],
    figures: Sequence[str],
    runs: pd.DataFrame,
    facts: Mapping[str, Any],
    folder: str,
) -> str:
    """Put the page together; a section without a table is not written."""
    parts = [_start(facts), _machine(facts), _extent(runs)]
    sections = (
        ("In one table", ("complete", "summary"), ("radar", "pareto")),
        ("Compared with auto, run by run", ("against",), ()),
        ("Next to the paper", ("beside_paper",), ()),
        ("Utility", ("relative_error", "averages", "raw_utility", "utility"), ()),
        ("Fidelity", ("fidelity", "shape", "trend"), ("by_features", "marginals", "correlation")),
        ("Privacy", ("privacy", "dcr", "membership", "exact_copies", "copies"), ()),
        ("Utility and privacy together", ("balance",), ()),
        ("Time", ("fit_cpu_seconds", "sample_cpu_seconds"), ()),
        ("The same budget for every generator", ("leaders", "equal_time"), ("equal_time",)),
        (
            "Ablations",
            ("parts", "ablations", "settings"),
            ("leaf_mask", "value_mask", "temperature", "number_of_trees", "tree_model"),
        ),
        ("What failed", ("unfinished",), ()),
    )
    for title, names, pictures in sections:
        body = [BESIDE] if title == "Next to the paper" and "beside_paper" in tables else []
        body += [f"{tables[n][0]}\n\n{tables[n][1]}\n" for n in names if n in tables]
        body += [f"![{FIGURES[p]}]({folder}/{p}.svg)\n\n*{FIGURES[p]}.*\n" for p in pictures if p in figures]
        if body:
            parts.append(f"## {title}\n\n" + "\n".join(body))
    parts.append(_generators(runs))
    return "\n".join(parts)


def _start(facts: Mapping[str, Any]) -> str:
    """Say how the runs were made."""
    splits = {"seed": "split by the seed", "one": "one split for all seeds, as in the paper"}
    settings = {
        "quick": "`quick` settings, not tuned as in the paper",
        "tuned": "tuned with 30 trials, as in the paper",
    }
    threads = facts.get("threads per run", 1)
    return START.format(
        split=splits[facts.get("split", "seed")],
        utility=settings[facts.get("utility", "quick")],
        threads="one thread (`OMP_NUM_THREADS=1`)" if threads == 1 else f"{threads} threads",
    )


def _machine(facts: Mapping[str, Any]) -> str:
    if "cores" not in facts:
        return ""
    gpu = facts.get("gpu") or "no GPU"
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return (
        f"Made on {facts['cores']} cores with {facts['memory_gib']} GiB of memory and {gpu}, {facts['system']}, "
        f"Python {facts['python']}: {versions}.\n"
    )


def _extent(runs: pd.DataFrame) -> str:
    """Say what was run, and what is missing."""
    ends = runs[runs["metric"] == "run"]
    count = ends["status"].value_counts()
    ways = {"ok": "succeeded", "failed": "failed", "timeout": "took too long"}
    words = ", ".join(f"{count[status]} {words}" for status, words in ways.items() if status in count)
    budgets = ", ".join(f"{b:g} s" for b in sorted(ends["budget_seconds"].unique()) if b)
    absent = numbers.missing(runs, [*SMALL, *LARGE], [g.name for g in GENERATORS], 3)
    untimed = (ends["message"] == "without processor times").sum()
    if untimed:
        words += f" ({untimed} of auto 0.1 without processor times: by an earlier script, same splits and scores)"
    lines = [
        f"{len(ends)} runs: {words}. Budget of a run, in processor time: {budgets}. Do not compare means over "
        "different tables or seeds; the table of differences below compares run by run.",
        "",
        "Number of runs (of three seeds) per generator and table, where some are missing (0: not run, for lack of time "
        "on this machine; the paper's presets are made for GPUs):",
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
    head = ["## The generators", "", "| name | kind | runs | note |", "|---|---|---:|---|"]
    return "\n".join([*head, *rows, ""])
