"""The verdict at the end of a fit.

No row has to be given up for it: network j was trained on its own half and has never seen the other, so that rows
written by network j alone can be held against both, its own half as training rows and the other half as held-out rows.
Every attack of the evaluation is made that way on both networks. Rows that were set aside (`holdout`) are stricter:
neither codec, trees nor networks saw them, and rows are then judged as the whole model writes them.

Two things are judged. The *rows*: distances, copies, near copies, membership by distance, singling out, linkability,
attribute inference. And the *file*: membership by likelihood, which only who holds the networks can compute. A model
fails by its rows; in the mode `strict` by its file too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import TabTreeFormerError
from ..evaluation import Evaluation, Finding, evaluate, findings, membership_attack, tells_members, to_record
from ..evaluation.risk import CONFIDENCE, shared_confidence
from ..fitted import Fitted
from ..generation import Sampler
from ..presets import Privacy
from ..progress import Progress, Silent, stage
from ..training import History
from .likelihood import attack_tokens, log_likelihoods

MOST_ROWS = 2_000
"""Rows of each table that are compared."""
MOST_ATTACKS = 300
"""Rows, or sentences about rows, that each attack is tried on."""
FEWEST_ROWS = 50
"""With fewer rows than this on either side nothing is judged: chance could hide nearly any leak."""
METRICS = ("dcr", "copies", "membership", "singling_out", "linkability", "inference")
TESTS = 8
"""Tests of each comparison: those above, near copies, and membership by likelihood."""
LIKELIHOOD, CALIBRATED = "membership_likelihood", "membership_calibrated"
NOT_COVERED = (
    "The shared start, the trees and the codec saw all rows: what they tell of a row is told of both halves, and no "
    "comparison of the halves shows it.",
    "Each network was judged by rows of its own; a table that mixes both, as `sample` writes, was not compared.",
    "Prompts of a network may come from leaves of the half that stands for held-out rows here (train.prompts): "
    "nearness to those rows hides nearness to the others.",
)
"""What the comparison of halves cannot see; rows set aside (`holdout`) can."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What fitting knows and a model does not keep."""

    take: Callable[[NDArray[np.int64]], pd.DataFrame]
    """Rows of the table by their numbers, which ascend."""
    tokens: NDArray[Any]
    """Token sequences of all rows (N, L), in memory or on disk."""
    parts: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]
    """Of each network: rows that it was trained on, and rows that it was validated on."""
    histories: Sequence[History]
    holdout: pd.DataFrame | None = None
    """Rows that nothing has seen."""


@dataclass(frozen=True)
class _Part:
    """One comparison: what was found of the rows and of the file, and the figures."""

    name: str
    rows: list[Finding]
    file: list[Finding]
    record: Mapping[str, Any]


def judge_model(
    fitted: Fitted,
    evidence: Evidence,
    mode: Privacy,
    sensitive: Sequence[str | int] | None,
    seed: np.random.SeedSequence,
    progress: Progress,
) -> dict[str, Any]:
    """Attack a fitted model and return the `privacy` part of its record."""
    started = time.perf_counter()
    memorised = {"memorisation": _memorisation(evidence)}
    if mode == "off":
        return not_judged("privacy was off", mode) | memorised
    fewest = min(len(rows) for part in evidence.parts for rows in part)
    if fewest < FEWEST_ROWS:
        why = f"a network had {fewest:,} rows on one side, and {FEWEST_ROWS} are needed to tell a leak from chance"
        return not_judged(why, mode) | memorised
    n_parts = len(evidence.parts) + (evidence.holdout is not None)
    confidence = CONFIDENCE if mode == "strict" else family_confidence(n_parts)
    judge = _Judge(fitted, evidence, sensitive, confidence, seed)
    try:
        with stage(progress, "privacy verdict", n_parts) as advance:
            parts = []
            for j in range(len(evidence.parts)):
                parts.append(judge.network(j))
                advance(1)
            if evidence.holdout is not None:
                parts.append(judge.whole(evidence.holdout))
                advance(1)
    except TabTreeFormerError as error:
        return not_judged(f"the table cannot be judged: {error}", mode) | memorised
    return _record(parts, mode, confidence, evidence) | memorised | {"seconds": round(time.perf_counter() - started, 3)}


