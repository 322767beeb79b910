"""How good the rows are: the paper's nine tables × presets × seeds, judged by this project's evaluation.

    python benchmarks/quality.py --data ../shared/data --seeds 3 --jobs 2
    python benchmarks/quality.py --tables iris,diabetes --set train.steps=500 --label short
    python benchmarks/quality.py --tables diabetes,boston --ablations      each part of `auto` taken away in turn
    python benchmarks/quality.py --jobs 64 --engine ray                    the grid on a Ray cluster
    python benchmarks/quality.py --tables credit-g --openml                downloads the table from openml.org
    python benchmarks/quality.py --out results.csv --page page.md          writes the means of the CSV into a page;
                                                                           with --ablations, those of each of them

One row a run goes to a CSV, which a second call completes instead of repeating; the summary stands beside the paper's
numbers. With `--models` the models are kept in a folder, where `privacy.py` and `asking.py` find them. Each run is a
process of its own on one thread: steps this small lose badly to thread contention. The folder of the tables holds them
as CSV, and a `datasets.json` that names their targets and categorical columns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

from pages import as_table, put
from tabtreeformer import engines

HERE = Path(__file__).parent
KEYS = ["label", "preset", "table", "seed"]
METRICS = {
    "utility": "relative error", "shape": "Shape", "trend": "Trend", "detection": "two-sample AUC", "dcr": "DCR p",
    "membership": "membership AUC", "copies": "copies", "copies_holdout": "copies in hold-out", "fit_seconds": "fit s",
    "rows_per_second": "rows/s",
}  # fmt: skip


ABLATIONS = {
    "whole": [],
    "no pooled prompts": ["model.pool=1"],
    "no trees": ["tree.model=none"],
    "no atoms (the paper's quantiles, drawn inside)": ["tokens.scheme=quantile", "tokens.bins=8", "tokens.decode=draw"],
    "bins before ids": ["tokens.bins=8"],
    "biases start at zero": ["model.frequency_start=false"],
    "no smooth functions": ["model.basis=0"],
    "own embeddings for all ids": ["model.own_rows=0"],
    "no smoothed targets": ["model.smoothing=0"],
    "no average of weights": ["train.average=0"],
    "table order": ["model.order=natural"],
    "no row in table order": ["train.table_orders=0"],
    "prompts of trained rows": ["train.prompts=trained"],
    "temperature 1": ["sampling.temperature_category=1", "sampling.temperature_numeric=1"],
    "dropout 0.1": ["model.dropout=0.1"],
    "GELU": ["model.activation=gelu"],
    "the size of large tables": ["model.width=64", "model.feed_forward=256", "model.layers=3"],
}
"""What is taken away from, or put back into, the preset."""


MARKS = "<!-- quality: begin -->", "<!-- quality: end -->"
ABLATION_MARKS = "<!-- ablations: begin -->", "<!-- ablations: end -->"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--tables", default="iris,boston,diabetes,breast-w,wdbc,credit-g,qsar-biodeg")
    parser.add_argument("--presets", default="auto")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--engine", choices=engines.ENGINES, default="processes", help="who the jobs are run by")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.FIELD=VALUE")
    parser.add_argument("--label", default="", help="names the settings in the CSV")
    parser.add_argument("--out", type=Path, default=Path("out/quality.csv"))
    parser.add_argument("--models", type=Path, help="folder in which the fitted models are kept")
    parser.add_argument("--ablations", action="store_true", help="run every ablation under a label of its own")
    parser.add_argument("--openml", action="store_true", help="download the tables from openml.org instead of --data")
    parser.add_argument("--page", type=Path, help="write the means into this page, and run nothing")
    parser.add_argument("--one", nargs=3, metavar=("PRESET", "TABLE", "SEED"), help=argparse.SUPPRESS)
    return parser.parse_args()


def load(data: Path | None, name: str, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """A table without its incomplete rows, split 4:1 by the seed, and its target; from openml.org without a folder."""
    sys.path.insert(0, str(HERE.parent))  # where `benchmarks` is, also for who runs this file by its path
    from benchmarks.tables import load as load_table

    table = load_table(name, data)
    return *table.split(seed), table.target


def run_one(options: argparse.Namespace) -> None:
    """Fit, sample, judge; print one JSON line."""
    import torch

    from tabtreeformer import TabTreeFormer, evaluate
    from tabtreeformer.config import parse_settings

    torch.set_num_threads(1)
    preset, table, seed = options.one[0], options.one[1], int(options.one[2])
    train, test, target = load(None if options.openml else options.data, table, seed)
    started = time.perf_counter()
    model = TabTreeFormer(preset, target, **parse_settings(options.set), random_state=seed, verbose=False)
    # Held-out rows only serve the verdict at the end: the model is the same without them.
    model.fit(train, holdout=test)
    fitted = time.perf_counter()
    if options.models:
        model.save(options.models / f"{table}-{seed}.tabtree")
    synthetic = model.sample(len(train), random_state=seed)
    sampled = time.perf_counter()
    scores = evaluate(train, test, synthetic, target=target, random_state=seed).scores
    row = {"label": options.label, "preset": preset, "table": table, "seed": seed}
    row |= {name: scores[name].value for name in METRICS if name in scores}
    row |= {f"utility_{e['evaluator']}": e["relative_error"] for e in scores["utility"].breakdown["evaluators"]}
    row |= {
        "copies_holdout": scores["copies"].ceiling,
        "fit_seconds": fitted - started,
        "rows_per_second": len(train) / (sampled - fitted),
        "steps": sum(run["steps"] for run in model.summary()["training"]),
        "parameters": model.summary()["parameters"],
    }
    print(json.dumps(row))


def command(options: argparse.Namespace, key: tuple[str, ...]) -> list[str]:
    """The words after `python quality.py` that make one run."""
    words = ["--data", str(options.data.absolute()), "--label", options.label, "--one", *key[1:]]
    words += ["--openml"] if options.openml else []
    words += ["--models", str(options.models.absolute())] if options.models else []
    return words + [word for setting in options.set for word in ("--set", setting)]


class Runs:
    """What a worker does: each run in a process of its own."""

    def __init__(self, settings: dict[str, Any], files: dict[str, Path]) -> None:
        self.environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

    def __call__(self, words: list[str]) -> dict[str, Any]:
        """The row of one run, or what went wrong."""
        finished = subprocess.run(
            [sys.executable, __file__, *words], capture_output=True, text=True, env=self.environment
        )
        if finished.returncode:
            return {"fault": finished.stderr.strip().splitlines()[-1]}
        row: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
        return row


def run_all(options: argparse.Namespace) -> pd.DataFrame:
    """Run what the CSV does not hold yet, so many at a time."""
    for folder in filter(None, (options.out.parent, options.models)):
        folder.mkdir(parents=True, exist_ok=True)
    done = pd.read_csv(options.out, keep_default_na=False) if options.out.exists() else pd.DataFrame(columns=KEYS)
    known = {tuple(map(str, row)) for row in done[KEYS].itertuples(index=False)}
    wanted = [
        (options.label, preset, table, str(seed))
        for seed in range(options.seeds)
        for preset in options.presets.split(",")
        for table in options.tables.split(",")
    ]
    rows = done.to_dict("records")
    left = [key for key in wanted if key not in known]
    for place, result in engines.run("quality:Runs", [command(options, key) for key in left], engine=options.engine,
                                     workers=options.jobs):  # fmt: skip
        if "fault" in result:
            print(f"{left[place]}: failed: {result['fault']}", flush=True)
            continue
        rows.append(result)
        pd.DataFrame(rows).to_csv(options.out, index=False)
        shown = "  ".join(f"{METRICS[m]} {rows[-1][m]:.3f}" for m in METRICS)
        print(f"{' '.join(left[place][1:])}  {shown}", flush=True)
    frame = pd.DataFrame(rows)
    mine = frame["label"].astype(str).eq(options.label) & frame["table"].isin(options.tables.split(","))
    return frame[mine]


def summarise(frame: pd.DataFrame) -> None:
    """Means by table and over all, beside the paper's."""
    pd.set_option("display.width", 200, "display.max_columns", 30)
    for preset, part in frame.groupby("preset"):
        columns = list(METRICS)
        means = part.groupby("table")[columns].mean()
        means.loc["mean"] = means.mean()
        print(f"\n{preset}: mean over {part['seed'].nunique()} seeds")
        print(means.rename(columns=METRICS).round(3).to_string())
        print(f"DCR violations: {(part['dcr'] < 0.05).sum()} of {len(part)} runs")
    tables = sorted(frame["table"].unique())
    print(f"\nthe paper, mean over the same {len(tables)} tables (its own splits, tuned evaluators)")
    print(paper_means(tables).round(3).to_string())


