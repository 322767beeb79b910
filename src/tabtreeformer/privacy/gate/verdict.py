"""The verdict at the end of a fit.

No rows need to be held out: network j was trained on its own half and has not seen the other. So rows written by
network j alone are attacked with its own half as training rows and the other half as held-out rows. Every attack of the
evaluation is run this way on both networks. Held-out rows (`holdout`) make the verdict stricter: neither codec, trees
nor networks saw them, and the attacks are then on rows of the whole model.

There are two verdicts. On the *rows*: distances, copies, near copies, membership by distance, singling out,
linkability, attribute inference, repeated members, and membership by a density fitted to the rows. On the *file*:
membership by likelihood, which needs the file. A model fails by its rows, or if its networks have memorised many rows,
and in mode `strict` also by its file. In other modes the file's verdict is only reported.
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

from ..._runtime.progress import Progress, Silent, stage
from ...artifact.fitted import Fitted
from ...config.presets import Privacy
from ...errors import TabTreeFormerError
from ...evaluation import (
    Evaluation,
    Finding,
    evaluate,
    findings,
    membership_attack,
    repeats,
    tells_members,
    to_record,
)
from ...evaluation.attacks.risk import CONFIDENCE, shared_confidence
from ...evaluation.safety import TEST_METRICS
from ...evaluation.safety import TESTS as TABLE_TESTS
from ...fitting.evidence import Evidence
from .level import MAX_CANDIDATES, Comparison, Exposure, expose, level_record, released_rows
from .level_text import broken
from .memorisation import meter_facts, meter_findings
from .subjects import subject_of

MAX_ROWS = 2_000
"""Maximum number of rows per table."""
MAX_ATTACKS = 300
"""Maximum number of rows or predicates per attack."""
MIN_ROWS = 50
"""Minimum rows on either side for a verdict; with fewer, chance could hide nearly any leak."""
LIKELIHOOD, CALIBRATED, DENSITY = "membership_likelihood", "membership_calibrated", "membership_density"
TESTS = (*TABLE_TESTS, LIKELIHOOD, "repeated in more rows")
"""Tests of each comparison."""
NOT_COVERED = (
    "The shared start, the trees and the codec saw all rows. What they reveal affects both halves equally and is "
    "invisible in a comparison of the halves.",
    "Each network was attacked through its own rows. The mixture of both that `sample` writes was not attacked.",
    "Prompts of a network may come from leaves of the half that serves as held-out rows (train.prompts). Similarity "
    "to those rows can mask similarity to training rows.",
)
"""What the comparison of halves cannot show, but held-out rows (`holdout`) can."""
TREES_UNSEEN = (
    "The codec saw all rows. What it reveals affects both halves equally and is invisible in a comparison of the "
    "halves.",
    "The attacked trees were fitted to half of the rows. The trees of all rows were not attacked.",
)
"""The same for preset `trees`."""


@dataclass(frozen=True)
class _Part:
    """One comparison: findings on the rows and on the file, and the figures."""

    name: str
    rows: list[Finding]
    file: list[Finding]
    record: Mapping[str, Any]


def verdict_on(
    fitted: Fitted,
    evidence: Evidence,
    mode: Privacy,
    sensitive: Sequence[str | int] | None,
    seed: np.random.SeedSequence,
    progress: Progress,
) -> dict[str, Any]:
    """Attack a fitted model and return the `privacy` part of its record."""
    started = time.perf_counter()
    memorised = {"memorisation": meter_facts(evidence.histories)}
    if mode == "off":
        return no_verdict("privacy was off", mode) | memorised
    fewest = min(len(rows) for part in evidence.parts for rows in part)
    if fewest < MIN_ROWS:
        why = f"a network had {fewest:,} rows on one side, fewer than the {MIN_ROWS} needed to tell a leak from chance"
        return no_verdict(why, mode) | memorised
    n_parts = len(evidence.parts) + (evidence.holdout is not None)
    confidence = CONFIDENCE if mode == "strict" else family_confidence(n_parts)
    comparisons = _Comparisons(fitted, evidence, sensitive, confidence, seed)
    try:
        with stage(progress, "privacy verdict", n_parts + 1) as advance:
            parts = []
            for j in range(len(evidence.parts)):
                parts.append(comparisons.half(j))
                advance(1)
            if evidence.holdout is not None:
                parts.append(comparisons.whole(evidence.holdout))
                advance(1)
            exposures = comparisons.exposures()
            advance(1)
    except TabTreeFormerError as error:
        return no_verdict(f"the attacks cannot be run on this table: {error}", mode) | memorised
    level = level_record(exposures, mode, int(fitted.record["rows"]))
    again = [found for exposure in exposures for found in exposure.repeated]
    said = broken(level, None if fitted.config.forest is None else fitted.config.forest.leaf_rows)
    record = _record(parts, [repeats(found, confidence) for found in again], said, mode, confidence, evidence, level)
    record["measures"]["copies"]["repeated"] = dict(max(again, key=lambda found: float(found["copies"])))
    record["measures"][DENSITY] = dict(max((found.measure for found in exposures), key=lambda m: float(m["value"])))
    return record | memorised | {"seconds": round(time.perf_counter() - started, 3)}


def gate_seed(seed: np.random.SeedSequence) -> np.random.SeedSequence:
    """A seed for the attacks, derived from that of the fit but independent of fitting and sampling."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 2**31))


