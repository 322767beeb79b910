"""The report: one self-contained HTML file that makes no network requests and escapes everything from data."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import Any

import pandas as pd

from ..._runtime.files import replacing
from ...data.io.frames import taking_any_table
from ...data.schema import Schema
from .. import Evaluation
from .associations import shown_associations
from .columns import LOOK_GAPS, LOOK_GRAIN, LOOK_SHAPE
from .scores import meanings
from .summary import Summary, summarise
from .templates import templates

MANY = 12
"""With more columns, the page offers a search and filters."""
FOLD = 12
"""Entries of a long list that are shown before it is expanded."""


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
    """Write the page for an evaluation of these tables.

    Parameters
    ----------
    path
        The HTML file; an existing one is replaced.
    evaluation
        What `evaluate` returned.
    train, test, synthetic, schema
        As they were passed to `evaluate`.
    title
        Heading of the page.
    show_rows
        The sections on sample rows, on the map and on nearest neighbours show real rows; False omits them, and
        everything that fewer than five real rows have in common, for a page that you pass on.

    Examples
    --------
    >>> scores = evaluate(df[:80], df[80:], df[:80], metrics=["shape"])
    >>> write_report(folder / "report.html", scores, df[:80], df[80:], df[:80])
    """
    page = report_page(evaluation, train, test, synthetic, schema=schema, title=title, show_rows=show_rows)
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def report_page(
    evaluation: Evaluation,
    train: pd.DataFrame,
    test: pd.DataFrame | None,
    synthetic: pd.DataFrame,
    *,
    schema: Schema | None = None,
    title: str = "Synthetic table report",
    show_rows: bool = True,
) -> str:
    """Return the text of the page that `write_report` writes."""
    schema = schema or Schema.infer(train, evaluation.facts.get("target"))
    return render(summarise(evaluation, train, test, synthetic, schema, show_rows=show_rows), title)


def render(summary: Summary, title: str) -> str:
    """Fill the template. One script of ours may run, known by its hash; no other can, whatever the data hold."""
    from markupsafe import Markup

    from . import pictures, plots

    folder = Path(__file__).parent
    environment = templates(folder)
    environment.filters["figure"] = _figure
    environment.filters["percent"] = _percent
    script = (folder / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template: Any = environment.get_template("page.html.jinja")
    page: str = template.render(
        s=summary,
        title=title,
        plots=plots,
        pictures=pictures,
        meaning=meanings(),
        script=Markup(script),
        script_hash=digest,
        many=len(summary.columns) > MANY,
        fold=FOLD,
        **_arranged(summary),
    )
    return page


def _arranged(summary: Summary) -> dict[str, Any]:
    """Values that the template needs besides the fields of the summary."""
    left_out: dict[str, list[str]] = {}
    for name, why in summary.facts.get("columns_left_out", {}).items():
        left_out.setdefault(why, []).append(name)
    with_digits = [column for column in summary.columns if column["grain"]]
    return {
        "grained": sorted(with_digits, key=lambda c: c["grain"]["score"] - c["grain"]["chance"]),
        "kinds": sorted({column["kind"] for column in summary.columns}),
        "extremes": any(v["name"] == "maximum" for column in summary.columns for v in column["statistics"]),
        "heat": None if summary.associations is None else shown_associations(summary.associations),
        "left_out": left_out,
        "limits": {"shape": LOOK_SHAPE, "gaps": LOOK_GAPS, "grain": LOOK_GRAIN},
    }


def _figure(value: float | None) -> str:
    """A score as text."""
    if value is None or value != value:
        return "–"
    return f"{value:.3f}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"


def _percent(value: float) -> str:
    """A share as text; a small one is not rounded to 0."""
    return f"{value:.1%}" if value == 0 or value >= 0.001 else "<0.1%"
