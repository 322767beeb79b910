"""Results as lines of a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def write_lines(path: Path, fields: Sequence[str], lines: Iterable[Mapping[str, object]]) -> None:
    """Write lines under a head of fields; a field that a line lacks is empty."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
