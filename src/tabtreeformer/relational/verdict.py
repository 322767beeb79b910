"""The verdict on a database: attacks on units (people), not on rows.

The database is learned again from half of the units (e.g. customers with all their orders) and sampled. Every unit
becomes one row: its own columns, the number of its rows in other tables, and aggregates of them. All attacks of the
evaluation are run on these rows, with the learned half as training rows and the other half as held-out rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from .._runtime.progress import Progress, Silent, stage
from .._runtime.seeds import child
from ..data.links import Tables
from ..data.schema import Schema
from ..errors import TabTreeFormerError
from ..evaluation import evaluate, findings, to_record
from ..evaluation.aggregates import aggregated, own_columns
from ..evaluation.attacks.risk import CONFIDENCE, shared_confidence
from ..evaluation.attacks.rows import Calibration, outcome
from ..evaluation.encoding import both, encode
from ..evaluation.safety import TEST_METRICS, TESTS
from ..privacy.gate import no_verdict
from .source import Database
from .units import Units

MIN_UNITS = 100
"""With fewer units there is no verdict: chance could hide nearly any leak."""
MAX_UNITS, MAX_ATTACKS = 2_000, 300
"""Maximum units per side for comparisons, and for each attack."""
DENSITY = "membership_density"
MAX_DENSITY_AUC = {"balanced": 0.56, "strict": 0.53}
"""Maximum AUC of the density attack for a database to pass, by mode."""
UNSEEN = (
    "The attacked database was learned from half of the units; the one of all units was not attacked.",
    "Only aggregates of a unit are compared: number, means, extremes and spreads of its rows.",
    "Units of other tables, if there are any, are in both halves.",
)
Refit = Callable[[Database, np.random.SeedSequence], Tables]
"""Fits the given database and samples from it."""


def main_unit(units: Units, source: Database) -> str:
    """The unit table to which most rows of other tables belong."""
    sizes = {unit: sum(len(source.tables[name]) for name in units.below(unit)) for unit in units.table.values()}
    return max(sizes, key=lambda unit: sizes[unit])


def halves(units: Units, source: Database, unit: str, rng: np.random.Generator) -> tuple[Database, Database]:
    """Two databases, each with half of the units and all rows without a unit."""
    n = len(source.tables[unit])
    second = np.zeros(n, dtype=bool)
    second[rng.permutation(n)[n // 2 :]] = True
    parts = []
    for dropped in (second, ~second):
        rows = {}
        for name in units.below(unit):
            numbers = units.numbers[name]
            rows[name] = (numbers < n) & dropped[np.minimum(numbers, n - 1)]
        parts.append(source.without(rows))
    return parts[0], parts[1]


def judge_database(
    source: Database, units: Units, refit: Refit, mode: str, seed: np.random.SeedSequence, progress: Progress
) -> dict[str, Any]:
    """Attack a database fitted to half of the units, and return the findings."""
    started = time.perf_counter()
    unit = main_unit(units, source)
    n_units = len(source.tables[unit])
    if n_units < MIN_UNITS:
        why = f"{unit} has {n_units:,} rows; at least {MIN_UNITS} are needed to distinguish a leak from chance"
        return no_verdict(why, mode)
    one, other = halves(units, source, unit, np.random.default_rng(child(seed, 0)))
    try:
        with stage(progress, "privacy verdict", 2) as advance:
            new = refit(one, child(seed, 1))
            advance(1)
            people = [persons(tables, source, unit, child(seed, 2)) for tables in (one.tables, other.tables, new)]
            record = _attacked(people, mode, seed)
            advance(1)
    except TabTreeFormerError as error:
        return no_verdict(f"the attacks cannot be run on this database: {error}", mode)
    return {**record, "unit": unit, "seconds": round(time.perf_counter() - started, 3)}


def persons(tables: Tables, source: Database, unit: str, seed: np.random.SeedSequence) -> pd.DataFrame:
    """One row per unit, of at most `MAX_UNITS`."""
    known = source.described()
    frame = aggregated(tables, source.links, known.schemas, own_columns(source.tables, source.links), unit, whole=True)
    # Columns without information, e.g. a mean where no unit has any row, cannot be compared.
    frame = frame.dropna(axis=1, how="all")
    chosen = np.random.default_rng(seed).permutation(len(frame))[:MAX_UNITS]
    return frame.iloc[np.sort(chosen)].reset_index(drop=True)


def _attacked(people: list[pd.DataFrame], mode: str, seed: np.random.SeedSequence) -> dict[str, Any]:
    shared = [c for c in people[0].columns if all(c in frame.columns for frame in people)]
    members, others, new = (frame[shared] for frame in people)
    schema = Schema.infer(pd.concat([members, others], ignore_index=True))
    confidence = CONFIDENCE if mode == "strict" else shared_confidence(len(TESTS) + 1)
    number = int(seed.generate_state(1)[0])
    evaluation = evaluate(
        members, others, new,
        schema=schema, metrics=list(TEST_METRICS), max_queries=MAX_UNITS, max_attacks=MAX_ATTACKS,
        confidence=confidence, references="ceiling", random_state=number, progress=Silent(),
    )  # fmt: skip
    record = to_record(evaluation)["privacy"]
    found = findings(evaluation, tests=1)
    density = _density((members, others, new), schema, confidence, np.random.SeedSequence(number))
    record["measures"][DENSITY] = density
    reasons = [finding.text for finding in found if finding.leak]
    reasons += _traces(density, len(members), len(others), MAX_DENSITY_AUC[mode], confidence)
    return {
        "verdict": "fail" if reasons else "pass",
        "reasons": reasons,
        "mode": mode,
        "confidence": confidence,
        "judged_on": "units with all their rows: the training half against the other half",
        "rows": record["rows"],
        "measures": record["measures"],
        "left_out": dict(record["left_out"]),
        "not_covered": list(UNSEEN),
    }


def _traces(density: Mapping[str, Any], n_members: int, n_others: int, limit: float, confidence: float) -> list[str]:
    """The reason to fail by the density attack: an AUC significantly above the limit."""
    spread = ((n_members + n_others + 1) / (12 * n_members * n_others)) ** 0.5
    chance = 0.5 + NormalDist().inv_cdf(confidence) * spread
    area = float(density["value"])
    if area <= max(limit, chance):
        return []
    return [f"a density fitted to new units reveals training units (AUC {area:.2f}, at most {limit})"]


def _density(
    frames: tuple[pd.DataFrame, ...], schema: Schema, confidence: float, seed: np.random.SeedSequence
) -> Mapping[str, Any]:
    """How well a density fitted to new units distinguishes members from others."""
    members, others, new = frames
    tables = encode({"training": members, "held-out": others, "synthetic": new}, schema)
    calibration = Calibration.learn(both(tables["training"], tables["held-out"]), len(new), seed)
    found = outcome(calibration.score(tables["synthetic"]), len(members), confidence)
    return {"value": found["auc"], "goal": "half", "ceiling": 0.5, "released": len(new), **found}
