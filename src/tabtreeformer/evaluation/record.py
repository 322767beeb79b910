"""What a model file keeps of an evaluation: figures and their references, and no row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .evaluate import Evaluation
from .score import Score, plain

QUALITY = (
    "utility", "shape", "trend", "detection", "laws", "grain", "detection_derived",
    "shape_unseen", "trend_unseen", "detection_unseen",
)  # fmt: skip
_FACTS = (
    "true_positives", "true_positives_interval", "false_positives", "auc_interval", "train", "control", "baseline",
    "interval", "column", "mode", "violation", "near_copies", "true_positives_at_10", "released",
    "repeated",
)  # fmt: skip
"""Parts of a breakdown that are kept; others may name rows."""


def to_record(evaluation: Evaluation) -> dict[str, dict[str, Any]]:
    """Return `quality` and `privacy` as the record of a model file has them, each {"rows": …, "measures": …}."""
    records: dict[str, dict[str, Any]] = {}
    for part in ("quality", "privacy"):
        scores = {n: s for n, s in evaluation.scores.items() if (n in QUALITY) == (part == "quality")}
        left_out = {n: why for n, why in evaluation.left_out.items() if (n in QUALITY) == (part == "quality")}
        records[part] = {
            "rows": plain(evaluation.facts.get("rows", {})),
            "measures": {name: _figures(score) for name, score in scores.items()},
            "left_out": left_out,
        }
    return records


def _figures(score: Score) -> Mapping[str, Any]:
    figures = {name: plain(getattr(score, name)) for name in ("value", "goal", "ceiling", "floor", "note")}
    return figures | {name: plain(score.breakdown[name]) for name in _FACTS if name in score.breakdown}
