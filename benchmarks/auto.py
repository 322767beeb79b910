"""What each choice of the preset `auto` costs and buys: quality on unseen rows, the attack by density, processor time.

    python -m benchmarks.auto --data ../shared/data --tables diabetes,credit-g --seeds 3
    python -m benchmarks.auto --variants "auto,rows one by one"
    python -m benchmarks.auto --page docs/lab/auto.md        writes the means of the CSV into the page

Each variant is `auto` with one choice undone. A random half of each table is learned, the other half is unseen, as in
`benchmarks.unseen`, whose measures are used. A second call completes the CSV instead of repeating its runs.
"""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd

from benchmarks.measured import append, asked, names, parser, unmeasured
from benchmarks.pages import as_table
from benchmarks.unseen import Judge, halves, load
from tabtreeformer import TabTreeFormer
from tabtreeformer._runtime.threads import use_cores
from tabtreeformer.config.override import parse_settings

TABLES = ("diabetes", "credit-g", "insurance", "abalone", "churn_modelling", "california_housing")
VARIANTS = {
    "auto": (),
    "values never masked": ("train.value_mask=[0, 0]",),
    "values masked as in the paper": ("train.value_mask=[0.25, 0.5]",),
    "leaves never masked": ("train.leaf_mask=[0, 0]",),
    "prompts of a network's own rows": ("train.prompts=trained",),
    "every value kept": ("tokens.rare_floor=0",),
    "temperatures 1.3 and 1.1": ("sampling.temperature_numeric=1.3", "sampling.temperature_category=1.1"),
    "networks part at the start": ("train.shared_share=0",),
    "no trees": ("tree.model=none",),
    "AdamW for all weights": ("train.matrix_rate=0",),
    "margins as learned": ("train.margins=false",),
    "rows one by one": ("sampling.together=false",),
    "no lines between columns": ("model.copula=false",),
    "12 functions of the rank": ("model.functions=12",),
    "one network per row": ("sampling.committee=0",),
}
"""Protections first, then what is there for quality or speed."""
MAX_ROWS = 10_000
"""Larger tables are cut to this many rows, half of which are learned."""
NUMBERS = {
    "cpu_seconds": 1, "relative_error": 3, "shape_error": 4, "trend_error": 4, "auc": 3, "attack": 3, "found_at_1": 3
}  # fmt: skip


def main() -> None:
    """Measure what is not yet in the CSV."""
    arguments = parser(__doc__, "auto.csv", TABLES)
    arguments.add_argument("--variants", type=names, default=list(VARIANTS))
    options = asked(arguments, {"auto": means})
    use_cores(1)
    for table, seed, variants in unmeasured(options, options.variants):
        measure(table, seed, variants, options.data, options.results)


def measure(table: str, seed: int, variants: list[str], data: Path, results: Path) -> None:
    """Fit, write and judge with each variant, on the same half of a table."""
    frame, target = load(data, table)
    train, unseen = halves(frame.sample(min(len(frame), MAX_ROWS), random_state=0), seed)
    judge = Judge(train, unseen, target, seed)
    for variant in variants:
        started = time.process_time()
        model = TabTreeFormer(
            "auto", target, random_state=seed, verbose=False, **parse_settings(VARIANTS.get(variant, ()))
        ).fit(train)
        seconds = time.process_time() - started
        rows = model.sample(len(train), random_state=seed)
        facts = {"rows": len(train), "cpu_seconds": round(seconds, 2)}
        append(results, {"table": table, "seed": seed, "writer": variant, **facts, **judge(rows)})


def means(results: pd.DataFrame) -> str:
    """The means over seeds, by table and variant, and those over the tables of `auto`, each counting the same."""
    numbers = list(NUMBERS)
    by_table = results.groupby(["table", "writer"], sort=False)[numbers].mean()
    seeds = results.groupby(["table", "writer"]).size()
    rows = [[table, variant, seeds[table, variant], *_written(mean)] for (table, variant), mean in by_table.iterrows()]
    rows.sort(key=lambda row: row[0])
    tables = {variant: set(group["table"]) for variant, group in results.groupby("writer", sort=False)}
    for variant in (v for v, own in tables.items() if own == tables.get("auto")):
        rows.append(["all", variant, "", *_written(by_table.xs(variant, level="writer").mean())])
    head = (
        "table", "variant", "seeds", "CPU s", "relative error", "Shape error", "Trend error", "two-sample AUC",
        "attack", "found at 1 %",
    )  # fmt: skip
    return as_table(head, rows)


def _written(mean: pd.Series) -> list[str]:
    return [f"{mean[name]:.{digits}f}" for name, digits in NUMBERS.items()]


if __name__ == "__main__":
    main()
