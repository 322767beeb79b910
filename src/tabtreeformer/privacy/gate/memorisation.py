"""The memorisation meter at the final weights, and the limit beyond which a model fails."""

from __future__ import annotations

from collections.abc import Sequence

from ...evaluation import Finding
from ...fitting.history import History
from ...fitting.memorization import MIN_ROWS

MAX_MEMORISED = 0.2
"""Maximum share of training rows, beyond chance, that a network finds likelier than all but 1 % of unseen rows.

In `benchmarks/results/privacy.csv` (`memorised` / `looked_at`), the 27 fits of `auto 0.1` have at most 0.13; networks
that were trained too long on iris, boston and wdbc have 0.31 and more.
"""


def meter_facts(histories: Sequence[History]) -> dict[str, float | int]:
    """The meter readings of each network, as plain data."""
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
    """A finding for each network that has memorised too many rows."""
    found = []
    for history in histories:
        reading = history.kept_reading
        if reading is not None and reading.rows >= MIN_ROWS:
            share = reading.memorised / reading.rows
            text = (
                f"{history.name}: beyond chance, {share:.0%} of its training rows are likelier than all but 1% of "
                "unseen rows: it has memorised them"
            )
            found.append(Finding("memorisation", share > MAX_MEMORISED, text))
    return found
