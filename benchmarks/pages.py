"""Tables of results in pages of documentation and in CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def as_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table: the titles of the columns, and their cells."""
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in (head, ["---"] * len(head), *rows))


def put(page: Path, name: str, text: str) -> None:
    """Replace what is between the two marks of this name in a page."""
    start, end = marks(name)
    before, _, rest = page.read_text(encoding="utf-8").partition(start)
    _, mark, after = rest.partition(end)
    if not mark:
        raise ValueError(f"{page} has no marks for the table: {start} and, after it, {end}")
    page.write_text(f"{before}{start}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def marks(name: str) -> tuple[str, str]:
    """Return the two comments of a page between which a table is written."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def write_lines(path: Path, fields: Sequence[str], lines: Iterable[Mapping[str, object]]) -> None:
    """Write a CSV file; a field that a line lacks is empty."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
