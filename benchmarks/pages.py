"""Tables of results in pages of documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def as_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Lines of Markdown: what the columns are called, and their cells."""
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in (head, ["---"] * len(head), *rows))


def put(page: Path, start: str, end: str, text: str) -> None:
    """Put lines between two marks of a page, in place of what stands there."""
    before, _, rest = page.read_text(encoding="utf-8").partition(start)
    _, mark, after = rest.partition(end)
    if not mark:
        raise ValueError(f"{page} has no place for them: {start} and, after it, {end}")
    page.write_text(f"{before}{start}\n{text}\n{end}{after}", encoding="utf-8")
