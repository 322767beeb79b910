"""A few sentences on the quality of new rows, for the end of a fit; `evaluate` measures it in full."""

from __future__ import annotations

import pandas as pd

from ..data.schema import IDENTIFIER, LABELLED, TEXT, Schema
from .encoding import encode
from .evaluate import evaluate
from .likeness import Likeness, least_alike

MAX_ROWS = 1000
"""Maximum rows that are read."""
MAX_COLUMNS = 40
"""Maximum columns that are read, spread evenly over the table."""
FEW_ROWS = 20
"""Minimum rows of a table to report anything."""
WORDS = ((0.6, "hardly"), (0.7, "now and then"), (0.85, "often"), (1.01, "nearly always"))
"""How often rows are recognised as synthetic, by the AUC of a two-sample test."""


def quick_look(
    real: pd.DataFrame,
    synthetic: pd.DataFrame,
    schema: Schema,
    laws: int,
    *,
    budget: bool = False,
    holdout: bool = False,
) -> tuple[str, ...]:
    """Sentences about new rows compared with real ones, and what to do about it.

    `budget` and `holdout` say whether the fit had a time limit, and whether rows were set aside.
    """
    few = _few_rows(real, synthetic, schema)
    if few is not None:
        return (few,)
    learned = [c for c in schema.columns if c.kind not in (IDENTIFIER, TEXT)]
    chosen = learned[:: -(-len(learned) // MAX_COLUMNS)] if learned else []
    if not chosen:
        return ()
    names, own = [c.name for c in chosen], Schema(tuple(chosen))
    scores = evaluate(real[names], None, synthetic[names], schema=own, metrics=("detection",), references=False)
    auc = scores.scores["detection"].value
    tables = encode({"real": real[names], "synthetic": synthetic[names]}, own)
    worst = least_alike(tables["real"], tables["synthetic"])
    return (_verdict(auc, laws), _least_alike(*worst), _advice(auc, worst, len(real), budget=budget, holdout=holdout))


def _verdict(auc: float, laws: int) -> str:
    how = next(word for limit, word in WORDS if not auc >= limit)
    best = "0.5 is best" if auc >= 0.5 else "0.5 or less is best"
    kept = f", and keep {laws:,} law{'s' * (laws != 1)} without exception" if laws else ""
    return f"quality: new rows are {how} recognised as synthetic (AUC {auc:.2f}, {best}){kept}"


def _least_alike(column: Likeness | None, pair: Likeness | None) -> str:
    """The column and the pair that are least similar to the real ones, and how similar real rows are there."""
    if column is None and pair is None:
        return "  no column and no pair of columns differs from the real ones by more than chance"
    said = [
        f"{word} {' and '.join(map(repr, own.names))} ({own.score:.0%}, two halves of the real rows {own.real:.0%})"
        for word, own in (("column", column), ("pair", pair))
        if own is not None
    ]
    return f"  least alike: {'; '.join(said)}"


def _advice(
    auc: float, worst: tuple[Likeness | None, Likeness | None], n_rows: int, *, budget: bool, holdout: bool
) -> str:
    if auc < WORDS[1][0] and worst == (None, None):
        ways = "" if holdout else " (--holdout 0.2 sets some aside)"
        return f"  nothing to improve was found; ttf evaluate measures it on held-out rows{ways}"
    if n_rows < 10 * FEW_ROWS:
        return f"  {n_rows:,} rows teach little: more rows help most"
    helps = "more time helps first (a larger --budget)" if budget else "more rows, or fewer columns, help most"
    return f"  {helps}; ttf evaluate --html shows where rows differ"


def _few_rows(real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema) -> str | None:
    """The sentence about a table that is too small, or about rows that are all the same."""
    columns = [c for c in schema.columns if c.kind not in (IDENTIFIER, TEXT)]
    learned = synthetic[[c.name for c in columns]].copy()
    for column in columns:  # values made up in place of rare ones were never learned
        if column.kind in LABELLED:
            learned[column.name] = learned[column.name].where(learned[column.name].isin(real[column.name]))
    different = len(learned.drop_duplicates()) if columns else 1
    if len(real) >= FEW_ROWS and different > 1:
        return None
    n_new = len(synthetic)
    same = "all the same" if different == 1 else f"of {different:,} different values"
    return (
        f"quality: {len(real):,} rows are too few to learn from: {n_new:,} new rows are {same}, apart from what is "
        "made up; values that fewer than tokens.rare_floor rows share are not kept"
    )
