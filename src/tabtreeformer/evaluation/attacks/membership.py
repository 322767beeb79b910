"""Membership inference: can training rows be recognised, by distance to the synthetic table or any other score per row?

The AUC is an average, which hides an attack that identifies a few people with certainty and fails for the rest. The
share of members found at 1 % false positives does not (Carlini et al., "Membership Inference Attacks From First
Principles", 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ConfigError
from ..context import Context
from ..metrics.auc import auc
from ..metrics.neighbours import Space
from ..references import Tables
from ..score import Measurement
from .risk import CONFIDENCE

FALSE_POSITIVES = 0.01
DRAWS = 4000
"""Draws behind the interval of the true-positive rate."""


@dataclass(frozen=True, kw_only=True)
class MembershipAttack:
    """The success of a membership attack by a score."""

    auc: float
    auc_interval: tuple[float, float]
    true_positives: float
    """Share of members that score above all but `false_positives` of the others."""
    interval: tuple[float, float]
    """Interval of the true-positive rate; it allows for the threshold being an estimate too."""
    false_positives: float
    """Maximum share of others that may exceed the threshold."""
    members: int
    others: int

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "auc": self.auc,
            "auc_interval": list(self.auc_interval),
            "true_positives": self.true_positives,
            "true_positives_interval": list(self.interval),
            "false_positives": self.false_positives,
            "rows": {"members": self.members, "others": self.others},
        }


def membership_attack(
    members: ArrayLike,
    others: ArrayLike,
    *,
    false_positives: float = FALSE_POSITIVES,
    confidence: float = CONFIDENCE,
    random_state: int | np.random.Generator = 0,
) -> MembershipAttack:
    """Attack by one score per row that should be high for training rows, e.g. log-likelihoods or negative losses.

    `others` are scores of unseen rows, computed in the same way. A plain likelihood is a weak score, because some rows
    are likely under any model. A calibrated score is stronger, e.g. the log-likelihood under the model minus that under
    one trained without the row.
    """
    inside, outside = (_finite(scores, who) for scores, who in ((members, "members"), (others, "others")))
    if not 0 < false_positives < 1:
        raise ConfigError(f"false_positives must be a share between 0 and 1, got {false_positives!r}")
    let_pass = int(false_positives * len(outside))
    order = np.sort(outside)[::-1]
    found = float((inside > order[let_pass]).mean())
    area = auc(inside, outside)
    return MembershipAttack(
        auc=area,
        auc_interval=_auc_interval(inside, outside, area, confidence),
        true_positives=found,
        interval=_rate_interval(np.sort(inside), order, let_pass, confidence, np.random.default_rng(random_state)),
        false_positives=false_positives,
        members=len(inside),
        others=len(outside),
    )


def membership(tables: Tables, context: Context) -> Measurement:
    """AUC of telling training rows from held-out rows by their distance to the synthetic table; 0.5 is chance.

    The metric is learned from the synthetic table, which is all that an attacker has. If it were learned from the
    training rows, it would stretch around them and put members farther away than others even without a leak.
    """
    rng = context.rng()
    space = Space(tables.synthetic)
    members, others = (
        space.nearest(
            table.sample(min(table.n_rows, context.max_queries), rng), context.progress, f"{who} near {context.label}"
        ).distances[:, 0]
        for who, table in (("training rows", tables.train), ("held-out rows", tables.holdout))
    )
    attack = membership_attack(-members, -others, confidence=context.confidence, random_state=rng)
    breakdown = {
        **attack.to_json(),
        "median_distance": {"members": float(np.median(members)), "others": float(np.median(others))},
    }
    return Measurement(attack.auc, breakdown, tables.capped(context.max_queries))


def _finite(scores: ArrayLike, who: str) -> NDArray[np.float64]:
    values = np.asarray(scores, dtype=np.float64).ravel()
    if not len(values) or np.isnan(values).any():
        raise ConfigError(f"the scores of {who} must be numbers, one per row, of at least one row")
    return values


def _auc_interval(
    members: NDArray[np.float64], others: NDArray[np.float64], area: float, confidence: float
) -> tuple[float, float]:
    """DeLong's interval, from the variance of each row's share of the AUC on either side."""
    variance = 0.0
    for rows, against in ((members, others), (-others, -members)):
        order = np.sort(against)
        below, not_above = (np.searchsorted(order, rows, side=side) for side in ("left", "right"))
        shares = (below + not_above) / 2 / len(against)
        variance += float(shares.var(ddof=1)) / len(rows) if len(rows) > 1 else 0.25
    reach = NormalDist().inv_cdf(0.5 + confidence / 2) * variance**0.5
    return max(area - reach, 0.0), min(area + reach, 1.0)


def _rate_interval(
    ascending: NDArray[np.float64],
    others: NDArray[np.float64],
    let_pass: int,
    confidence: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Draw thresholds as other held-out rows might have given, then the rate above each (Jeffreys).

    `others` are in descending order: the share of the population above number k of n is Beta(k + 1, n - k) distributed.
    """
    share = rng.beta(let_pass + 1, len(others) - let_pass, DRAWS)
    thresholds = others[np.minimum((share * len(others)).astype(np.int64), len(others) - 1)]
    above = len(ascending) - np.searchsorted(ascending, thresholds, side="right")
    rates = rng.beta(above + 0.5, len(ascending) - above + 0.5)
    low, high = np.quantile(rates, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return float(low), float(high)
