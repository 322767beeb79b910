"""Generators as points: quality against privacy, and against time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..report.plots import clipped

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 520, 340, 58, 92, 26, 46
APART = 13
"""Pixels between the names of two points."""


def scatter(
    across: pd.Series, up: pd.Series, controls: Sequence[str], *, x_title: str, y_title: str, log: bool = False
) -> Markup:
    """A point per generator that has both numbers; controls are pale. Empty where none has."""
    names = [name for name in up.index if np.isfinite(up[name]) and np.isfinite(across.get(name, np.nan))]
    if not names:
        return Markup("")
    x = np.array([max(across[name], 0.1) if log else across[name] for name in names], dtype=np.float64)
    y = np.array([up[name] for name in names], dtype=np.float64)
    x_axis, y_axis = _axis(np.log10(x) if log else x), _axis(y)
    places = [
        (LEFT + (WIDTH - LEFT - RIGHT) * _share(np.log10(a) if log else a, x_axis), _height(b, y_axis))
        for a, b in zip(x, y, strict=True)
    ]
    marks = [_ticks(x_axis, y_axis, log), _titles(x_title, y_title)]
    for (px, py), label, name in zip(places, _label_heights(places), names, strict=True):
        kind = "control" if name in controls else "rival"
        marks.append(
            Markup(
                '<g class="{k}"><title>{n}: {a:.3g}, {b:.3f}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
                '<text x="{tx:.1f}" y="{ty:.1f}">{short}</text></g>'
            ).format(
                k=kind, n=name, a=across[name], b=up[name], x=px, y=py, tx=px + 9, ty=label + 4, short=clipped(name, 13)
            )
        )
    return Markup('<svg class="scatter" viewBox="0 0 {} {}" role="img" aria-label="{} against {}">{}</svg>').format(
        WIDTH, HEIGHT, y_title, x_title, Markup("").join(marks)
    )


def _axis(values: np.ndarray) -> tuple[float, float]:
    """The ends of an axis, with a little room."""
    low, high = float(values.min()), float(values.max())
    room = (high - low) * 0.08 or max(abs(high), 1.0) * 0.05
    return low - room, high + room


def _share(value: float, axis: tuple[float, float]) -> float:
    return (value - axis[0]) / (axis[1] - axis[0])


def _height(value: float, axis: tuple[float, float]) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * _share(value, axis)


def _label_heights(places: Sequence[tuple[float, float]]) -> list[float]:
    """Heights of the names, moved down where one would cover another."""
    taken: list[tuple[float, float]] = []
    heights = [0.0] * len(places)
    for i in sorted(range(len(places)), key=lambda i: places[i][1]):
        x, y = places[i]
        while any(abs(x - other_x) < RIGHT and abs(y - other_y) < APART for other_x, other_y in taken):
            y += 1
        taken.append((x, y))
        heights[i] = y
    return heights


def _ticks(x_axis: tuple[float, float], y_axis: tuple[float, float], log: bool) -> Markup:
    marks = []
    for value in _round_values(*x_axis, log=log):
        x = LEFT + (WIDTH - LEFT - RIGHT) * _share(value, x_axis)
        text = f"{10**value:.3g}" if log else f"{value:.3g}"
        marks.append(
            Markup('<line class="axis" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>').format(x, TOP, HEIGHT - BOTTOM)
            + Markup('<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(x, HEIGHT - BOTTOM + 16, text)
        )
    for value in _round_values(*y_axis):
        y = _height(value, y_axis)
        marks.append(
            Markup('<line class="axis" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(LEFT, WIDTH - RIGHT, y, y)
            + Markup('<text x="{}" y="{:.1f}" text-anchor="end">{:.3g}</text>').format(LEFT - 6, y + 4, value)
        )
    return Markup("").join(marks)


def _round_values(low: float, high: float, *, log: bool = False) -> list[float]:
    """Some round numbers within the ends."""
    if log:
        powers = range(int(np.floor(low)), int(np.ceil(high)) + 1)
        own = [np.log10(m * 10.0**p) for p in powers for m in ((1,) if high - low > 3 else (1, 2, 5))]
        return [float(value) for value in own if low <= value <= high]
    raw = (high - low) / 4
    step = 10.0 ** np.floor(np.log10(raw))
    step *= next(m for m in (1, 2, 5, 10) if m * step >= raw)
    return [float(value) for value in np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step]


def _titles(x_title: str, y_title: str) -> Markup:
    return Markup('<text class="strong" x="{}" y="{}" text-anchor="end">{}</text>').format(
        WIDTH - RIGHT, HEIGHT - 8, x_title
    ) + Markup('<text class="strong" x="4" y="14">{}</text>').format(y_title)