def family_confidence(n_parts: int) -> float:
    """Confidence of each test such that all tests of `n_parts` comparisons together have 95 % (Bonferroni)."""
    return shared_confidence(len(TESTS) * n_parts)


def no_verdict(why: str, mode: str) -> dict[str, Any]:
    """The record of a model without a verdict."""
    return {"verdict": "not judged", "reasons": [why], "mode": mode}


@dataclass
class _Comparisons:
    """Runs the comparisons."""

    fitted: Fitted
    evidence: Evidence
    sensitive: Sequence[str | int] | None
    confidence: float
    seed: np.random.SeedSequence

    def __post_init__(self) -> None:
        self.subject = subject_of(self.fitted, self.evidence, self.seed.spawn(1)[0])
        # Rows are read once, because for a table on disk this is a full pass.
        self.order = np.random.default_rng(self.seed.spawn(1)[0]).permutation(len(self.evidence.tokens))
        picked = [rows[:MAX_ROWS] for part in self.evidence.parts for rows in part]
        picked += [self._candidates(rows) for part in self.evidence.parts for rows in part]
        picked += [] if self.evidence.holdout is None else [self._candidates(np.sort(self.order))]
        self.picked = np.unique(np.concatenate(picked))
        self.frame = self.evidence.take(self.picked)
        self.written: dict[int | None, pd.DataFrame] = {}

    def half(self, j: int) -> _Part:
        """Compare rows written by half j alone with its own rows and those of the other half."""
        own, others = (rows[:MAX_ROWS] for rows in self.evidence.parts[j])
        evaluation = self._evaluate(self._rows(own), self._rows(others), self._released(j).head(len(own)))
        inside, outside = (self.subject.half_logs(j, *self._ids(rows)) for rows in (own, others))
        attacks = {LIKELIHOOD: (inside, outside)}
        # The other half did not see the members, but it saw the others. This makes the attack up to twice as easy as
        # with unseen rows, so it is reported but does not count.
        of_own, of_others = (self.subject.other_logs(j, *self._ids(rows)) for rows in (own, others))
        if of_own is not None and of_others is not None:
            attacks[CALIBRATED] = (inside - of_own, outside - of_others)
        return self._part(f"{self.subject.name} {j + 1}", evaluation, attacks, counted=(LIKELIHOOD,))

    def whole(self, holdout: pd.DataFrame) -> _Part:
        """Compare rows of the whole model with all training rows and unseen rows."""
        held = holdout.iloc[self._rng().permutation(len(holdout))[:MAX_ROWS]]
        own = self._candidates(np.sort(self.order))[:MAX_ROWS]
        evaluation = self._evaluate(self._rows(own), held, self._released(None).head(len(own)))
        attacks = {}
        leaves, values = self._encoded(held)
        if len(values) >= MIN_ROWS:
            inside, outside = self.subject.whole_scores(*self._ids(own)), self.subject.whole_scores(leaves, values)
            attacks = {LIKELIHOOD: (inside[0], outside[0]), CALIBRATED: (inside[1], outside[1])}
        return self._part("rows set aside", evaluation, attacks, counted=(LIKELIHOOD, CALIBRATED))

    def exposures(self) -> list[Exposure]:
        """The success of the density attack by number of rows, for the halves and for the whole model."""
        halves = [(self._candidates(own), self._candidates(others)) for own, others in self.evidence.parts]
        chosen = np.unique(np.concatenate([rows for half in halves for rows in half]))
        comparisons = [
            Comparison(
                members=np.searchsorted(chosen, members),
                others=np.searchsorted(chosen, others),
                write=self._writer(j),
                n_learned=len(self.evidence.parts[j][0]),
            )
            for j, (members, others) in enumerate(halves)
        ]
        found = [expose("halves", self._rows(chosen), comparisons, self.fitted.schema, self.seed.spawn(1)[0])]
        holdout = self.evidence.holdout
        if holdout is not None and len(holdout) >= MIN_ROWS:
            held = holdout.iloc[self._rng().permutation(len(holdout))[:MAX_CANDIDATES]]
            own = self._candidates(np.sort(self.order))
            places = np.arange(len(own) + len(held))
            whole = Comparison(
                members=places[: len(own)],
                others=places[len(own) :],
                write=self._writer(None),
                n_learned=len(self.order),
            )
            population = pd.concat([self._rows(own), held], ignore_index=True)
            found.append(expose("rows set aside", population, [whole], self.fitted.schema, self.seed.spawn(1)[0]))
        return found

    def _candidates(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """A random but fixed sample of the rows, ascending."""
        places = np.argsort(self.order)[rows]  # the inverse of a permutation
        return np.asarray(np.sort(rows[np.argsort(places)[:MAX_CANDIDATES]]))

    def _writer(self, j: int | None) -> Callable[[int], pd.DataFrame]:
        return lambda n: self._released(j).head(n)

    def _released(self, j: int | None) -> pd.DataFrame:
        """Rows of a half, or of the whole model (None), as many as any attack needs."""
        if j not in self.written:
            n = released_rows(len(self.order) if j is None else len(self.evidence.parts[j][0]))[1]
            rng = self._rng()
            ids = self.subject.write_whole(n, rng) if j is None else self.subject.write_half(j, n, rng)
            # The rows of both networks are interleaved, so that every prefix has some of each.
            self.written[j] = self._decoded(ids[self._rng().permutation(n)])
        return self.written[j]

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed.spawn(1)[0])

    def _decoded(self, ids: NDArray[np.int32]) -> pd.DataFrame:
        return self.fitted.codec.decode(ids, self._rng())

    def _evaluate(self, train: pd.DataFrame, test: pd.DataFrame, new: pd.DataFrame) -> Evaluation:
        return evaluate(
            train.reset_index(drop=True),
            test.reset_index(drop=True),
            new,
            schema=self.fitted.schema,
            metrics=list(TEST_METRICS),
            sensitive=self.sensitive,
            max_queries=MAX_ROWS,
            max_attacks=MAX_ATTACKS,
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
        """Leaves and values of unseen rows; rows with values unknown to the codec are dropped."""
        fitted = self.fitted
        try:
            values = fitted.codec.encode(frame)
        except TabTreeFormerError:
            return np.empty((0, fitted.layout.n_trees), np.int64), np.empty((0, fitted.layout.n_values), np.int64)
        if fitted.tree_encoder is None:
            return np.empty((len(values), 0), np.int64), values
        return fitted.leaf_model.leaves(fitted.tree_encoder.features(frame)), values

    def _part(
        self,
        name: str,
        evaluation: Evaluation,
        attacks: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
        counted: Sequence[str],
    ) -> _Part:
        record, file = to_record(evaluation)["privacy"], []
        rows = findings(evaluation, tests=1)
        for measure, (members, others) in attacks.items():
            attack = membership_attack(members, others, confidence=self.confidence).to_json()
            record["measures"][measure] = {"value": attack["auc"], "goal": "half", "ceiling": 0.5, **attack}
            if measure in counted:
                file += tells_members(attack, measure, self.confidence)
        return _Part(name, rows, file, record)


def _record(
    parts: Sequence[_Part],
    again: Sequence[Finding],
    broken_level: Sequence[str],
    mode: Privacy,
    confidence: float,
    evidence: Evidence,
    level: Mapping[str, Any],
) -> dict[str, Any]:
    """Combine the comparisons: a leak in any of them is a leak, and the worst of each figure is reported."""
    leaks = [f"{part.name}: {found.text}" for part in parts for found in part.rows if found.leak]
    leaks += [found.text for found in again if found.leak]
    by_heart = [found.text for found in meter_findings(evidence.histories) if found.leak]
    in_file = by_heart + [f"{part.name}: {found.text}" for part in parts for found in part.file if found.leak]
    who = "network" if evidence.histories else "tree of one half, regrown,"
    judged_on = f"rows written by each {who}, compared with its training rows and unseen rows"
    if evidence.holdout is not None:
        judged_on += f"; and rows of the whole model, compared with {len(evidence.holdout):,} held-out rows"
    not_covered = NOT_COVERED if evidence.histories else TREES_UNSEEN
    reasons = [*broken_level, *leaks] + (in_file if mode == "strict" else by_heart)
    return {
        "verdict": "fail" if reasons else "pass",
        "reasons": reasons,
        "mode": mode,
        "confidence": confidence,
        "judged_on": judged_on,
        "level": dict(level),
        "rows": parts[-1].record["rows"],
        "measures": _worst(parts),
        "left_out": {name: why for part in parts for name, why in part.record["left_out"].items()},
        "not_covered": [] if evidence.holdout is not None else list(not_covered),
        "file": {"verdict": "fail" if in_file else "pass", "leaks": bool(in_file), "reasons": in_file},
    }


def _worst(parts: Sequence[_Part]) -> dict[str, Any]:
    """For each measure, the figures and the name of the worst comparison."""
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
