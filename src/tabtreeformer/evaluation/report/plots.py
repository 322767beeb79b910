"""Plain data → inline SVG. Colours come from the page's CSS, so that light and dark need one picture.

Drawn by hand, not by a plotting library: Plotly's script alone is 4.8 MB, a column's picture here is at most 6 KB.
All text from data is escaped by `Markup.format`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from .numbers import short

WIDTH, HEIGHT = 320, 150
LEFT, RIGHT, TOP, BOTTOM = 8, 8, 10, 22
LABEL = 118
"""Room for the names of bars."""


def marginal(plot: dict[str, Any]) -> Markup:
    """The picture of one column."""
    if plot["type"] == "bars":
        return bars(plot["labels"], plot["real"], plot["synthetic"], rest=plot.get("rest", False))
    if plot["type"] == "density":
        return densities(plot)
    return Markup('<p class="none">nothing to draw</p>')


def densities(plot: dict[str, Any], width: int = WIDTH, height: int = HEIGHT) -> Markup:
    """Two overlaid curves: real filled, synthetic as a line."""
    top = max(*plot["real"], *plot["synthetic"], 1e-300)
    inner_width, inner_height = width - LEFT - RIGHT, height - TOP - BOTTOM
    base = height - BOTTOM

    def points(curve: Sequence[float]) -> str:
        step = inner_width / max(len(curve) - 1, 1)
        return " ".join(f"{LEFT + i * step:.1f},{base - inner_height * v / top:.1f}" for i, v in enumerate(curve))

    ticks = _decades(plot, width, height) if plot.get("log") else None
    if ticks is None:
        middle = plot["low"] + (plot["high"] - plot["low"]) / 2
        if abs(middle) < (plot["high"] - plot["low"]) / 500 and not plot.get("log"):
            middle = 0.0  # and not -7.0e-04
        marks = ((LEFT, "start", plot["low"]), (width / 2, "middle", middle), (width - RIGHT, "end", plot["high"]))
        ticks = Markup("").join(
            Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(
                f"{x:g}", height - 6, anchor, short(10**value if plot.get("log") else value, plot.get("unit", ""))
            )
            for x, anchor, value in marks
        )
    return Markup(
        '<svg viewBox="0 0 {w} {h}" role="img" aria-label="densities of real and synthetic values">'
        '<polygon class="real area" points="{l},{b} {real} {r},{b}"/>'
        '<polyline class="real line" points="{real}"/><polyline class="synthetic line" points="{new}"/>'
        '<line class="axis" x1="{l}" x2="{r}" y1="{b}" y2="{b}"/>{ticks}</svg>'
    ).format(
        w=width, h=height, l=LEFT, r=width - RIGHT, b=base, ticks=ticks,
        real=points(plot["real"]), new=points(plot["synthetic"]),
    )  # fmt: skip


def _decades(plot: dict[str, Any], width: int, height: int) -> Markup | None:
    """Ticks of a logarithmic axis at 1, 2 and 5 of each power of ten; None where fewer than two of them fit."""
    low, high = plot["low"], plot["high"]
    powers = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    chosen = (1,) if high - low > 3 else (1, 2, 5) if high - low > 0.8 else (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
    values = [m * 10.0**power for power in powers for m in chosen if low <= np.log10(m * 10.0**power) <= high]
    if len(values) < 2:
        return None
    places = [LEFT + (width - LEFT - RIGHT) * (np.log10(value) - low) / (high - low) for value in values]
    return Markup("").join(
        Markup(
            '<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{base}"/>'
            '<text x="{x:.1f}" y="{y}" text-anchor="middle">{text}</text>'
        ).format(x=min(max(x, 18), width - 18), top=TOP, base=height - BOTTOM + 4, y=height - 4, text=f"{value:g}")
        for x, value in zip(places, values, strict=True)
    )


def pair(real: float, synthetic: float) -> Markup:
    """Two scores, one bar each, from zero to one; a score below zero has no bar."""
    parts = []
    for i, (name, value) in enumerate((("real", real), ("synthetic", synthetic))):
        parts.append(
            Markup(
                '<rect class="{}" x="0" y="{}" width="{:.1f}" height="16"/><text x="{:.1f}" y="{}">{:.3f}</text>'
            ).format(name, 4 + i * 22, 250 * max(value, 0), 250 * max(value, 0) + 6, 16 + i * 22, value)
        )
    return Markup('<svg viewBox="0 0 {} 46" role="img" aria-label="scores">{}</svg>').format(
        WIDTH, Markup("").join(parts)
    )


def bars(labels: Sequence[str], real: Sequence[float], synthetic: Sequence[float], *, rest: bool = False) -> Markup:
    """Pairs of horizontal bars of shares, one pair per label; if the last is the rest, it does not affect the scale."""
    row, gap = (18, 4) if len(labels) <= 12 else (12, 2)
    end = len(labels) - 1 if rest and len(labels) > 1 else len(labels)
    top = max(*real[:end], *synthetic[:end], 1e-9)
    inner = WIDTH - LABEL - 44
    parts = []
    for i, (label, a, b) in enumerate(zip(labels, real, synthetic, strict=True)):
        y = TOP + i * (row + gap)
        text, value = f"{a:.1%} real, {b:.1%} synthetic", f"{b:.0%}"
        parts.append(
            Markup(
                '<g><title>{label}: {text}</title><text x="{lx}" y="{ty:.1f}" text-anchor="end">{name}</text>'
                '<rect class="real" x="{x}" y="{y:.1f}" width="{aw:.1f}" height="{h:.1f}"/>'
                '<rect class="synthetic" x="{x}" y="{y2:.1f}" width="{bw:.1f}" height="{h:.1f}"/>'
                '<text x="{vx:.1f}" y="{ty:.1f}">{value}</text></g>'
            ).format(
                label=label,
                text=text,
                name=clipped(label),
                value=value,
                x=LABEL,
                lx=LABEL - 6,
                y=y,
                y2=y + row / 2,
                h=row / 2 - 0.5,
                ty=y + row / 2 + 4,
                aw=inner * min(max(a, 0) / top, 1),
                bw=inner * min(max(b, 0) / top, 1),
                vx=LABEL + inner * min(max(a, b, 0) / top, 1) + 5,
            )
        )
    height = TOP + len(labels) * (row + gap) + 4
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="shares of real and synthetic rows">{}</svg>').format(
        WIDTH, height, Markup("").join(parts)
    )


def scale(value: float, floor: float | None, ceiling: float | None, goal: str) -> Markup:
    """The position of a score between independent columns (left) and real held-out rows (right)."""
    better = {"higher": 1, "lower": -1, "half": -1}[goal]
    if floor is None or ceiling is None or better * (ceiling - floor) < 1e-3:
        return Markup("")  # nothing in between: independent columns are as good
    place = min(max((value - floor) / (ceiling - floor), 0.0), 1.0)
    return Markup(
        '<svg class="scale" viewBox="0 0 100 12" role="img" aria-label="{:.0%} of the way to real rows">'
        '<line class="axis" x1="4" x2="96" y1="6" y2="6"/><circle class="synthetic" cx="{:.1f}" cy="6" r="4"/></svg>'
    ).format(place, 4 + 92 * place)


def columns_of(labels: Sequence[str], real: Sequence[float], synthetic: Sequence[float], what: str) -> Markup:
    """Pairs of upright bars of shares, one pair per label: hours, weekdays, months, digits."""
    height, step = 84, (WIDTH - 2 * LEFT) / len(labels)
    top, inner = max(*real, *synthetic, 1e-9), height - TOP - 16
    every = 1 if len(labels) <= 12 else 3
    parts = []
    for i, (label, a, b) in enumerate(zip(labels, real, synthetic, strict=True)):
        x, wide = LEFT + i * step, max(step / 2 - 1, 1)
        text = (
            Markup('<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(x + step / 2, height - 2, label)
            if i % every == 0
            else ""
        )
        parts.append(
            Markup(
                '<g><title>{}: {:.1%} real, {:.1%} synthetic</title>'
                '<rect class="real" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>'
                '<rect class="synthetic" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>{}</g>'
            ).format(
                label, a, b,
                x + 0.5, TOP + inner * (1 - a / top), wide, inner * a / top,
                x + step / 2, TOP + inner * (1 - b / top), wide, inner * b / top, text,
            )
        )  # fmt: skip
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height, what, Markup("").join(parts)
    )


def clipped(text: str, most: int = 15) -> str:
    """A name that fits next to a bar."""
    return text if len(text) <= most else text[: most - 1] + "…"
