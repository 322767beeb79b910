"""Two sentences about the quality of new rows, for the end of a fit; `evaluate` measures it in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..data.schema import IDENTIFIER, TEXT, Schema
from .evaluate import Evaluation, evaluate

MAX_ROWS = 1000
"""Maximum rows that are read."""
MAX_COLUMNS = 40
"""Maximum columns that are read, spread evenly over the table."""
FEW_ROWS = 20
"""Minimum rows of a table to report anything."""
WORDS = ((0.6, "hardly"), (0.7, "now and then"), (0.85, "often"), (1.01, "nearly always"))
"""How often rows are recognised as synthetic, by the AUC of a two-sample test."""
POOR = 0.85
"""A column or pair that agrees less than this is worth naming."""


def quick_look(real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema, laws: int) -> tuple[str, ...]:
    """Sentences about new rows compared with real ones, and what to do about it."""
    few = _few_rows(real, synthetic, schema)
    if few is not None:
        return (few,)
    learned = [c for c in schema.columns if c.kind not in (IDENTIFIER, TEXT)]
    chosen = (
        [learned[k] for k in np.unique(np.linspace(0, len(learned) - 1, MAX_COLUMNS).astype(int))] if learned else []
    )
    if not chosen:
        return ()
    names = [c.name for c in chosen]
    own = Schema(tuple(chosen))
    scores = evaluate(
        real[names], None, synthetic[names], schema=own, metrics=("shape", "trend", "detection"), references=False
    )
    return (_verdict(scores, laws), _advice(scores, len(real)))


def _verdict(scores: Evaluation, laws: int) -> str:
    auc, worst, pair = (
        scores.scores["detection"].value,
        _worst(scores, "shape", "columns"),
        _worst(scores, "trend", "pairs"),
    )
    how = next(word for limit, word in WORDS if not auc >= limit)
    said = [f"quality: new rows are {how} recognised as synthetic (AUC {auc:.2f}, 0.5 is best)"]
    if worst is not None:
        said.append(f"the least similar column is {worst['column']!r} ({worst['score']:.0%})")
    if pair is not None:
        said.append(f"the least similar pair {' and '.join(map(repr, pair['columns']))} ({pair['score']:.0%})")
    if laws:
        said.append(f"{laws:,} law{'s' * (laws != 1)} kept in every row")
    return ", ".join(said)


def _advice(scores: Evaluation, n_rows: int) -> str:
    auc, worst = scores.scores["detection"].value, _worst(scores, "shape", "columns")
    if auc < WORDS[1][0] and (worst is None or worst["score"] >= POOR):
        return "  nothing to improve was found; ttf evaluate measures it on held-out rows (--holdout 0.2)"
    if n_rows < 10 * FEW_ROWS:
        return f"  {n_rows:,} rows teach little: more rows help most, then a target (--target)"
    return "  more time helps first (--budget, or --set train.steps=…); ttf evaluate --html shows where rows differ"


def _worst(scores: Evaluation, metric: str, records: str) -> Any:
    found = [own for own in _records(scores, metric, records) if own["score"] is not None and np.isfinite(own["score"])]
    return min(found, key=lambda own: own["score"], default=None)


def _records(scores: Evaluation, metric: str, records: str) -> Sequence[Any]:
    score = scores.scores.get(metric)
    return () if score is None else score.breakdown.get(records, ())


def _few_rows(real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema) -> str | None:
    """The sentence about a table that is too small, or about rows that are all the same."""
    names = [c.name for c in schema.columns if c.kind not in (IDENTIFIER, TEXT)]
    different = [len(table[names].drop_duplicates()) for table in (real, synthetic)] if names else [1, 1]
    if len(real) >= FEW_ROWS and different[1] > 1:
        return None
    return (
        f"quality: {len(real):,} rows are too few to learn from: {len(synthetic):,} new rows have {different[1]:,} "
        f"different values ({different[0]:,} real); values that fewer than tokens.rare_floor rows share are not kept"
    )
