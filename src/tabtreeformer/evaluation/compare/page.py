"""One page that shows generators side by side: a verdict, pictures, and every score, with the best marked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..._runtime.files import replacing
from ..report.templates import templates
from .generators import CONTROL
from .results import OK, Run
from .verdict import LEAK, leaks, quality, seconds, sentences


@dataclass(frozen=True)
class Measure:
    """A column of the page."""

    key: str
    title: str
    about: str
    better: str
    """higher, lower or half; empty where nothing is better."""

    @property
    def arrow(self) -> str:
        """The direction of better values."""
        return {"higher": "↑", "lower": "↓", "half": "→ ½"}.get(self.better, "")


MEASURES: Sequence[Measure] = (
    Measure("utility", "utility loss", "how much worse models learn from these rows than from real ones", "lower"),
    Measure("shape", "Shape", "agreement of each column's distribution", "higher"),
    Measure("trend", "Trend", "agreement of each pair of columns", "higher"),
    Measure(
        "detection",
        "detection",
        "how well a classifier spots synthetic rows (AUC; 0.5 is a coin toss)",
        "half",
    ),
    Measure("dcr", "distance test", "p-value; below 0.05 rows are too close to training rows", ""),
    Measure("membership", "membership", "how well members of the training rows are recognised (AUC)", "half"),
    Measure("copies", "copies", "share of rows that equal a training row", "lower"),
    Measure("fit_seconds", "fit, s", "elapsed seconds", "lower"),
    Measure("sample_seconds", "sample, s", "elapsed seconds for as many rows", "lower"),
    Measure("peak_mib", "peak MiB", "maximum memory", "lower"),
)


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return means over seeds: generators × measures, of the runs that succeeded."""
    rows = [{"generator": r.generator, **r.values} for r in runs if r.status == OK]
    if not rows:
        return pd.DataFrame(columns=[m.key for m in MEASURES])
    frame = pd.DataFrame(rows).groupby("generator", sort=False).mean()
    return frame.reindex(columns=[m.key for m in MEASURES])


def best(frame: pd.DataFrame, controls: Sequence[str]) -> dict[str, str]:
    """Return the best of each measure, where several compete; controls show what is possible and do not compete."""
    rivals = frame.drop(index=[name for name in controls if name in frame.index])
    found = {}
    for measure in MEASURES:
        values = rivals[measure.key].dropna()
        if measure.better and len(values) > 1:
            cost = {"higher": -values, "lower": values, "half": (values - 0.5).abs()}[measure.better]
            found[measure.key] = str(cost.idxmin())
    return found


def write_page(
    path: str | os.PathLike[str], runs: Sequence[Run], facts: Mapping[str, Any], families: Mapping[str, str]
) -> None:
    """Write one HTML file that needs no network. `families` says which generators are controls."""
    environment = templates(Path(__file__).parent)
    from .scatter import scatter

    frame = table(runs)
    controls = [name for name, family in families.items() if family == CONTROL]
    good = quality(frame)
    pictures = {
        "Quality and privacy": scatter(
            frame["membership"], good, controls,
            x_title="membership AUC (privacy: left is better)", y_title="Shape and Trend (up is better)",
        ),
        "Quality and time": scatter(
            seconds(frame), good, controls, log=True,
            x_title="seconds to fit and sample (left is better)", y_title="Shape and Trend (up is better)",
        ),
    }  # fmt: skip
    text = environment.get_template("page.html.jinja").render(
        facts=facts,
        measures=MEASURES,
        rows=_rows(frame, families),
        best=best(frame, controls),
        leak=LEAK,
        verdict=sentences(frame, runs, controls, facts["rows"]),
        pictures=pictures,
        leaky=leaks(frame.drop(index=[name for name in controls if name in frame.index]), facts["rows"]),
        troubles=[r for r in runs if r.status != OK],
    )
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _rows(frame: pd.DataFrame, families: Mapping[str, str]) -> list[dict[str, Any]]:
    """Each generator's cells: the number as text, and the width of its bar among those of the measure."""
    rows = []
    for name, line in frame.iterrows():
        cells = {}
        for measure in MEASURES:
            value, top = line[measure.key], frame[measure.key].abs().max()
            known = bool(pd.notna(value))
            cells[measure.key] = {
                "value": float(value) if known else None,
                "text": _figure(float(value)) if known else "–",
                "width": round(100 * abs(float(value)) / top, 1) if known and top else 0.0,
            }
        rows.append({"name": str(name), "family": families.get(str(name), ""), "cells": cells})
    return rows


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"
