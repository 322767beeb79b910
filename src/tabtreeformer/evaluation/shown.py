"""An evaluation as text, as a card for a notebook, and as a picture; without a plotting library."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from .._runtime.files import replacing
from .._runtime.fragments import COLOURS, FAIR, REAL, SOFT, SYNTHETIC, card, folded, line, table
from .score import Score

GOALS = {"higher": "higher", "lower": "lower", "half": "0.5"}
MAX_BARS = 40
"""Columns of a picture, the least faithful first."""


def figure_text(value: float | None) -> str:
    """A score as text."""
    return "–" if value is None or value != value else f"{value:.3f}"


def score_rows(scores: Mapping[str, Score]) -> list[tuple[str, str, str, str, str]]:
    """Name, value, references and goal of each score, as text."""
    return [
        (name, figure_text(s.value), figure_text(s.ceiling), figure_text(s.floor), GOALS[s.goal])
        for name, s in scores.items()
    ]


HEAD = ("metric", "synthetic", "real held-out", "independent", "goal")


def as_text(evaluation: Any) -> str:
    """The verdicts and the scores, one line each."""
    from .report.verdict import verdicts

    rows = [HEAD, *score_rows(evaluation.scores)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    words = " ".join(f"{verdict.question} {verdict.word}." for verdict in verdicts(evaluation))
    return "\n".join([f"Evaluation: {words}", *lines])


def as_html(evaluation: Any) -> str:
    """The verdicts with their sentences, and the scores."""
    from .report.verdict import verdicts

    parts = []
    for verdict in verdicts(evaluation):
        word = f"{verdict.question} {verdict.word}"
        parts.append(line(word, colour=COLOURS.get(verdict.level, FAIR)) + line(verdict.sentence, soft=True))
    parts.append(table(HEAD, score_rows(evaluation.scores), numbers=(1, 2, 3)))
    if evaluation.left_out:
        rows = list(evaluation.left_out.items())
        parts.append(folded(f"{len(rows)} not measured", table(("metric", "why"), rows)))
    return card("Evaluation", *parts)


@dataclass(frozen=True, repr=False)
class Picture:
    """A drawing that a notebook shows and that can be saved as an SVG file."""

    svg: str
    title: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to a file, by convention `.svg`."""
        with replacing(path) as temporary:
            temporary.write_text(self.svg, encoding="utf-8")

    def __repr__(self) -> str:
        return f"Picture: {self.title}; a notebook displays it, and save(path) writes it as SVG"

    def _repr_html_(self) -> str:
        return card(self.title, self.svg)


def plot_scores(scores: Mapping[str, Score]) -> Picture:
    """Each score between independent columns and real held-out rows, where it has both."""
    chosen = [s for s in scores.values() if s.floor is not None and s.ceiling is not None and s.value == s.value]
    width, left, row = 640, 190, 26
    parts = []
    for i, score in enumerate(chosen):
        assert score.floor is not None
        assert score.ceiling is not None
        ends = (score.value, score.floor, score.ceiling)
        low, high = min(0.0, *ends), max(1.0, *ends)
        y = 22 + i * row
        x = [left + (width - left - 60) * (value - low) / (high - low) for value in ends]
        parts.append(
            f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{escape(score.name)}</text>'
            f'<line x1="{left}" x2="{width - 60}" y1="{y}" y2="{y}" stroke="currentColor" stroke-opacity=".25"/>'
            f'<circle cx="{x[1]:.1f}" cy="{y}" r="4" fill="none" stroke="currentColor" stroke-opacity=".7"/>'
            f'<rect x="{x[2] - 2:.1f}" y="{y - 7}" width="4" height="14" fill="{REAL}"/>'
            f'<circle cx="{x[0]:.1f}" cy="{y}" r="5" fill="{SYNTHETIC}"/>'
            f'<text x="{width - 50}" y="{y + 4}">{score.value:.3f}</text>'
        )
    legend = (
        f'<tspan fill="{SYNTHETIC}">●</tspan> synthetic  <tspan fill="{REAL}">▮</tspan> real held-out  '
        "○ independent columns"
    )
    base = 22 + len(chosen) * row
    parts.append(f'<text x="{left}" y="{base + 8}" style="{SOFT}">{legend}</text>')
    return Picture(_svg(width, base + 18, "".join(parts)), "scores between independent columns and real rows")


def plot_columns(scores: Mapping[str, Score]) -> Picture:
    """The agreement of each column, the least faithful first."""
    records = scores["shape"].breakdown["columns"] if "shape" in scores else []
    known = sorted((r for r in records if r["score"] is not None), key=lambda record: float(record["score"]))[:MAX_BARS]
    width, left, row = 640, 190, 18
    parts = []
    for i, record in enumerate(known):
        y, share = 8 + i * row, float(record["score"])
        name = str(record["column"])
        name = name if len(name) <= 26 else name[:25] + "…"
        parts.append(
            f'<text x="{left - 10}" y="{y + 11}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{left}" y="{y}" width="{max(share, 0) * (width - left - 60):.1f}" height="13" fill="{REAL}"/>'
            f'<text x="{left + max(share, 0) * (width - left - 60) + 6:.1f}" y="{y + 11}">{share:.3f}</text>'
        )
    return Picture(_svg(width, 12 + len(known) * row, "".join(parts)), "Shape of each column, the least faithful first")


def _svg(width: int, height: int, inner: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'style="max-width:100%" font-family="system-ui,sans-serif" font-size="12" fill="currentColor" role="img">'
        f"{inner}</svg>"
    )
