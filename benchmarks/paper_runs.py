"""The paper's own models, trained here: what they score, beside what the paper prints.

    python -m benchmarks.paper_runs S.tabtree --table breast-w --seed 0 --rows S.csv

takes a model that was fitted on the training rows of the table's split (`python -m benchmarks run` and this command
use the same splits), and the rows that it wrote; without `--rows` it draws as many as it learned. The rows are scored
with the paper's tuned evaluators. One line per run is added to `benchmarks/results/paper_runs.csv`, which
`python -m benchmarks.claims` puts into docs/lab/paper.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from .pages import as_table

RESULTS = Path(__file__).parent / "results" / "paper_runs.csv"
PRINTED = {"S": "ttf_s", "L": "ttf_l", "NM": "ttf_nm"}
SCORES = {
    "score_LN": "LN", "score_RF": "RF", "score_XGB": "XGB", "shape": "Shape", "trend": "Trend", "dcr": "DCR p",
}  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Score a model and add the line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--table", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=Path, help="rows that it wrote, as CSV")
    parser.add_argument("--utility", choices=("tuned", "quick"), default="tuned")
    parser.add_argument("--cut", default="", help="how the training was cut short, if it was")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    line = measured(options)
    known = pd.read_csv(options.results) if options.results.exists() else pd.DataFrame()
    made = pd.concat([known, pd.DataFrame([line])], ignore_index=True)
    made = made.drop_duplicates(["table", "model", "seed", "cut"], keep="last")
    made.to_csv(options.results, index=False, float_format="%.6g")
    print(section(options.results))


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """What is known of one run: its training, and the scores of its rows."""
    from tabtreeformer import TabTreeFormer
    from tabtreeformer.evaluation.compare.runner import scores_of

    from .tables import load

    table = load(options.table, options.data)
    train, test = table.split(options.seed)
    model = TabTreeFormer.load(options.model, verbose=False)
    rows = pd.read_csv(options.rows) if options.rows else model.sample(len(train), random_state=options.seed)
    rows = rows.astype({name: str for name in train if not pd.api.types.is_numeric_dtype(train[name].dtype)})
    scores = scores_of(train, test, rows, table.target, options.seed, utility=options.utility)
    line = {"table": options.table, "model": model.preset, "seed": options.seed, "utility": options.utility}
    return {**line, "cut": options.cut, **trained(model.summary()["training"]), **scores}


def trained(histories: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Steps, kept steps and losses of each network, as texts with both networks."""
    networks = [h for h in histories if h["name"].startswith("network")]
    shared = sum(h["steps"] for h in histories if not h["name"].startswith("network"))
    kept = [_kept(h) for h in networks]
    return {
        "shared_steps": shared,
        "stopped_at": " and ".join(str(shared + h["steps"]) for h in networks),
        "best_at": " and ".join(str(shared + step) for step, _, _ in kept),
        "train_loss": " and ".join(f"{loss:.3f}" for _, loss, _ in kept),
        "valid_loss": " and ".join(f"{loss:.3f}" for _, _, loss in kept),
        "hours": sum(h["seconds"] for h in histories) / 3600,
    }


def _kept(history: Mapping[str, Any]) -> tuple[int, float, float]:
    """Step, training loss and validation loss at the weights that were kept."""
    best = history["best_step"] or history["steps"]
    step, train, valid = min(history["validations"], key=lambda v: abs(v[0] - best))
    return int(step), float(train), float(valid)


def section(results: Path = RESULTS) -> str:
    """The part of the page that shows the runs."""
    title = "## The paper's models, trained here\n\n"
    if not results.exists():
        return title + "None was trained to its end: this machine has two cores and no GPU.\n"
    runs = pd.read_csv(results, keep_default_na=False)
    training = [
        [r["table"], r["model"], r["seed"], r["stopped_at"], r["best_at"], r["train_loss"], r["valid_loss"],
         f"{float(r['hours']):.1f}", r["cut"] or "none"]
        for r in runs.to_dict("records")
    ]  # fmt: skip
    head = [
        "table",
        "model",
        "seed",
        "stopped at step",
        "best step",
        "training loss",
        "validation loss",
        "hours",
        "cut",
    ]
    return "\n".join(
        [
            title.strip(), "",
            "Losses are those at the weights that were kept, of both networks.", "",
            as_table(head, training), "",
            "Scores of one run here, beside the mean of three in the paper; `real` learned from real rows.",
            "", _beside(runs), "",
        ]
    )  # fmt: skip


def _beside(runs: pd.DataFrame) -> str:
    """Scores of each run beside the printed ones."""
    from .report.printed import printed

    paper = printed()
    rows = []
    for run in runs.to_dict("records"):
        theirs = paper[(paper["table"] == run["table"]) & (paper["generator"] == PRINTED.get(run["model"]))]
        values = theirs.set_index("metric")["value"]
        for metric, title in SCORES.items():
            if metric not in run or run[metric] == "":
                continue
            real = "real_" + metric.removeprefix("score_")
            cells = [run.get(real, ""), run[metric], values.get(real, ""), values.get(metric, "")]
            shown = ["" if cell == "" else f"{float(cell):.3f}" for cell in cells]
            rows.append([run["table"], run["model"], run["seed"], title, run["utility"], *shown])
    head = ["table", "model", "seed", "measure", "evaluators", "real, here", "here", "real, paper", "paper"]
    return as_table(head, rows)


if __name__ == "__main__":
    main()
