"""Quality on unseen rows.

Compared with training rows, a table of copies scores best. Compared with held-out rows, it cannot score better than the
training rows, which are the reference for these scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..context import Context
from ..references import Tables
from ..score import Measurement

Measure = Callable[[Tables, Context], Measurement]


def against_unseen(measure: Measure) -> Measure:
    """The same measure with the held-out rows in place of the training rows."""

    def measured(tables: Tables, context: Context) -> Measurement:
        return measure(replace(tables, train=tables.holdout), context)

    return measured
