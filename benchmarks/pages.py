"""Tables of results in pages of documentation."""

from __future__ import annotations

from pathlib import Path


def put(page: Path, start: str, end: str, text: str) -> None:
    """Put lines between two marks of a page, in place of what stands there."""
    before, _, rest = page.read_text(encoding="utf-8").partition(start)
    _, mark, after = rest.partition(end)
    if not mark:
        raise ValueError(f"{page} has no place for them: {start} and, after it, {end}")
    page.write_text(f"{before}{start}\n{text}\n{end}{after}", encoding="utf-8")
