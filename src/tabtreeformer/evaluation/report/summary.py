"""An evaluation and its tables → plain data for a page: curves, bars, matrices, rows. Nothing here depends on HTML."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from ...data.schema import Schema
from .. import Evaluation
from ..encoding import encode
from .associations import associations
from .columns import columns
from .dependence import dependence
from .pairs import pairs
from .privacy import attacks, distances
from .rows import gaps, neighbours, row_map, samples
from .scores import score_table
from .verdict import LAWS, limits, verdicts

HIDDEN_FLOOR = 5
"""Where real rows are not shown, neither is anything that fewer than this number of them have in common."""


@dataclass(frozen=True)
class Summary:
    """Everything that a page shows."""

    verdicts: list[dict[str, str]]
    limits: list[str]
    scores: list[dict[str, Any]]
    notes: list[str]
    """The notes that scores refer to by number."""
    left_out: dict[str, list[str]]
    """Metrics that were not measured, by the reason."""
    utility: dict[str, Any] | None
    columns: list[dict[str, Any]]
    """The least faithful first."""
    samples: list[dict[str, Any]]
    pairs: dict[str, list[dict[str, Any]]]
    laws: list[dict[str, Any]]
    associations: dict[str, Any] | None
    dependence: dict[str, Any] | None
    """How well pairs agree with the error of single columns taken out."""
    row_map: dict[str, Any] | None
    gaps: dict[str, Any] | None
    distances: dict[str, Any] | None
    attacks: list[dict[str, Any]]
    neighbours: list[dict[str, Any]]
    facts: dict[str, Any]


def summarise(
    evaluation: Evaluation,
    train: pd.DataFrame,
    test: pd.DataFrame | None,
    synthetic: pd.DataFrame,
    schema: Schema,
    *,
    show_rows: bool = True,
) -> Summary:
    """Collect what a report shows; `show_rows=False` leaves out real rows, and what fewer than five of them share."""
    frames = {"training": train, "held-out": test, "synthetic": synthetic}
    tables = encode({role: frame for role, frame in frames.items() if frame is not None}, schema)
    real, new = tables["training"], tables["synthetic"]
    scores, floor = evaluation.scores, 1 if show_rows else HIDDEN_FLOOR
    by_column = {
        name: {r["column"]: r for r in scores[name].breakdown["columns"]} if name in scores else {}
        for name in ("shape", "grain")
    }
    shapes = {column: record["score"] for column, record in by_column["shape"].items()}
    related, apart = associations(real, new), dependence(real, new)
    table, notes = score_table(evaluation, apart)
    return Summary(
        verdicts=[asdict(verdict) for verdict in verdicts(evaluation)],
        limits=limits(),
        scores=table,
        notes=notes,
        left_out=_by_reason(evaluation),
        utility=dict(scores["utility"].breakdown) if "utility" in scores else None,
        columns=columns(real, new, shapes, by_column["grain"], floor),
        laws=_laws(evaluation),
        associations=related,
        dependence=apart,
        row_map=row_map(real, new, floor),
        gaps=gaps(real, new, floor),
        samples=samples(train, synthetic, show_rows=show_rows),
        pairs=pairs(related, real, new, floor),
        distances=distances(scores["dcr"].breakdown) if "dcr" in scores else None,
        attacks=attacks(evaluation),
        neighbours=neighbours(evaluation, train, synthetic, schema) if show_rows else [],
        facts=dict(evaluation.facts),
    )


def _by_reason(evaluation: Evaluation) -> dict[str, list[str]]:
    """The metrics that were not measured; each reason is given once."""
    found: dict[str, list[str]] = {}
    for name, why in evaluation.left_out.items():
        found.setdefault(why, []).append(name)
    return found


def _laws(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Every law of the training rows and the shares of rows that keep it, the most broken first."""
    records = evaluation.scores["laws"].breakdown.get("laws", []) if "laws" in evaluation.scores else []
    measured = []
    for record in records:
        if record["synthetic"] is not None:
            real = record["train"] if record["holdout"] is None else record["holdout"]
            measured.append({**record, "broken": real - record["synthetic"] > LAWS[0]})
    return sorted(measured, key=lambda record: record["synthetic"] - record["train"])