def markdown(frame: pd.DataFrame) -> str:
    """One line a table, means over its seeds, and the mean over the tables."""
    names = {name: title for name, title in METRICS.items() if name not in ("copies_holdout", "fit_seconds")}
    head = ["table", "seeds", *names.values(), "lowest DCR p", "fit s"]
    rows = []
    means = frame.groupby("table")[list(METRICS)].mean()
    lowest, seeds = frame.groupby("table")["dcr"].min(), frame.groupby("table")["seed"].nunique()
    means.loc["**mean**"], lowest["**mean**"] = means.mean(), lowest.min()
    for table, row in means.iterrows():
        cells = {name: f"{row[name]:.3f}" for name in names}
        cells["copies"] += f" ({row['copies_holdout']:.3f})"
        whole = table in seeds
        cells["rows_per_second"] = f"{row['rows_per_second']:,.0f}" if whole else ""
        fit = f"{row['fit_seconds']:,.0f}" if whole else ""
        rows.append([table, seeds.get(table, ""), *cells.values(), f"{lowest[table]:.3f}", fit])
    violated, median = (frame["dcr"] < 0.05).sum(), frame["dcr"].median()
    ending = f"Distance tests below 0.05: {violated} of {len(frame)} runs; the median p is {median:.2f}."
    return f"{as_table(head, rows)}\n\n{ending}"


