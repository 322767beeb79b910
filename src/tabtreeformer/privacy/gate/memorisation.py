"""The reading of the memorisation meter for the weights that were kept, and the limit beyond which a model fails."""

from __future__ import annotations

from collections.abc import Sequence

from ...evaluation import Finding
from ...fitting.history import History
from ...fitting.memorization import MIN_ROWS

MAX_MEMORISED = 0.2
"""Share of the rows read, beyond chance, that a network may find likelier than all but 1 % of the rows it never saw.

In `benchmarks/results/privacy.csv` (`memorised` / `looked_at`), the 27 fits of `auto 0.1` have 0.13 at most, networks
that were trained too long on iris, boston and wdbc 0.31 and more.
"""


def meter_facts(histories: Sequence[History]) -> dict[str, float | int]:
    """The meter of each network, as plain data."""
    facts: dict[str, float | int] = {}
    for history in histories:
        reading = history.kept_reading
        if reading is not None:
            facts[f"{history.name}: gap in nats per row"] = round(reading.gap, 4)
            facts[f"{history.name}: standard error"] = round(reading.error, 4)
            facts[f"{history.name}: rows memorised beyond chance"] = reading.memorised
            facts[f"{history.name}: rows looked at"] = reading.rows
    return facts


def meter_findings(histories: Sequence[History]) -> list[Finding]:
    """A leak for each network that knows too many of its rows by heart."""
    found = []
    for history in histories:
        reading = history.kept_reading
        if reading is not None and reading.rows >= MIN_ROWS:
            share = reading.memorised / reading.rows
            text = (
                f"{history.name}: beyond chance, {share:.0%} of the rows that it learned from are likelier to it than "
                "all but 1% of the rows that it never saw: it knows them by heart"
            )
            found.append(Finding("memorisation", share > MAX_MEMORISED, text))
    return found
