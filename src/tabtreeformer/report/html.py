"""The report: one self-contained HTML file, which asks nothing of the network and escapes everything from data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from ..evaluation import Evaluation
from ..files import replacing
from ..schema import Schema
from ..tables.frames import taking_any_table
from .summary import Summary, summarise
from .templates import templates

MEANING = {
    "utility": ("Utility loss", "How much worse models learn from synthetic than from real rows, tested on real ones."),
    "shape": ("Shape", "Agreement of each column's distribution, averaged."),
    "trend": ("Trend", "Agreement of each pair of columns, averaged."),
    "detection": ("Detection", "How well a classifier tells synthetic rows from real ones (AUC)."),
    "dcr": (
        "Distance test",
        "p-value of “nearer to training rows than fresh real rows are”; the paper counts below 0.05 as a violation.",
    ),
    "copies": ("Copies", "Share of rows that equal a training row."),
    "membership": ("Membership", "How well one can tell who was in the training rows (AUC)."),
    "neighbour_ratio": (
        "Neighbour ratio",
        "Distance to the nearest over that to the second nearest training row, median; near 0 means copies.",
    ),
    "singling_out": (
        "Singling out",
        "Risk that a sentence true of one synthetic row isolates a training row, beyond what happens to held-out rows.",
    ),
    "linkability": (
        "Linkability",
        "Risk that the synthetic rows join two halves of a training row, beyond what happens to held-out rows.",
    ),
    "inference": (
        "Attribute inference",
        "Risk that the synthetic rows give away a value of a training row, beyond what happens to held-out rows.",
    ),
}
GOALS = {"higher": "higher is better", "lower": "lower is better", "half": "0.5 is best"}


@taking_any_table
def write_report(
    path: str | os.PathLike[str],
    evaluation: Evaluation,
    train: pd.DataFrame,
    test: pd.DataFrame | None,
    synthetic: pd.DataFrame,
    *,
    schema: Schema | None = None,
    title: str = "Synthetic table report",
    show_rows: bool = True,
) -> None:
    """Write the page for an evaluation of these very tables.

    The section on nearest neighbours prints real rows; `show_rows=False` leaves it out, for a page to pass on.
    """
    schema = schema or Schema.infer(train, evaluation.facts.get("target"))
    page = render(summarise(evaluation, train, test, synthetic, schema, show_rows=show_rows), title)
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def render(summary: Summary, title: str) -> str:
    """Fill the template."""
    environment = templates(Path(__file__).parent)
    from . import plots

    environment.filters["figure"] = _figure
    template: Any = environment.get_template("page.html.jinja")
    page: str = template.render(s=summary, title=title, plots=plots, meaning=MEANING, goals=GOALS)
    return page


def _figure(value: float | None) -> str:
    """A score as text."""
    if value is None or value != value:
        return "–"
    return f"{value:.3f}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"
