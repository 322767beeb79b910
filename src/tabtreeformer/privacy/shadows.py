"""Attacks with shadow models: the attacker can fit the same model to other rows.

Shadow models are fitted like the attacked one, each on a random half of all candidate rows, so that about half of them
lack any given row. The score of a row under the attacked model is compared with its scores under those:

    distance        to the 5 nearest synthetic rows (needs rows) density         log-likelihood under a density fitted
    to synthetic rows (needs rows) density ratio   the same minus the log-likelihood under a density of real rows,
    without shadows (DOMIAS; needs rows of the population) likelihood      of the row under the model itself (needs the
    model file)

Members should not be distinguishable from unseen rows. Shapes: `N` candidates, members first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.progress import Progress, stage
from ..data.schema import Schema
from ..errors import ConfigError
from ..evaluation import Finding, tells_members
from ..evaluation.attacks.repeated import nearest
from ..evaluation.attacks.risk import shared_confidence
from ..evaluation.attacks.rows import SPREAD_FLOOR, log_likelihood, outcome
from ..evaluation.encoding import encode
from ..evaluation.safety import TRACED, TRACES

Floats = NDArray[np.float64]
MIN_ROWS, MAX_CANDIDATES = 50, 2_500
"""Minimum and maximum number of members and of others: fewer hide nearly any leak, more add little."""
TIMES, MAX_RELEASED = 10, 25_000
"""Rows to draw from each model, as a multiple of its training rows, and their maximum."""
N_NEAREST = 5
ROW_ATTACKS = ("distance", "density", "density ratio")
FILE_ATTACK = "likelihood"


class Model(Protocol):
    """An attacked model or shadow model."""

    def sample(self, n: int, random_state: Any = None) -> Any:
        """Write rows."""

    def log_prob(self, df: Any, random_state: Any = 0) -> Any:
        """Log-likelihood of rows."""


@dataclass(frozen=True)
class ShadowAttack:
    """The results of all attacks."""

    attacks: Mapping[str, Mapping[str, Any]]
    """By attack: AUC with its interval, true positives at 1 % and 10 % false positives."""
    findings: tuple[Finding, ...]
    """Findings on rows and file, by attack."""
    n_shadows: int
    n_members: int
    n_others: int

    @property
    def rows_leak(self) -> bool:
        """Whether rows of the model reveal members."""
        return any(found.leak for found in self.findings if found.measure != FILE_ATTACK)

    @property
    def file_leaks(self) -> bool:
        """Whether the model file reveals members."""
        return any(found.leak for found in self.findings if found.measure == FILE_ATTACK)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "shadows": self.n_shadows,
            "members": self.n_members,
            "others": self.n_others,
            "rows_leak": self.rows_leak,
            "file_leaks": self.file_leaks,
            "attacks": {name: dict(found) for name, found in self.attacks.items()},
            "findings": [{"attack": found.measure, "leak": found.leak, "text": found.text} for found in self.findings],
        }


def attack_with_shadows(
    model: Model,
    fit_shadow: Callable[[pd.DataFrame, int], Model],
    rows: tuple[pd.DataFrame, pd.DataFrame],
    *,
    schema: Schema,
    n_shadows: int,
    level: str = "balanced",
    seed: np.random.SeedSequence,
    progress: Progress,
) -> ShadowAttack:
    """Attack a model trained on the first of two tables of `rows` and not on the second.

    `fit_shadow` fits the same model, given rows and a seed; `level` is the privacy level whose limits apply.
    """
    members, others = rows
    if n_shadows < 2:
        raise ConfigError(f"at least 2 shadow models are needed, got {n_shadows}")
    if min(len(members), len(others)) < MIN_ROWS:
        raise ConfigError(
            f"the attack needs at least {MIN_ROWS} training rows and {MIN_ROWS} unseen rows, got "
            f"{len(members):,} and {len(others):,}"
        )
    candidates = _Candidates.of(model, members, others, schema, seed)
    scores = _Scores.empty(n_shadows, candidates.n)
    rng = np.random.default_rng(candidates.seed)
    with stage(progress, "shadow models", n_shadows) as advance:
        for k in range(n_shadows):
            learned = rng.permutation(candidates.n)[: candidates.n // 2]
            shadow = fit_shadow(
                candidates.frame.iloc[np.sort(learned)].reset_index(drop=True), int(rng.integers(2**31))
            )
            scores.add(k, candidates.scored(shadow), learned)
            advance(1)
    return _outcome(candidates, scores, level, n_shadows)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """The candidate rows, members first, and their scores under the attacked model."""

    frame: pd.DataFrame
    n_members: int
    schema: Schema
    n_released: int
    seed: np.random.SeedSequence
    model: Model

    @classmethod
    def of(
        cls, model: Model, members: pd.DataFrame, others: pd.DataFrame, schema: Schema, seed: np.random.SeedSequence
    ) -> _Candidates:
        rng = np.random.default_rng(seed.spawn(1)[0])
        picked = [
            rows.iloc[np.sort(rng.permutation(len(rows))[:MAX_CANDIDATES])][list(schema.names)]
            for rows in (members, others)
        ]
        frame = pd.concat(picked, ignore_index=True).astype(dict(members.dtypes))
        released = min(TIMES * len(members), MAX_RELEASED)
        return cls(frame, len(picked[0]), schema, released, seed.spawn(1)[0], model)

    @property
    def n(self) -> int:
        return len(self.frame)

    def scored(self, model: Model) -> dict[str, Floats]:
        """Scores of the candidates under a model (N,)."""
        released = model.sample(self.n_released, random_state=int(self.seed.generate_state(1)[0]))
        tables = encode({"training": self.frame, "synthetic": released}, self.schema)
        real, synthetic = tables["training"], tables["synthetic"]
        return {
            "distance": -np.log(nearest(real, synthetic, N_NEAREST).mean(1) + 1e-6),
            "density": log_likelihood(synthetic, real, self.seed),
            FILE_ATTACK: np.maximum(np.asarray(model.log_prob(self.frame), dtype=np.float64), -1e4),
        }

    def ratio(self, density: Floats) -> Floats:
        """Log-likelihood minus that under a density of real rows, fitted to the half that does not contain the row."""
        real = encode({"training": self.frame}, self.schema)["training"]
        order = np.random.default_rng(self.seed).permutation(self.n)
        reference = np.empty(self.n)
        for own, rest in (np.array_split(order, 2), np.array_split(order, 2)[::-1]):
            reference[own] = log_likelihood(real.take(rest), real.take(own), self.seed)
        return density - reference


@dataclass(frozen=True, eq=False)
class _Scores:
    """Scores under each shadow model (shadows, N); NaN where it was trained on the row."""

    by_attack: dict[str, Floats]

    @classmethod
    def empty(cls, n_shadows: int, n: int) -> _Scores:
        return cls({name: np.full((n_shadows, n), np.nan) for name in ("distance", "density", FILE_ATTACK)})

    def add(self, k: int, scores: Mapping[str, Floats], learned: NDArray[np.int64]) -> None:
        for name, found in scores.items():
            self.by_attack[name][k] = found
            self.by_attack[name][k, learned] = np.nan

    def calibrated(self, name: str, raw: Floats) -> Floats:
        """Excess of a row's score over shadow models without it, in units of their spread (N,)."""
        scores = self.by_attack[name]
        there = np.isfinite(scores)
        count = np.maximum(there.sum(0), 1)
        mean = np.where(there, scores, 0.0).sum(0) / count
        spread = np.sqrt(np.where(there, np.square(scores - mean), 0.0).sum(0) / count)
        # With few shadows the spread is a rough estimate, so it is averaged with that of all rows.
        common = float(np.median(spread[there.any(0)])) if there.any() else 1.0
        return np.where(there.any(0), (raw - mean) / (0.5 * spread + 0.5 * common + SPREAD_FLOOR), 0.0)