def ablations_markdown(frame: pd.DataFrame) -> str:
    """One line a table and ablation, means over its seeds."""
    names = {name: METRICS[name] for name in ("utility", "shape", "trend", "detection", "dcr", "membership")}
    head = ["table", "", "seeds", *names.values(), "violations", "steps"]
    rows = []
    for table in frame["table"].drop_duplicates():
        for label in ABLATIONS:
            part = frame[(frame["table"] == table) & (frame["label"] == label)]
            if len(part):
                means = [f"{part[name].mean():.3f}" for name in names]
                violations, steps = (part["dcr"] < 0.05).sum(), f"{part['steps'].mean():,.0f}"
                rows.append([table, label, len(part), *means, violations, steps])
    return as_table(head, rows)


def write_page(frame: pd.DataFrame, page: Path, *, ablations: bool = False) -> None:
    """Put the table between the marks of a page."""
    marks, table = (ABLATION_MARKS, ablations_markdown(frame)) if ablations else (MARKS, markdown(frame))
    put(page, *marks, f"\n{table}\n")


def paper_means(tables: list[str]) -> pd.DataFrame:
    """The paper's printed numbers, averaged over tables; models that lack one of them are left out."""
    aliases = {name.split("-")[0] for name in tables}  # breast-w is breast there, bank-marketing bank
    utility, fidelity, privacy = (
        pd.read_csv(HERE / "paper" / f"{n}.csv") for n in ("utility", "fidelity", "privacy_dcr")
    )
    cells = utility[utility.dataset.isin(aliases)].pivot_table(index=["dataset", "ml"], columns="model", values="mean")
    cells = cells.dropna(axis=1)
    errors = cells.drop(columns="real").rsub(cells["real"], axis=0).div(cells["real"], axis=0)
    fidelity = fidelity[fidelity.dataset.isin(aliases)].groupby(["metric", "model"])["mean"].mean()
    privacy = privacy[privacy.dataset.isin(aliases)]
    table = pd.DataFrame({"relative error": errors.mean(), "Shape": fidelity["shape"], "Trend": fidelity["trend"]})
    table["DCR violations"] = (privacy.p_mean < 0.05).groupby(privacy.model).sum()
    return table.dropna().sort_values("relative error")


def main() -> None:
    options = arguments()
    if options.one:
        run_one(options)
        return
    if options.page:
        write_page(pd.read_csv(options.out), options.page, ablations=options.ablations)
        return
    if not options.openml and not (options.data / "datasets.json").exists():
        sys.exit(f"there is no {options.data / 'datasets.json'}; name the folder with --data, or ask for --openml")
    if not options.ablations:
        summarise(run_all(options))
        return
    settings, means = options.set, {}
    for options.label, changes in ABLATIONS.items():
        options.set = settings + changes
        means[options.label] = run_all(options)[list(METRICS)].mean()
    print(f"\nmeans over {options.tables}, {options.seeds} seeds")
    print(pd.DataFrame(means).T.rename(columns=METRICS).round(3).to_string())


if __name__ == "__main__":
    main()
