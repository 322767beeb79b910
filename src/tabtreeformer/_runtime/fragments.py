"""Small pieces of HTML for notebooks: text is escaped, colours follow the notebook's theme, nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = (
    "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;border:1px solid rgba(128,140,155,.45);"
    "border-radius:8px;padding:10px 14px;margin:4px 0;max-width:900px;overflow-x:auto"
)
LINE = "border:0;border-top:1px solid rgba(128,140,155,.3);padding:3px 14px 3px 0;text-align:left;vertical-align:top"
SOFT = "opacity:.7"
GOOD, FAIR, POOR = "#2f8f5b", "#b8860b", "#cf4a45"
REAL, SYNTHETIC = "#5a88cc", "#d9722e"
COLOURS = {"good": GOOD, "fair": FAIR, "poor": POOR}


def card(title: str, *parts: str) -> str:
    """A frame with a title; `parts` are HTML already."""
    return f'<div style="{STYLE}"><div style="font-weight:600">{escape(title)}</div>{"".join(parts)}</div>'


def line(text: str, *, colour: str | None = None, soft: bool = False) -> str:
    """One line of text."""
    style = f"color:{colour};font-weight:600" if colour else SOFT if soft else ""
    return f'<div style="{style}">{escape(text)}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> str:
    """A table of text; columns whose indices are in `numbers` are right-aligned."""

    def cells(values: Sequence[object], tag: str) -> str:
        return "".join(
            f'<{tag} style="{LINE}{";text-align:right" if place in numbers else ""}">{escape(str(value))}</{tag}>'
            for place, value in enumerate(values)
        )

    body = "".join(f'<tr style="background:none">{cells(row, "td")}</tr>' for row in rows)
    return (
        '<table style="border-collapse:collapse;font-size:12.5px;margin:6px 0"><thead>'
        f"<tr>{cells(head, 'th')}</tr></thead><tbody>{body}</tbody></table>"
    )


def folded(title: str, inner: str, *, opened: bool = False) -> str:
    """A section that opens on a click."""
    state = " open" if opened else ""
    return f'<details{state}><summary style="cursor:pointer;{SOFT}">{escape(title)}</summary>{inner}</details>'


def curves(lines: Sequence[tuple[str, str, Sequence[tuple[float, float]]]], width: int = 420, height: int = 120) -> str:
    """Lines over a common range as inline SVG; each has a name, a colour and points (x, y)."""
    points = [point for _, _, own in lines for point in own]
    if len(points) < 2:
        return ""
    low_x, high_x = min(x for x, _ in points), max(x for x, _ in points)
    low_y, high_y = min(y for _, y in points), max(y for _, y in points)
    span_x, span_y = high_x - low_x or 1.0, high_y - low_y or 1.0
    left, base = 52, height - 20

    def place(x: float, y: float) -> str:
        return f"{left + (width - left - 8) * (x - low_x) / span_x:.1f},{base - (base - 10) * (y - low_y) / span_y:.1f}"

    text = 'fill="currentColor" fill-opacity=".7" font-size="11"'
    parts = [
        f'<polyline fill="none" stroke="{colour}" stroke-width="1.8" points="{" ".join(place(*p) for p in own)}"/>'
        for _, colour, own in lines
    ]
    marks = (
        f'<text x="{left - 6}" y="16" text-anchor="end" {text}>{high_y:.3g}</text>'
        f'<text x="{left - 6}" y="{base}" text-anchor="end" {text}>{low_y:.3g}</text>'
        f'<text x="{left}" y="{height - 5}" {text}>{low_x:,.0f}</text>'
        f'<text x="{width - 8}" y="{height - 5}" text-anchor="end" {text}>{high_x:,.0f}</text>'
    )
    names = "".join(
        f'<span style="margin-right:14px"><span style="color:{colour}">━</span> {escape(name)}</span>'
        for name, colour, _ in lines
    )
    picture = (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">{"".join(parts)}{marks}'
    )
    return f'<div>{picture}</svg><div style="font-size:12px;{SOFT}">{names}</div></div>'