def _outcome(candidates: _Candidates, scores: _Scores, level: str, n_shadows: int) -> ShadowAttack:
    """Figures and findings, with a joint confidence of 95 % over all attacks."""
    raw = candidates.scored(candidates.model)
    found = {name: scores.calibrated(name, raw[name]) for name in scores.by_attack}
    found["density ratio"] = candidates.ratio(raw["density"])
    confidence = shared_confidence(len(found))
    attacks = {
        name: {**outcome(found[name], candidates.n_members, confidence), "released": candidates.n_released}
        for name in (*ROW_ATTACKS, FILE_ATTACK)
    }
    findings: list[Finding] = []
    for name, attack in attacks.items():
        told = tells_members(attack, name, confidence) if name == FILE_ATTACK else _traces(name, attack, level)
        findings += [Finding(name, one.leak, one.text) for one in told]
    others = candidates.n - candidates.n_members
    return ShadowAttack(attacks, tuple(findings), n_shadows, candidates.n_members, others)


def _traces(name: str, attack: Mapping[str, Any], level: str) -> list[Finding]:
    """Findings if an attack on rows significantly exceeds the limits of a level."""
    area, share, limit = attack["auc"], attack["true_positives"], TRACES[level]
    text = f"members are recognised with an AUC of {area:.3f} (at most {limit} at the level {level})"
    found = [Finding(name, area > limit and attack["auc_interval"][0] > 0.5, text)]
    sure = attack["true_positives_interval"][0] > attack["false_positives"]
    text = f"{share:.1%} of the training rows are recognised at 1% false positives (at most {TRACED:.0%})"
    return [*found, Finding(name, share > TRACED and sure, text)]
