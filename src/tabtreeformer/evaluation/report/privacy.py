"""The privacy section of a page as plain data: distances to the closest training row, and the attacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import Evaluation
from .curves import density


def distances(breakdown: Mapping[str, Any]) -> dict[str, Any]:
    """Densities of the distances to the closest training row on a logarithmic axis, from their stored quantiles."""
    holdout, synthetic = np.array(breakdown["holdout"]), np.array(breakdown["synthetic"])
    both = np.concatenate([holdout, synthetic])
    floor = both[both > 0].min(initial=1.0) / 2  # a copy is at distance 0, which has no logarithm
    curves = density(*(np.log10(np.maximum(values, floor)) for values in (holdout, synthetic)), both_ends=True)
    return {
        **curves,
        "log": True,
        "medians": {"real": float(np.median(holdout)), "synthetic": float(np.median(synthetic))},
    }


def attacks(evaluation: Evaluation) -> list[dict[str, Any]]:
    """One line per attack: singling out by one column and by several, linkability, inference column by column."""
    lines = []
    for name in ("singling_out", "linkability", "inference"):
        facts = evaluation.scores[name].breakdown if name in evaluation.scores else {}
        parts = {"": facts} if "risk" in facts and name == "linkability" else {}
        parts |= facts.get("modes", {}) | {str(record["column"]): record for record in facts.get("columns", ())}
        for part, record in parts.items():
            keys = ("train", "control", "baseline", "risk", "interval")
            lines.append({"attack": name, "part": part, **{key: record[key] for key in keys}})
    return sorted(lines, key=lambda line: -line["interval"][0])
