"""How finding and keeping laws affects the other measures: the same fits with and without laws, on the same halves.

    python -m benchmarks.law_cost --data ../shared/data --writers trees,auto --seeds 3
    python -m benchmarks.law_cost --page docs/lab/laws.md        writes the means of the CSV into the page

A random half of each table is learned, the other is unseen, as in `benchmarks.unseen`. Tables in which no law is found
are left out: their fits are identical. A second call completes the CSV instead of repeating its runs.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measured import append, asked, known_in, names, parser
from benchmarks.pages import as_table
from benchmarks.unseen import halves, load
from tabtreeformer import Schema, TabTreeFormer, evaluate
from tabtreeformer._runtime.threads import use_cores

KEYS = ["table", "seed", "writer", "laws"]
METRICS = ("utility", "shape_unseen", "trend_unseen", "detection_unseen")
NUMBERS = {"cpu_seconds": 1, "relative_error": 3, "shape_error": 4, "trend_error": 4, "auc": 3}
TABLES = ("breast-w", "diabetes", "wdbc", "qsar-biodeg", "insurance", "auto_imports", "abalone", "wine_quality")


def main() -> None:
    """Measure what is not yet in the CSV."""
    arguments = parser(__doc__, "law_cost.csv", TABLES)
    arguments.add_argument("--writers", type=names, default=["trees", "auto"])
    options = asked(arguments, {"other measures": means})
    use_cores(1)
    for seed in range(options.seeds):
        for table in options.tables:
            for writer in options.writers:
                _compare(table, seed, writer, options.data, options.results)


def _compare(table: str, seed: int, writer: str, data: Path, results: Path) -> None:
    """Fit with and without laws on the same half."""
    known = known_in(results, KEYS)
    frame, target = load(data, table)
    train, unseen = halves(frame, seed)
    remembered: dict[Any, Any] = {}
    for laws, constraints in (("found", "auto"), ("none", None)):
        if (table, seed, writer, laws) in known:
            continue
        started = time.process_time()
        privacy = "off" if writer == "trees" else "balanced"
        model = TabTreeFormer(
            writer, target, privacy=privacy, constraints=constraints, random_state=seed, verbose=False
        ).fit(train)
        rows = model.sample(len(train), random_state=seed)
        seconds = time.process_time() - started
        scores = evaluate(
            train, unseen, rows, target=target, schema=Schema.infer(train, target), metrics=METRICS, references=False,
            random_state=seed, remembered=remembered,
        ).scores  # fmt: skip
        facts = {
            "n_laws": len(model.fitted_.codec.laws.laws),
            "cpu_seconds": round(seconds, 2),
            "relative_error": scores["utility"].value if "utility" in scores else float("nan"),
            "shape_error": 1 - scores["shape_unseen"].value,
            "trend_error": 1 - scores["trend_unseen"].value,
            "auc": scores["detection_unseen"].value,
        }
        append(results, {"table": table, "seed": seed, "writer": writer, "laws": laws, **facts})


def means(results: pd.DataFrame) -> str:
    """Means over seeds, with laws and without beside each other."""
    rows = []
    for (table, writer), group in results.groupby(["table", "writer"], sort=False):
        mean = group.groupby("laws")[["n_laws", *NUMBERS]].mean()
        if set(mean.index) == {"found", "none"} and mean.loc["found", "n_laws"] > 0:
            cells = [f"{mean.loc['found', n]:.{d}f} / {mean.loc['none', n]:.{d}f}" for n, d in NUMBERS.items()]
            seeds = group["seed"].nunique()
            rows.append([table, writer, seeds, f"{mean.loc['found', 'n_laws']:.0f}", *cells])
    both = results[results.duplicated(["table", "seed", "writer"], keep=False)]
    several = both.groupby("writer")["table"].transform("nunique") > 1
    for writer, group in both[several].groupby("writer", sort=False):
        mean = group.groupby("laws")[list(NUMBERS)].mean()
        cells = [f"{mean.loc['found', n]:.{d}f} / {mean.loc['none', n]:.{d}f}" for n, d in NUMBERS.items()]
        rows.append(["all", writer, "", "", *cells])
    head = ("table", "writer", "seeds", "laws", "CPU s", "relative error", "Shape error", "Trend error", "AUC")
    return as_table(head, rows) + "\nWith laws / without.\n" if np.any(rows) else as_table(head, rows)


if __name__ == "__main__":
    main()
