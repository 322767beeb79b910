"""The report: one self-contained HTML file, which asks nothing of the network and escapes everything from data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from ..._runtime.files import replacing
from ...data.io.frames import taking_any_table
from ...data.schema import Schema
from .. import METRICS, Evaluation
from .summary import Summary, summarise
from .templates import templates

MEANING = {
    "utility": ("Utility loss", "How much worse models learn from synthetic than from real rows, tested on real ones."),
    "shape": ("Shape", "Agreement of each column's distribution, averaged."),
    "trend": ("Trend", "Agreement of each pair of columns, averaged."),
    "detection": ("Detection", "How well a classifier distinguishes synthetic rows from real ones (AUC)."),
    "laws": ("Laws", "Share of rows that keep what always holds in the training rows, such as sums, averaged."),
    "grain": ("Grain", "Agreement of how numbers are rounded: whole thousands, half dollars, .99; averaged."),
    "detection_derived": (
        "Detection, derived columns",
        "The same with differences, ratios, last digits, gaps and laws as further columns (AUC).",
    ),
    "shape_unseen": (
        "Shape, unseen rows",
        "The same against rows that were not learned from; copies gain nothing there.",
    ),
    "trend_unseen": ("Trend, unseen rows", "The same against rows that were not learned from."),
    "detection_unseen": ("Detection, unseen rows", "The same against rows that were not learned from."),
    "dcr": (
        "Distance test",
        "p-value of “closer to training rows than fresh real rows are”; the paper counts below 0.05 as a violation.",
    ),
    "copies": ("Copies", "Share of rows that equal a training row."),
    "membership": (
        "Membership",
        "How well closeness to synthetic rows reveals who was in the training rows (AUC).",
    ),
    "membership_density": (
        "Membership by density",
        "How well a density that is refitted on the synthetic rows reveals who was in the training rows (AUC): the "
        "strongest attack here.",
    ),
    "neighbour_ratio": (
        "Neighbour ratio",
        "Distance to the closest training row over that to the second closest, median; near 0 means copies.",
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
        "Risk that the synthetic rows reveal a value of a training row, beyond what happens to held-out rows.",
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
    page: str = template.render(s=summary, title=title, plots=plots, meaning=meanings(), goals=GOALS)
    return page


def meanings() -> dict[str, tuple[str, str]]:
    """Return the title and the meaning of every metric; one without a line above has its name and its docstring."""
    found = {}
    for name, metric in METRICS.items():
        words = (metric.measure.__doc__ or "").strip().splitlines()
        found[name] = MEANING.get(name) or (name.replace("_", " ").capitalize(), words[0] if words else "")
    return found


def _figure(value: float | None) -> str:
    """A score as text."""
    if value is None or value != value:
        return "–"
    return f"{value:.3f}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"
