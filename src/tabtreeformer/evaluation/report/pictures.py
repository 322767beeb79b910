"""Pictures of two dimensions as inline SVG: heatmaps, pairs of columns, the map of rows.

Cells of the same shade are one path, which keeps a heatmap of 80 × 80 near 100 KB. Instead of a title per cell, the
page's script shows the numbers of a cell from an attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from .numbers import short
from .plots import clipped

LEVELS = 20
"""Shades of a heatmap."""
SIDE = 232
"""Side of a picture of a pair, without its labels."""
Matrix = Sequence[Sequence[float]]


def cells(matrix: NDArray[np.float64], css: str) -> Markup:
    """Unit squares, darker for larger values from 0 to 1; runs of equal shade in a line are one rectangle."""
    levels = np.clip(np.rint(matrix * LEVELS), 0, LEVELS).astype(int)
    paths: dict[int, list[str]] = {}
    for y, line in enumerate(levels):
        ends = np.flatnonzero(np.diff(line, prepend=-1))
        for start, end in zip(ends, [*ends[1:], len(line)], strict=True):
            if line[start]:
                paths.setdefault(int(line[start]), []).append(f"M{start} {y}h{end - start}v1h-{end - start}z")
    drawn = (
        f'<path fill-opacity="{level / LEVELS:.2f}" d="{"".join(marks)}"/>' for level, marks in sorted(paths.items())
    )
    return Markup('<g class="{}">{}</g>').format(css, Markup("".join(drawn)))


def heatmap(names: Sequence[str], matrix: Matrix, split: int, kind: str, *, top: float = 1.0) -> Markup:
    """A labelled square of cells; a line separates categories from numbers as in the paper's figure."""
    n, values = len(names), np.array(matrix, dtype=np.float64)
    size = 26 if n <= 14 else max(11, 900 // n)
    left, head = (120, 104) if n <= 14 else (132, 112)
    font = min(13, size - 1)
    labels = Markup("").join(
        Markup('<text x="{}" y="{:.1f}" text-anchor="end">{}</text>').format(
            left - 4, head + (i + 0.5) * size + font / 3, clipped(name, 19)
        )
        + Markup('<text transform="translate({:.1f} {}) rotate(-90)">{}</text>').format(
            left + (i + 0.5) * size + font / 3, head - 4, clipped(name, 16)
        )
        for i, name in enumerate(names)
    )
    border = Markup('<path class="split" d="M0 {0}H{1}M{0} 0V{1}"/>').format(split, n) if 0 < split < n else ""
    return Markup(
        '<svg class="heat {kind}" data-kind="{kind}" viewBox="0 0 {w} {h}" style="max-width: {w}px" role="img" '
        'aria-label="strength of association of each pair of columns: {kind}">'
        '<g style="font-size: {font}px">{labels}</g>'
        '<g class="plane" transform="translate({left} {head}) scale({size})"><rect class="back" width="{n}" '
        'height="{n}"/>{cells}{border}</g></svg>'
    ).format(
        kind=kind, w=left + n * size + 2, h=head + n * size + 2, labels=labels, font=font, left=left, head=head,
        size=size, n=n, cells=cells(values / top, "ink"), border=border,
    )  # fmt: skip


def packed(matrix: Matrix) -> str:
    """Two characters per cell, hundredths, for the page's script: 07, 63, A0 for one."""
    hundredths = np.clip(np.rint(np.array(matrix) * 100), 0, 100).astype(int).ravel()
    return "".join("A0" if value == 100 else f"{value:02d}" for value in hundredths)


def colour_scale(kind: str, top: float = 1.0) -> Markup:
    """The legend of the shades of a heatmap."""
    steps = Markup("").join(
        Markup('<rect x="{}" y="0" width="10.2" height="12" fill-opacity="{:.2f}"/>').format(i * 10, (i + 0.5) / 12)
        for i in range(12)
    )
    marks = Markup("").join(
        Markup('<text x="{}" y="26" text-anchor="{}">{}</text>').format(x, anchor, text)
        for x, anchor, text in ((0, "start", "0"), (60, "middle", f"{top / 2:.2g}"), (120, "end", f"{top:.2g}"))
    )
    return Markup(
        '<svg class="heat {} shades" viewBox="0 0 120 28" role="img" aria-label="colour scale">'
        '<g class="ink">{}</g>{}</svg>'
    ).format(kind, steps, marks)


# ---- pairs of columns


def pair_picture(plot: dict[str, Any]) -> Markup:
    """A pair of columns in both tables."""
    if plot["type"] == "boxes":
        return boxes(plot)
    top = max(np.max(plot["real"], initial=0), np.max(plot["synthetic"], initial=0)) or 1.0
    return Markup('<div class="two">{}{}</div>').format(
        *(_panel(plot, side, float(top)) for side in ("real", "synthetic"))
    )


def _panel(plot: dict[str, Any], side: str, top: float) -> Markup:
    """One table's cells: the first column to the right, the second upwards."""
    shares = np.array(plot[side], dtype=np.float64)
    if not shares.size:
        return Markup('<p class="none">nothing to draw</p>')
    shares = shares.T[::-1]  # rows of the picture from the top
    across, up = plot["axes"]
    left, foot = (76 if "labels" in up or up["unit"] else 46), (66 if "labels" in across else 34)
    height, width = shares.shape
    marks = [*_ticks(up, left, upright=True), *_ticks(across, left, upright=False)]
    return Markup(
        '<svg viewBox="0 0 {w} {h}" role="img" aria-label="{side} rows"><text class="strong" x="{mid:.0f}" y="11" '
        'text-anchor="middle">{side}</text><g transform="translate({left} 16) scale({sx:.3f} {sy:.3f})">'
        '<rect class="back" width="{n}" height="{m}"/>{cells}</g>{marks}</svg>'
    ).format(
        w=left + SIDE + 6, h=16 + SIDE + foot, side=side, mid=left + SIDE / 2, left=left, sx=SIDE / width,
        sy=SIDE / height, n=width, m=height, cells=cells(np.sqrt(shares / top), side), marks=Markup("").join(marks),
    )  # fmt: skip


def _ticks(axis: dict[str, Any], left: int, *, upright: bool) -> list[Markup]:
    """Labels of an axis, or its ends; the name of the column is in the title of the card."""
    base, found = 16 + SIDE, []
    if "labels" in axis:
        step = SIDE / len(axis["labels"])
        for i, label in enumerate(axis["labels"]):
            if upright:
                place = Markup('x="{}" y="{:.1f}" text-anchor="end"').format(left - 4, base - (i + 0.5) * step + 4)
            else:
                x = left + (i + 0.5) * step + 4
                place = Markup('transform="translate({:.1f} {}) rotate(-90)" text-anchor="end"').format(x, base + 5)
            found.append(Markup("<text {}>{}</text>").format(place, clipped(label, 10)))
        return found
    low, high = short(axis["low"], axis["unit"]), short(axis["high"], axis["unit"])
    if upright:
        spots = ((left - 4, base, "end", low), (left - 4, 26, "end", high))
    else:
        spots = ((left, base + 14, "start", low), (left + SIDE, base + 14, "end", high))
    for x, y, anchor, text in spots:
        found.append(Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(x, y, anchor, text))
    middle = left + SIDE / 2
    name = clipped(axis["name"], 18)
    if upright:
        turned = 'transform="translate({} {}) rotate(-90)" text-anchor="middle"'
        found.append(Markup(f"<text {turned}>{{}}</text>").format(left - 6, 16 + SIDE / 2, name))
    else:
        found.append(Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(middle, base + 14, name))
    return found


def boxes(plot: dict[str, Any]) -> Markup:
    """The spread of a number by category: whiskers 5 to 95 %, box 25 to 75 %, a line at the median."""
    left, width, row = 118, 420, 30
    span = plot["high"] - plot["low"] or 1.0
    parts = []
    for i, label in enumerate(plot["labels"]):
        y = 8 + i * row
        parts.append(
            Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(left - 8, y + 18, clipped(label, 16))
        )
        for k, side in enumerate(("real", "synthetic")):
            box = plot[side][i]
            if box is None:
                continue
            at = [left + (width - left - 10) * (value - plot["low"]) / span for value in box]
            top = y + 2 + k * 12
            parts.append(
                Markup(
                    '<line class="{s} whisker" x1="{a:.1f}" x2="{b:.1f}" y1="{m}" y2="{m}"/>'
                    '<rect class="{s}" x="{c:.1f}" y="{t}" width="{w:.1f}" height="10" fill-opacity=".55"/>'
                    '<line class="{s} median" x1="{d:.1f}" x2="{d:.1f}" y1="{t}" y2="{u}"/>'
                ).format(
                    s=side, a=at[0], b=at[4], m=top + 5, c=at[1], t=top, w=max(at[3] - at[1], 1), d=at[2], u=top + 10
                )
            )
    base = 8 + len(plot["labels"]) * row
    ends = ((left, "start", plot["low"]), (width - 10, "end", plot["high"]))
    for x, anchor, value in ends:
        parts.append(
            Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(
                x, base + 14, anchor, short(value, plot["unit"])
            )
        )
    parts.append(
        Markup('<text x="{:.0f}" y="{}" text-anchor="middle">{}</text>').format(
            (left + width) / 2, base + 14, clipped(plot["value"], 24)
        )
    )
    return Markup(
        '<svg viewBox="0 0 {0} {1}" style="max-width: {0}px" role="img" aria-label="spread by category">{2}</svg>'
    ).format(width, base + 20, Markup("").join(parts))


# ---- the map of rows


def map_panel(found: dict[str, Any], side: str) -> Markup:
    """The rows of one table on the map: dots, or cells where rows are not shown."""
    dots = found["dots"][side]
    if dots:
        marks = "".join(f"M{4 + 292 * x:.0f} {4 + 292 * (1 - y):.0f}h0" for x, y in dots)
        inner = Markup('<path class="{} dots" d="{}"/>').format(side, marks)
    else:
        shares = np.array(found[side]).T[::-1]
        inner = Markup('<g transform="scale({:.4f})">{}</g>').format(
            300 / len(shares), cells(np.sqrt(shares / (shares.max() or 1)), side)
        )
    return _frame(inner, f"map of the {side} rows")


def map_difference(found: dict[str, Any]) -> Markup:
    """The places on the map where either table has more rows than the other."""
    gap = np.array(found["difference"]).T[::-1]
    both = (cells(np.clip(sign * gap, 0, 1), side) for sign, side in ((-1, "real"), (1, "synthetic")))
    inner = Markup('<g transform="scale({:.4f})">{}{}</g>').format(300 / len(gap), *both)
    return _frame(inner, "where either table has more rows")


def _frame(inner: Markup, what: str) -> Markup:
    return Markup(
        '<svg viewBox="0 0 300 300" role="img" aria-label="{}"><rect class="back" width="300" height="300"/>{}</svg>'
    ).format(what, inner)
