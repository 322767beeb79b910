"""The report on a database: one page with a drawing of the links and all measures, and one page per table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import pandas as pd

from .._runtime.files import replacing
from ..data.links import Link, Tables, order_tables
from ..data.schema import Schema
from .aggregates import own_columns
from .databases import DatabaseScores
from .evaluate import evaluate

BOX, GAP, ROW, LANE = 190, 70, 64, 14
"""In the drawing: width of a box, space between two levels, height of a line of boxes, half of the free space."""
TIP = (
    '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
    '<path d="M0 0L8 4L0 8"/></marker></defs>'
)
"""The end of an arrow."""
WORST = 12
"""Pairs and columns that the page lists, worst first."""
WORSE = 0.05
"""How far a measure may be below that of real held-out tables before the page mentions it."""
MEANING = {
    "broken keys": "keys that point to no row or occur twice; 0 is best",
    "cardinality": "numbers of children per parent",
    "shapes": "each column by itself",
    "pairs": "pairs of columns of the same table",
    "1-hop": "pairs of columns of a table and its parent",
    "2-hop": "pairs of columns two links apart",
    "detection of parents": "AUC of boosted trees on parents with their children summed up; 0.5 is best",
    "utility of children": "how well a parent's columns are predicted from its children",
    "lengths": "rows per parent",
    "spacing": "steps from one row of a parent to the next",
    "order": "share of the rows in their order",
    "autocorrelation": "how rows resemble those before them",
    "transitions": "which label follows which",
}
"""What each measure compares."""
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2430;background:#fff}
table{border-collapse:collapse;margin:1rem 0}
td,th{padding:.25rem .8rem;text-align:right}td,th{border-bottom:1px solid #d5dae1}
td:first-child,th:first-child{text-align:left}.wide{overflow-x:auto}td:first-child{overflow-wrap:anywhere;min-width:9rem}
td:last-child.words,th.words{text-align:left}td:last-child.words{color:#5b6b80;min-width:16rem}
svg rect{fill:#eef2f7;stroke:#5b6b80}svg path{stroke:#5b6b80;fill:none}svg text{fill:#1c2430;font-size:13px}
@media(prefers-color-scheme:dark){body,svg text{color:#e6eaf0;fill:#e6eaf0;background:#14181d}
svg rect{fill:#222a33}td:last-child.words,svg path{color:#9aa8b8;stroke:#8494a8}
td,th{border-color:#39424d}a{color:#8ab4f8}}
"""