def rows_read(n_rows: int, n_held: int, mode: Privacy) -> int:
    """How many rows the networks will write and read for a verdict on a table of so many rows.

    Either network writes as many rows as it learned from, and both read those and as many others; of rows that were
    set aside, the same once more.
    """
    if mode == "off":
        return 0
    half = min(n_rows // 2, MOST_ROWS)
    aside = min(n_rows, MOST_ROWS) * 3 + 2 * min(n_held, MOST_ROWS) if n_held else 0
    return 2 * (half + 2 * 2 * half) + aside


def family_confidence(n_parts: int) -> float:
    """Confidence of each test of so many comparisons that makes all of them together 95 % sure (Bonferroni)."""
    return shared_confidence(TESTS * n_parts)


def not_judged(why: str, mode: str) -> dict[str, Any]:
    """The record of a model that was not judged."""
    return {"verdict": "not judged", "reasons": [why], "mode": mode}


@dataclass
class _Judge:
    """Makes the comparisons."""

    fitted: Fitted
    evidence: Evidence
    sensitive: Sequence[str | int] | None
    confidence: float
    seed: np.random.SeedSequence

    def __post_init__(self) -> None:
        # Rows are taken once: of a table on disk that is a pass over all of it.
        rng, n_rows = np.random.default_rng(self.seed.spawn(1)[0]), len(self.evidence.tokens)
        self.some = rng.choice(n_rows, min(n_rows, MOST_ROWS), replace=False)
        picked = [rows[:MOST_ROWS] for part in self.evidence.parts for rows in part]
        self.picked = np.unique(np.concatenate(picked + ([] if self.evidence.holdout is None else [self.some])))
        self.frame = self.evidence.take(self.picked)

    def network(self, j: int) -> _Part:
        """Rows that network j writes alone, against its own half and the other."""
        own, others = (rows[:MOST_ROWS] for rows in self.evidence.parts[j])
        new = self._written_by(j, min(len(self.evidence.parts[j][0]), MOST_ROWS))
        evaluation = self._evaluate(self._rows(own), self._rows(others), new)
        networks = (self.fitted.models[j], self.fitted.models[1 - j])
        inside, outside = (self._likelihoods(networks, *self._ids(rows)) for rows in (own, others))
        # The other network never saw the members, but it saw the others: this attack has it up to twice as easy as one
        # on rows that nobody saw, and is shown, not judged.
        attacks = {LIKELIHOOD: (inside[0], outside[0]), CALIBRATED: (inside[0] - inside[1], outside[0] - outside[1])}
        return self._part(f"network {j + 1}", evaluation, attacks, judged=(LIKELIHOOD,))

    def whole(self, holdout: pd.DataFrame) -> _Part:
        """Rows as the whole model writes them, against all rows and rows that nothing has seen."""
        own, rng = self.some, np.random.default_rng(self.seed.spawn(1)[0])
        held = holdout.iloc[rng.permutation(len(holdout))[:MOST_ROWS]]
        halves = [self._written_by(j, (len(own) + j) // 2) for j in range(2)]
        evaluation = self._evaluate(self._rows(own), held, pd.concat(halves, ignore_index=True))
        attacks = {}
        leaves, values = self._encoded(held)
        if len(values) >= FEWEST_ROWS:
            inside = self._likelihoods(self.fitted.models, *self._ids(own))
            outside = self._likelihoods(self.fitted.models, leaves, values)
            attacks[LIKELIHOOD] = np.logaddexp(*inside), np.logaddexp(*outside)
            # A training row was seen by one network and not by the other: they disagree about it more.
            attacks[CALIBRATED] = np.abs(inside[0] - inside[1]), np.abs(outside[0] - outside[1])
        return self._part("rows set aside", evaluation, attacks, judged=(LIKELIHOOD, CALIBRATED))

    def _written_by(self, j: int, n: int) -> pd.DataFrame:
        fitted, rng = self.fitted, np.random.default_rng(self.seed.spawn(1)[0])
        sampler = Sampler(fitted.models[j], fitted.config.sampling)
        ids = sampler.draw(fitted.prompts[j].draw(n, rng), rng, _quietly)
        return fitted.codec.decode(ids, rng)

    def _evaluate(self, train: pd.DataFrame, test: pd.DataFrame, new: pd.DataFrame) -> Evaluation:
        return evaluate(
            train.reset_index(drop=True),
            test.reset_index(drop=True),
            new,
            schema=self.fitted.schema,
            metrics=METRICS,
            sensitive=self.sensitive,
            max_queries=MOST_ROWS,
            max_attacks=MOST_ATTACKS,
            confidence=self.confidence,
            references="ceiling",
            random_state=int(self.seed.generate_state(1)[0]),
            progress=Silent(),
        )

    def _rows(self, rows: NDArray[np.int64]) -> pd.DataFrame:
        return self.frame.iloc[np.searchsorted(self.picked, rows)]

    def _ids(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        tokens, layout = np.asarray(self.evidence.tokens[rows]), self.fitted.layout
        return layout.leaf_ids(tokens), layout.value_ids(tokens)

    def _encoded(self, frame: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Leaves and values of rows that were not learned; rows with values that the codec never saw are left out."""
        fitted = self.fitted
        try:
            values = fitted.codec.encode(frame)
        except TabTreeFormerError:
            return np.empty((0, fitted.layout.n_trees), np.int64), np.empty((0, fitted.layout.n_values), np.int64)
        if fitted.tree_encoder is None:
            return np.empty((len(values), 0), np.int64), values
        return fitted.leaf_model.leaves(fitted.tree_encoder.features(frame)), values

    def _likelihoods(
        self, networks: Sequence[Any], leaf_ids: NDArray[np.int64], values: NDArray[np.int64]
    ) -> list[NDArray[np.float64]]:
        layout, config = self.fitted.layout, self.fitted.config.train
        tokens = attack_tokens(layout, leaf_ids, values, blank_prompts=config.blank_prompts > 0)
        return [log_likelihoods(network, tokens) for network in networks]

    def _part(
        self,
        name: str,
        evaluation: Evaluation,
        attacks: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
        judged: Sequence[str],
    ) -> _Part:
        record, file = to_record(evaluation)["privacy"], []
        for measure, (members, others) in attacks.items():
            attack = membership_attack(members, others, confidence=self.confidence).to_json()
            record["measures"][measure] = {"value": attack["auc"], "goal": "half", "ceiling": 0.5, **attack}
            if measure in judged:
                file += tells_members(attack, measure, self.confidence)
        return _Part(name, findings(evaluation, tests=1), file, record)


def _record(parts: Sequence[_Part], mode: Privacy, confidence: float, evidence: Evidence) -> dict[str, Any]:
    """Put the comparisons together: a leak in one of them is a leak, and of each figure the worst is shown."""
    leaks = [f"{part.name}: {found.text}" for part in parts for found in part.rows if found.leak]
    in_file = [f"{part.name}: {found.text}" for part in parts for found in part.file if found.leak]
    judged_on = "rows that each network writes, against the rows that it was trained on and those that it never saw"
    if evidence.holdout is not None:
        judged_on += f"; and rows of the whole model, against {len(evidence.holdout):,} rows that were set aside"
    reasons = leaks + (in_file if mode == "strict" else [])
    return {
        "verdict": "fail" if reasons else "pass",
        "reasons": reasons,
        "mode": mode,
        "confidence": confidence,
        "judged_on": judged_on,
        "rows": parts[-1].record["rows"],
        "measures": _worst(parts),
        "left_out": {name: why for part in parts for name, why in part.record["left_out"].items()},
        "not_covered": [] if evidence.holdout is not None else list(NOT_COVERED),
        "file": {"leaks": bool(in_file), "reasons": in_file},
    }


def _worst(parts: Sequence[_Part]) -> dict[str, Any]:
    """Of each measure the figures of the comparison that did worst, and which that was."""
    worst: dict[str, Any] = {}
    for part in parts:
        for name, figures in part.record["measures"].items():
            before = worst.get(name)
            if before is None or _badness(figures) > _badness(before):
                worst[name] = {**figures, "where": part.name}
    return worst


def _badness(figures: Mapping[str, Any]) -> float:
    value = figures["value"]
    if value is None:
        return -math.inf
    return -float(value) if figures["goal"] == "higher" else float(value)


def _memorisation(evidence: Evidence) -> dict[str, float | int]:
    """The meter at the weights that were kept."""
    facts: dict[str, float | int] = {}
    for history in evidence.histories:
        reading = history.kept_reading
        if reading is not None:
            facts[f"{history.name}: gap in nats a row"] = round(reading.gap, 4)
            facts[f"{history.name}: standard error"] = round(reading.error, 4)
            facts[f"{history.name}: rows memorised beyond chance"] = reading.memorised
            facts[f"{history.name}: rows looked at"] = reading.rows
    return facts


def _quietly(rows: int) -> None:
    """Nobody is told."""
