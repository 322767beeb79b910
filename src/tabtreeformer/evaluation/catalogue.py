"""The registry of metrics: how each is measured, its goal, and the tables for its references."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from .attacks.distances import copies, dcr, neighbour_ratio
from .attacks.inference import inference
from .attacks.linkability import linkability
from .attacks.membership import membership
from .attacks.rows import density_attack
from .attacks.singling_out import singling_out
from .context import Context
from .metrics.derived import detection_derived
from .metrics.detection import detection
from .metrics.fidelity import shape, trend
from .metrics.grain import grain
from .metrics.laws import laws
from .metrics.unseen import against_unseen
from .metrics.utility import utility
from .references import Tables, held_out_halves, held_out_rows, training_rows
from .score import Goal, Measurement


@dataclass(frozen=True, kw_only=True)
class Metric:
    """How a score is computed, and its references."""

    measure: Callable[[Tables, Context], Measurement]
    goal: Goal
    ceiling: Callable[[Tables, np.random.Generator], Tables] = held_out_rows
    """The tables on which the same measure gives the ceiling."""
    needs_holdout: bool = False
    needs_target: bool = False
    follows_size: bool = False
    """Few rows score lower than many by chance alone, so a small hold-out gives a low ceiling."""
    by_rows: bool = False
    """A mean over columns, pairs or laws: its interval comes from leaving out some of the synthetic rows."""


UNSEEN: tuple[tuple[str, Callable[[Tables, Context], Measurement], Goal], ...] = (
    ("shape", shape, "higher"),
    ("trend", trend, "higher"),
    ("detection", detection, "half"),
)
"""Also measured against held-out rows, with the training rows as the reference."""

METRICS: Mapping[str, Metric] = {
    "utility": Metric(measure=utility, goal="lower", ceiling=training_rows, needs_holdout=True, needs_target=True),
    "shape": Metric(measure=shape, goal="higher", follows_size=True, by_rows=True),
    "trend": Metric(measure=trend, goal="higher", follows_size=True, by_rows=True),
    "detection": Metric(measure=detection, goal="half"),
    "laws": Metric(measure=laws, goal="higher", by_rows=True),
    "grain": Metric(measure=grain, goal="higher", follows_size=True, by_rows=True),
    "detection_derived": Metric(measure=detection_derived, goal="half"),
    **{
        f"{name}_unseen": Metric(
            measure=against_unseen(measure),
            goal=goal,
            ceiling=training_rows,
            needs_holdout=True,
            by_rows=name != "detection",
        )
        for name, measure, goal in UNSEEN
    },
    "dcr": Metric(measure=dcr, goal="higher", ceiling=held_out_halves, needs_holdout=True),
    "copies": Metric(measure=copies, goal="lower"),
    "membership": Metric(measure=membership, goal="half", ceiling=held_out_halves, needs_holdout=True),
    "membership_density": Metric(measure=density_attack, goal="half", ceiling=held_out_halves, needs_holdout=True),
    "neighbour_ratio": Metric(measure=neighbour_ratio, goal="higher"),
    "singling_out": Metric(measure=singling_out, goal="lower", ceiling=held_out_halves, needs_holdout=True),
    "linkability": Metric(measure=linkability, goal="lower", ceiling=held_out_halves, needs_holdout=True),
    "inference": Metric(measure=inference, goal="lower", ceiling=held_out_halves, needs_holdout=True),
}