def write_database_report(
    folder: str | os.PathLike[str],
    scores: DatabaseScores,
    real: Tables,
    synthetic: Tables,
    *,
    holdout: Tables | None = None,
    schemas: Mapping[str, Schema] | None = None,
    title: str = "Synthetic database report",
    show_rows: bool = True,
) -> None:
    """Write `index.html` and a page per table to a folder.

    Parameters
    ----------
    folder
        Where to write the pages; created if it does not exist.
    scores
        What `evaluate_database` returned for these tables.
    real, synthetic, holdout, schemas
        As passed to `evaluate_database`.
    title
        Heading of the first page.
    show_rows
        Whether pages of tables print real rows beside their nearest new ones.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    pages = {}
    for number, (name, columns) in enumerate(own_columns(real, scores.links).items()):
        # New keys never equal real ones: any table would fail a comparison of keys.
        schema = (schemas or {}).get(name) or Schema.infer(real[name])
        schema = Schema(tuple(schema.column(column) for column in columns))
        held = None if holdout is None else holdout[name][columns]
        own = (real[name][columns], held, synthetic[name][columns])
        if columns and _table_page(place / f"table{number}.html", name, own, schema, show_rows):
            pages[name] = f"table{number}.html"
    with replacing(place / "index.html") as temporary:
        temporary.write_text(_index(scores, real, synthetic, pages, title), encoding="utf-8")


def _table_page(
    path: Path,
    name: str,
    tables: tuple[pd.DataFrame, pd.DataFrame | None, pd.DataFrame],
    schema: Schema,
    show_rows: bool,
) -> bool:
    """Write the page of one table; False where nothing in it can be compared."""
    from .report import write_report

    metrics = ["shape", "trend", "detection"] if tables[0].shape[1] > 1 else ["shape"]
    try:
        found = evaluate(*tables, schema=schema, metrics=metrics)
    except ValueError:
        return False
    write_report(path, found, *tables, schema=schema, title=f"Table {name}", show_rows=show_rows)
    return True


def _index(
    scores: DatabaseScores,
    real: Tables,
    synthetic: Tables,
    pages: Mapping[str, str],
    title: str,
) -> str:
    sizes = [[_named(name, pages), f"{len(real[name]):,}", f"{len(synthetic[name]):,}"] for name in real]
    kept = "Every key points to a row and no key occurs twice."
    broken = kept if not scores.broken_keys else f"{scores.broken_keys:,} keys point to no row or occur twice."
    compared = scores.compared()
    measures = [
        [escape(str(name)), *(_measure(str(name), v) for v in line), escape(MEANING.get(str(name), ""))]
        for name, line in compared.iterrows()
    ]
    every = (scores.shapes, scores.pairs, *scores.hops.values())
    worst = sorted((score, name) for part in every for name, score in part.items())
    parts = [
        f"<h1>{escape(title)}</h1><p>{broken} {_below(compared)}</p>",
        f"<h2>Links</h2>{drawing(list(real), scores.links)}",
        "<h2>Tables</h2>" + _table(["table", "real rows", "synthetic rows"], sizes),
        "<h2>Measures</h2><p>1 is best unless noted otherwise.</p>"
        + _table(["measure", *map(escape, compared.columns), "what it compares"], measures, words=True),
        "<h2>Least alike</h2>"
        + _table(["column or pair", "score"], [[escape(name), _number(score)] for score, name in worst[:WORST]]),
    ]
    if scores.cardinality:
        lines = [[escape(text), _number(score)] for text, score in scores.cardinality.items()]
        parts.insert(3, "<h2>Numbers of children</h2>" + _table(["link", "similarity"], lines))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return f"<!doctype html><html lang=en><head>{head}<style>{STYLE}</style></head><body>{''.join(parts)}</body></html>"


def drawing(names: Sequence[str], links: Sequence[Link]) -> str:
    """Tables as boxes, parents left of their children, and an arrow from each child to its parent."""
    level: dict[str, int] = {}
    for name in order_tables(names, links):
        above = [level[link.parent] for link in links if link.child == name and not link.to_itself]
        level[name] = 1 + max(above, default=-1)
    places: dict[str, tuple[int, int]] = {}
    for name in names:
        line = sum(1 for other in places if level[other] == level[name])
        places[name] = (level[name] * (BOX + GAP) + 10, line * ROW + 20)
    width = max(x for x, _ in places.values()) + BOX + 60
    height = max(y for _, y in places.values()) + ROW
    shapes = []
    for link in links:
        (x, y), (to_x, to_y) = places[link.child], places[link.parent]
        start, end = (x, y + 18), (to_x + BOX, to_y + 18)
        if link.to_itself:
            start, end = (x + BOX, y + 10), (x + BOX, y + 28)
        bend = 30 if not link.to_itself else -40
        path = f"M{start[0]} {start[1]}C{start[0] - bend} {start[1]} {end[0] + bend} {end[1]} {end[0]} {end[1]}"
        if x - to_x > BOX + GAP:  # between the rows of boxes, not behind a box of an intermediate level
            lane = y + (ROW - LANE if to_y >= y else -LANE)
            path = f"M{start[0]} {start[1]}h-{GAP // 3}V{lane}H{end[0] + GAP // 3}V{end[1]}H{end[0]}"
        if link.to_itself:
            path = f"M{start[0]} {start[1]}h40v18h-40"
        shapes.append(f'<path d="{path}" marker-end="url(#tip)"><title>{escape(link.text)}</title></path>')
    for name, (x, y) in places.items():
        shapes.append(f'<rect x="{x}" y="{y}" width="{BOX}" height="36" rx="5"/>')
        shapes.append(f'<text x="{x + 10}" y="{y + 23}">{escape(name[:24])}</text>')
    label = escape("; ".join(link.text for link in links))
    size = f'viewBox="0 0 {width} {height}" width="{width}"'
    return f'<div class="wide"><svg {size} role="img" aria-label="{label}">{TIP}{"".join(shapes)}</svg></div>'


def _named(name: str, pages: Mapping[str, str]) -> str:
    return f'<a href="{pages[name]}">{escape(name)}</a>' if name in pages else escape(name)


def _number(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"


def _measure(name: str, value: float) -> str:
    return f"{value:,.0f}" if name == "broken keys" else _number(value)


def _below(compared: pd.DataFrame) -> str:
    """The measures that are below those of unseen real tables."""
    if "real held-out" not in compared:
        return "Pass held-out tables to see what real ones score."
    scores = compared.drop(index=["broken keys", "detection of parents"], errors="ignore")
    below = scores.index[scores["real held-out"] - scores["synthetic"] > WORSE]
    if not len(below):
        return "No measure is much below that of real tables that nobody learned from."
    return f"Below real tables that nobody learned from: {escape(', '.join(map(str, below)))}."


def _table(columns: Sequence[str], lines: Sequence[Sequence[str]], *, words: bool = False) -> str:
    """A table of numbers after the first column; with `words` its last column is text."""
    end = '<th class="words">' if words else "<th>"
    head = "".join(f"<th>{column}</th>" for column in columns[:-1]) + f"{end}{columns[-1]}</th>"
    last = '<td class="words">' if words else "<td>"
    body = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in line[:-1]) + f"{last}{line[-1]}</td></tr>" for line in lines
    )
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'
