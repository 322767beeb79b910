"""What quality costs in privacy: the picture and the table of published rows in the README, from results of `unseen`.

    python -m benchmarks.tradeoff

Reads benchmarks/results/unseen.csv and writes docs/tradeoff.svg (and .png), its numbers into docs/lab/unseen.md and the
table of published rows into README.md, each between its marks. The picture has one point per writer: means over the
tables that all its writers have, where each table counts equally, whatever its number of seeds; the small points are
single tables.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .pages import ROOT, as_table, put
from .report.figures import Book
from .unseen import PUBLISHED

WRITERS = {
    "auto": ("network (auto)", "#d9722e"),
    "trees": ("trees ≥ 20", "#2f7d4f"),
    "trees-80": ("trees ≥ 80", "#2f7d4f"),
    "trees-320": ("trees ≥ 320", "#2f7d4f"),
    "cart": ("CART", "#4674b8"),
}
"""Writers of the picture, with their names and colours; those that have no results are left out."""
LEAVES = ("trees", "trees-80", "trees-320")
"""The dial of the trees: these are joined by a line."""
PANELS = {
    "auc": "two-sample AUC against unseen rows",
    "relative_error": "relative error of models trained on new rows",
}
NEAR = {"auc": 1.0, "relative_error": 0.5}
"""Largest value that is drawn."""
NAMES = {
    "auto": "**`auto`**", "trees": "**`trees`**", "tabsyn": "TabSyn", "tabmt": "TabMT", "stasy": "STaSy",
    "tabularargn": "TabularARGN", "tabularargn_dp": "TabularARGN, differentially private", "cart": "CART",
}  # fmt: skip
BALANCED = 0.56


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results" / "unseen.csv")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "lab" / "unseen.md")
    parser.add_argument("--figure", type=Path, default=ROOT / "docs" / "tradeoff")
    options = parser.parse_args()
    write(options.results, options.readme, options.page, options.figure)


def write(results_file: Path, readme: Path, page: Path, figure: Path) -> None:
    """Draw the picture, write its numbers into the page and published rows into the README."""
    results = pd.read_csv(results_file)
    published = results["table"].str.endswith(PUBLISHED)
    by_table = common(results[~published])
    draw(by_table, figure)
    put(page, "tradeoff", caption(by_table, results[~published]))
    put(readme, "published rows", published_table(results[published]))


def common(results: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds by writer and table, of the tables that all writers of the picture have."""
    names = [name for name in WRITERS if name in set(results["writer"])]
    chosen = results[results["writer"].isin(names)]
    means = chosen.groupby(["writer", "table"])[["attack", "found_at_1", *PANELS]].mean()
    sizes = means.reset_index().groupby("table")["writer"].nunique()
    tables = sizes[sizes == len(names)].index
    return means[means.index.get_level_values("table").isin(tables)].reindex(names, level="writer")


def caption(means: pd.DataFrame, results: pd.DataFrame) -> str:
    """What was drawn, in a sentence, and the means as a table."""
    tables = means.index.get_level_values("table").unique()
    seeds = results[results["writer"].isin(means.index.get_level_values("writer").unique())]
    runs = seeds[seeds["table"].isin(tables)].groupby(["writer", "table"]).size()
    rows = [
        [WRITERS[str(name)][0], f"{own['auc'].mean():.3f}", f"{own['relative_error'].mean():.3f}",
         f"{own['attack'].mean():.3f}", f"{own['found_at_1'].mean():.1%}"]
        for name, own in means.groupby("writer", sort=False)
    ]  # fmt: skip
    head = ("writer", "two-sample AUC, unseen", "relative error", "attack AUC", "found at 1 %")
    span = f"{runs.min()}" if runs.min() == runs.max() else f"{runs.min()} to {runs.max()}"
    sentence = (
        f"Means over the {len(tables)} tables that all writers have, {span} seeds each; 0.5 is best for both AUCs."
    )
    return f"{sentence}\n\n{as_table(head, rows)}"


def draw(means: pd.DataFrame, path: Path) -> None:
    """Quality against attack; down and left is better."""
    book = Book(path.parent)
    figure, panels = book.plots.subplots(1, len(PANELS), figsize=(5.6 * len(PANELS), 4.4))
    for panel, (metric, title) in zip(np.atleast_1d(panels), PANELS.items(), strict=True):
        _panel(panel, means, metric)
        panel.set_title(title, fontsize=11)
        panel.set_xlabel("attack: AUC of telling who was learned from")
    figure.tight_layout()
    book.save(path.name, figure)


def _panel(panel: Any, means: pd.DataFrame, metric: str) -> None:
    groups = {str(name): own for name, own in means.groupby("writer", sort=False)}
    centres = {name: (own["attack"].mean(), own[metric].mean()) for name, own in groups.items()}
    panel.axvline(BALANCED, color="#8d9199", linewidth=1, linestyle="--")
    panel.text(BALANCED, 0.98, " level balanced", transform=panel.get_xaxis_transform(), va="top", fontsize=8)
    for name, own in groups.items():
        panel.scatter(
            own["attack"], own[metric].clip(upper=NEAR[metric]), s=9, color=WRITERS[name][1], alpha=0.35, linewidths=0
        )
    dial = np.array([centres[name] for name in LEAVES if name in centres])
    if len(dial) > 1:
        panel.plot(dial[:, 0], dial[:, 1], color=WRITERS["trees"][1], linewidth=1.5)
    for name, (x, y) in centres.items():
        panel.scatter([x], [y], s=70, color=WRITERS[name][1], zorder=3)
        below = name == "auto"  # its neighbours are above and to the right
        panel.annotate(
            WRITERS[name][0],
            (x, y),
            xytext=(0, -16) if below else (7, 6),
            textcoords="offset points",
            ha="center" if below else "left",
            fontsize=9,
            color=WRITERS[name][1],
        )


def published_table(results: pd.DataFrame) -> str:
    """Ours beside published rows, all judged on the same training and unseen rows."""
    if results.empty:
        return ""
    real = results.iloc[0]
    rows = [["real training rows (the limit)", "", "", *_errors(real, "_real"), ""]]
    order = sorted(results["writer"].unique(), key=lambda name: (name not in ("auto", "trees"), name))
    for name in [n for n in order if n in NAMES]:
        own = results[results["writer"] == name]
        mean = own.mean(numeric_only=True)
        seconds = mean["cpu_seconds"]
        rows.append(
            [NAMES[name], len(own), "" if np.isnan(seconds) else f"{seconds:.1f}", *_errors(mean, ""),
             f"{mean['attack']:.3f}"]
        )  # fmt: skip
        rows[-1].insert(3, f"{mean['relative_error']:.3f}")
    rows[0].insert(3, "")
    head = (
        "rows of", "samples", "CPU s", "relative error", "Shape error", "Trend error", "two-sample AUC", "attack",
    )  # fmt: skip
    return as_table(head, rows)


def _errors(figures: pd.Series, suffix: str) -> list[str]:
    return [
        f"{figures[f'shape_error{suffix}']:.2%}",
        f"{figures[f'trend_error{suffix}']:.2%}",
        f"{figures[f'auc{suffix}']:.3f}",
    ]


if __name__ == "__main__":
    main()
