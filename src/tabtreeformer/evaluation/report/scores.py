"""The main table: every score with its interval, its references and its notes."""

from __future__ import annotations

from typing import Any

from .. import METRICS, Evaluation
from ..attacks.risk import CONFIDENCE
from ..intervals import interval_of

MEANING = {
    "utility": ("Utility loss", "How much worse models learn from synthetic than from real rows, tested on real ones."),
    "shape": ("Shape", "Agreement of each column's distribution, averaged."),
    "trend": ("Trend", "Agreement of each pair of columns, averaged."),
    "detection": ("Detection", "How well a classifier distinguishes synthetic rows from real ones (AUC)."),
    "laws": ("Laws", "Share of rows that keep what always holds in the training rows, such as sums, averaged."),
    "grain": ("Grain", "Agreement of how numbers are rounded: whole thousands, half dollars, .99; averaged."),
    "detection_derived": (
        "Detection, derived columns",
        "The same with differences, ratios, last digits, gaps and laws as further columns (AUC).",
    ),
    "shape_unseen": (
        "Shape, unseen rows",
        "Shape against rows that were not learned from; copies gain nothing there.",
    ),
    "trend_unseen": ("Trend, unseen rows", "Trend against rows that were not learned from."),
    "detection_unseen": ("Detection, unseen rows", "Detection against rows that were not learned from (AUC)."),
    "singling_out": (
        "Singling out",
        "Risk that a condition met by one synthetic row isolates a training row, beyond what happens to held-out rows.",
    ),
    "linkability": (
        "Linkability",
        "Risk that the synthetic rows link two halves of a training row, beyond what happens to held-out rows.",
    ),
    "inference": (
        "Attribute inference",
        "Risk that the synthetic rows reveal a value of a training row, beyond what happens to held-out rows.",
    ),
    "membership_density": (
        "Membership by density",
        "How well a density that is refitted on the synthetic rows reveals who was in the training rows (AUC): the "
        "strongest attack here.",
    ),
    "membership": (
        "Membership by distance",
        "How well closeness to synthetic rows reveals who was in the training rows (AUC).",
    ),
    "copies": ("Smoke test: copies", "Share of rows that equal a training row."),
    "dcr": (
        "Smoke test: distances",
        "A p-value: how often rows that are as far from the training rows as fresh real rows would come out this close "
        "by chance. A small one is evidence of copying; a large one is no evidence of privacy. Not a score: 0.9 is "
        "no better than 0.3.",
    ),
    "neighbour_ratio": (
        "Smoke test: neighbour ratio",
        "Distance to the closest training row over that to the second closest, median; near 0 means copies.",
    ),
}
GOALS = {"higher": "↑ higher is better", "lower": "↓ lower is better", "half": "→ 0.5 is best"}
TEST = "at least 0.05 is no violation"
"""The goal of a p-value, for which higher is not simply better."""
BETWEEN = ("utility", "shape", "trend", "detection", "laws", "grain", "detection_derived")
"""Scores between those of independent columns and of real rows, and the same against unseen rows."""


def meanings() -> dict[str, tuple[str, str]]:
    """Return the title and the meaning of every metric; one without a line above has its name and its docstring."""
    found = {}
    for name, metric in METRICS.items():
        words = (metric.measure.__doc__ or "").strip().splitlines()
        found[name] = MEANING.get(name) or (name.replace("_", " ").capitalize(), words[0] if words else "")
    return found


def score_table(evaluation: Evaluation, dependence: dict[str, Any] | None) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of the main table, and the notes that they refer to by number; equal notes are one."""
    notes: list[str] = []
    rows = []
    confidence = float(evaluation.facts.get("settings", {}).get("confidence", CONFIDENCE))
    order = {name: place for place, name in enumerate(MEANING)}
    for name, score in sorted(evaluation.scores.items(), key=lambda item: order.get(item[0], -1)):
        said = [] if score.note is None else [_sentence(score.note)]
        fewer = score.breakdown.get("at_holdout_size")
        if fewer is not None:
            said.append(_about_size(evaluation))
        if name == "trend" and (why := about_trend(evaluation, dependence)):
            said.append(why)
        for note in said:
            if note not in notes:
                notes.append(note)
        rows.append(
            {
                "name": name,
                **{key: getattr(score, key) for key in ("value", "goal", "ceiling", "floor")},
                "goal_text": TEST if name == "dcr" else GOALS[score.goal],
                "interval": interval_of(score.breakdown, confidence),
                "at_holdout_size": fewer,
                "between": name.removesuffix("_unseen") in BETWEEN,
                "notes": [notes.index(note) + 1 for note in said],
            }
        )
    return rows, notes


def about_trend(evaluation: Evaluation, dependence: dict[str, Any] | None) -> str | None:
    """Why Trend can be below that of independent columns, with the error of single columns taken out."""
    score = evaluation.scores.get("trend")
    if score is None or score.floor is None or dependence is None or not score.value < score.floor:
        return None
    new, blind = dependence["synthetic"], dependence["independent"]
    better = (
        "keep relations that independent columns lack" if new > blind else "keep no more of the relations than those"
    )
    return (
        f"Trend is below that of independent columns because it counts the error of single columns too, which columns "
        f"drawn from the training rows do not have. With that error taken out (both brought to the real margins), "
        f"pairs agree to {new:.3f}, those of independent columns to {blind:.3f}: the synthetic rows {better}."
    )


def _about_size(evaluation: Evaluation) -> str:
    n_test = evaluation.facts["rows"]["test"]
    return (
        f"Few rows score less than many by chance alone. The real held-out rows are {n_test:,}; the small number is "
        "what as many synthetic rows score, and only that can be compared with them."
    )


def _sentence(note: str) -> str:
    return f"{note[0].upper()}{note[1:]}."
