"""The risk of an attack: its success on training rows beyond its success on unseen rows.

Some of what an attacker learns is true of whole groups of people, in the table or not. Only the excess is a leak: of
the guesses that the attack on held-out rows gets wrong, the share that the attack on training rows gets right (Giomi et
al., "A Unified Framework for Quantifying Privacy Risk in Synthetic Data", PoPETs 2023, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

CONFIDENCE = 0.95
"""Share of intervals that contain the true rate."""
CERTAIN = 1 - 1e-9
"""Largest rate above which an excess can still be detected."""


@dataclass(frozen=True)
class Rate:
    """A success rate, pulled a little towards one half, and the half-width of its Wilson score interval."""

    value: float
    error: float

    @classmethod
    def of(cls, successes: float, attacks: float, confidence: float = CONFIDENCE) -> Rate:
        """Estimate from counts, which may be expected or effective ones."""
        z = NormalDist().inv_cdf(0.5 + confidence / 2)
        weight = attacks + z * z
        spread = successes * (attacks - successes) / attacks
        return cls((successes + z * z / 2) / weight, z / weight * math.sqrt(max(spread, 0.0) + z * z / 4))


@dataclass(frozen=True, kw_only=True)
class Risk:
    """What an attack achieved, on whom."""

    train: float
    """Share of the attacks on training rows that succeeded."""
    control: float
    """The same attack on held-out rows."""
    baseline: float
    """A guess made without knowledge of the row, on training rows."""
    attacks: Mapping[str, int]
    """Attacks made on each side."""
    value: float
    """(train − control) / (1 − control) of the Wilson estimates, from 0 to 1."""
    low: float
    high: float
    """Ends of its confidence interval."""
    sureness: float
    """The lower end before it is cut off at 0; risks are ranked by it."""

    @classmethod
    def of(
        cls,
        *,
        train: float,
        control: float,
        baseline: float,
        attacks: tuple[int, int],
        control_scale: float = 1.0,
        crowding: float = 1.0,
        confidence: float = CONFIDENCE,
    ) -> Risk:
        """Compute the risk from counts of successes; errors of both rates are propagated to the first order.

        Where nearly all attacks on held-out rows succeed, or few were possible, first-order errors are too small: the
        lower end is above 0 only if the two shares differ by an exact test as well.

        `attacks` counts those on training and on held-out rows. `control_scale` says how many times more often the
        attack would succeed on as many rows as were trained on, `crowding` how many attacks succeed or fail together,
        so that they count as one.
        """
        n_train, n_control = attacks
        on_train, on_control = (
            Rate.of(successes / crowding, n / crowding, confidence)
            for successes, n in ((train, n_train), (control, n_control))
        )
        on_control = Rate(min(on_control.value * control_scale, CERTAIN), on_control.error * control_scale)
        left = 1 - on_control.value  # above 0, as Wilson's estimate never reaches 1
        excess = (on_train.value - on_control.value) / left
        error = math.hypot(on_train.error / left, on_control.error * (on_train.value - 1) / left**2)
        value, low, high = (min(max(v, 0.0), 1.0) for v in (excess, excess - error, excess + error))
        each = (1 - confidence) / 2
        a, n_a, b, n_b = (count / crowding for count in (train, n_train, control, n_control))
        if control_scale == 1 and not is_larger(a, n_a, b, n_b, each):
            low = 0.0
        return cls(
            train=train / n_train,
            control=min(control / n_control * control_scale, 1.0),
            baseline=baseline / n_train,
            attacks={"train": n_train, "control": n_control},
            value=value,
            low=low,
            high=high,
            sureness=excess - error,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "train": self.train,
            "control": self.control,
            "baseline": self.baseline,
            "attacks": dict(self.attacks),
            "risk": self.value,
            "interval": [self.low, self.high],
        }


def shared_confidence(n_risks: int, confidence: float = CONFIDENCE) -> float:
    """Confidence of each of several intervals such that all hold together with `confidence` (Bonferroni)."""
    return 1 - (1 - confidence) / max(n_risks, 1)


def worst(risks: Sequence[Risk]) -> Risk:
    """Return the most certain leak, the one with the highest lower end."""
    return max(risks, key=lambda risk: (risk.low, risk.sureness))


def is_larger(count: float, n: float, other_count: float, n_other: float, alpha: float) -> bool:
    """Whether the first share is larger than the second, beyond chance (Fisher's exact test, of few rows too)."""
    from scipy.stats import fisher_exact  # type: ignore[import-untyped]

    if count * n_other <= other_count * n:
        return False
    table = np.rint([[count, n - count], [other_count, n_other - other_count]]).astype(np.int64)
    return bool(fisher_exact(table, alternative="greater").pvalue < alpha)
