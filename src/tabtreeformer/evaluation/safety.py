"""Decides which figures of an evaluation are leaks, and says so in sentences with numbers. All limits are defined here.

They are our own choice of round numbers. Whatever chance could cause with few rows is not a leak.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from .attacks.risk import CONFIDENCE, is_larger, shared_confidence
from .evaluate import Evaluation
from .score import Score

MEMBERSHIP = 0.6
"""Largest membership AUC that is safe, unless chance alone reaches more because few rows were held out."""
FOUND = 0.05
"""Largest share of members that may be found at 1 % false positives, unless chance alone reaches more."""
TRACES: Mapping[str, float] = {"balanced": 0.56, "strict": 0.53}
"""Largest AUC of the density attack at each level of privacy, unless chance alone reaches more."""
TRACED = 0.02
"""Largest share of members that it may find at 1 % false positives, unless chance alone reaches more."""
REPEATED = 0.01
"""Largest share of rows that may repeat learned rows, unless chance alone explains more."""
RISK = 0.05
"""Largest risk of an attack that is safe, unless chance alone reaches more because few attacks were possible. The gap
between training and held-out rows must be larger than this too: if few attacks fail on held-out rows, a small
gap is a large share of them."""
ONE_SIDED = NormalDist().inv_cdf(0.95)
"""Standard errors by which the attack by density must exceed its limits."""
ATTACKS = {"singling_out": "singling out", "linkability": "linkability", "inference": "attribute inference"}
DENSITY = "membership_density"
NEEDED = ("dcr", "membership", "copies")
"""Required for a verdict."""
TEST_METRICS = (*NEEDED, *ATTACKS)
"""Metrics that are tests."""
TESTS = (*TEST_METRICS, "near_copies", "repeated")
"""Tests of a table; near copies come with the distances, repeated rows with the copies."""


@dataclass(frozen=True)
class Finding:
    """The result of one test."""

    measure: str
    leak: bool
    text: str


def findings(evaluation: Evaluation, *, tests: int = len(TESTS)) -> list[Finding]:
    """The results of the privacy tests of an evaluation; empty if a required test was left out.

    One leak is enough for a table to fail, and the more tests there are, the sooner one of them fails by chance. So the
    error level is shared among them (Bonferroni): `tests` of them together have the confidence of the evaluation, 95 %
    by default. The density attack is a leak where it exceeds the limits of the level `balanced` beyond chance, as at
    the end of a fit.
    """
    scores = evaluation.scores
    if any(name not in scores for name in NEEDED):
        return []
    whole = float(evaluation.facts.get("settings", {}).get("confidence", CONFIDENCE))
    confidence = shared_confidence(tests, whole)
    membership = scores["membership"]
    attack = {**membership.breakdown, "auc": membership.value}
    found = _distances(scores["dcr"], attack, 1 - confidence)
    found.append(_copies(scores["copies"], evaluation, 1 - confidence))
    if "repeated" in scores["copies"].breakdown:
        found.append(repeats(scores["copies"].breakdown["repeated"], confidence))
    found += tells_members(attack, "membership", confidence)
    wider = _errors(confidence) / _errors(whole)
    for name, label in ATTACKS.items():
        if name in scores and scores[name].value == scores[name].value:
            found.append(_attack(scores[name], label, wider, 1 - confidence))
    if DENSITY in scores and scores[DENSITY].value == scores[DENSITY].value:
        found.append(_traced(scores[DENSITY].breakdown, whole))
    return found


def tells_members(attack: Mapping[str, Any], measure: str, confidence: float = CONFIDENCE) -> list[Finding]:
    """The result of a membership attack (`MembershipAttack.to_json`): its AUC, and the members it is sure of."""
    by = " by likelihood" if measure != "membership" else ""
    leak = attack["auc"] > max(MEMBERSHIP, by_chance(attack, confidence))
    found = [Finding(measure, leak, f"membership can be guessed{by} with an AUC of {attack['auc']:.2f}")]
    share, sure = attack["true_positives"], attack["true_positives_interval"][0]
    if share > FOUND and sure > attack["false_positives"] and not _lucky(attack, 1 - confidence):
        found.append(
            Finding(measure, True, f"{share:.0%} of the training rows are recognised{by} at 1% false positives")
        )
    return found


def _distances(dcr: Score, attack: Mapping[str, Any], alpha: float) -> list[Finding]:
    """The result of the distances: of all synthetic rows, and of the nearest.

    Rows without the outliers and rare values of real rows are nearer to any real row, not just to learned rows. So
    nearness is a leak only where training rows are also nearer to the synthetic rows than held-out rows are, which the
    membership attack by distance measures, at a level of 5 %.
    """
    nearer, theirs = dcr.value < alpha, attack["auc"] > by_chance(attack, 2 * CONFIDENCE - 1)
    if nearer and theirs:
        text = f"lie nearer to training rows than held-out rows do (p = {dcr.value:.3f})"
    elif nearer:
        text = (
            f"lie nearer to training rows than held-out rows do (p = {dcr.value:.3f}), but training rows lie no nearer "
            "to them than held-out rows do: rows with few outliers are near to everybody"
        )
    else:
        text = f"are no nearer to training rows than held-out rows are (p = {dcr.value:.2f})"
    found = [Finding("dcr", nearer and theirs, f"synthetic rows {text}")]
    near, rows = dcr.breakdown.get("near_copies"), dcr.breakdown["rows"]
    if near and is_larger(near["synthetic"], rows["synthetic"], near["holdout"], rows["holdout"], alpha):
        share = near["synthetic"] / rows["synthetic"]
        text = f"{share:.1%} of the synthetic rows lie nearer to a training row than all but 1% of the held-out rows"
        found.append(Finding("near_copies", True, text))
    return found


def _copies(copies: Score, evaluation: Evaluation, alpha: float) -> Finding:
    """Whether there are more copies than among the held-out rows, beyond chance."""
    n_test = evaluation.facts["rows"]["test"]
    expected = round((copies.ceiling or 0.0) * n_test)
    leak = is_larger(copies.breakdown["copies"], copies.breakdown["rows"], expected, n_test, alpha)
    text = f"{copies.value:.2%} of them equal a training row (held-out rows: {copies.ceiling or 0:.2%})"
    return Finding("copies", leak, text)


def repeats(found: Mapping[str, Any], confidence: float) -> Finding:
    """Whether more of the members than of the others are repeated, beyond chance (`attacks/repeated.py`)."""
    counts = found["members_repeated"], found["members"], found["others_repeated"], found["others"]
    explained = f", as if {found['copies']:.1%} of them were copies" if found["copies"] >= REPEATED / 10 else ""
    text = (
        f"{found['released']:,} rows repeat {counts[0]:,} of {counts[1]:,} training rows and {counts[2]:,} of "
        f"{counts[3]:,} held-out rows{explained}"
    )
    return Finding("repeated", found["copies"] > REPEATED and is_larger(*counts, 1 - confidence), text)


def by_chance(attack: Mapping[str, Any], confidence: float) -> float:
    """The upper end of the interval in which the AUC of a random guess lies with this confidence."""
    members, others = attack["rows"]["members"], attack["rows"]["others"]
    error = ((members + others + 1) / (12 * members * others)) ** 0.5
    return float(0.5 + NormalDist().inv_cdf(0.5 + confidence / 2) * error)


def _attack(attack: Score, label: str, wider: float, alpha: float) -> Finding:
    """A leak if the risk and the gap are large, and above zero beyond chance.

    `wider` says how much wider the interval is at the confidence level that the shared error leaves to each test. A gap
    that the number of attacks cannot prove is no leak: the attacked columns share the error of `alpha`.
    """
    facts = attack.breakdown
    low, high = facts["interval"]
    n_train, n_control = (facts["attacks"][who] for who in ("train", "control"))
    proven = is_larger(
        facts["train"] * n_train,
        n_train,
        facts["control"] * n_control,
        n_control,
        alpha / max(len(facts.get("columns", ())), 1),
    )
    sure = attack.value - wider * (attack.value - low) > 0 and low > 0 and proven
    gap = facts["train"] - facts["control"]
    what = f" (column {facts['column']!r})" if "column" in facts else ""
    text = (
        f"{label}{what} succeeds on {facts['train']:.1%} of {n_train:,} attacks on training rows and "
        f"{facts['control']:.1%} of {n_control:,} on held-out rows, a risk of {attack.value:.2f} "
        f"(between {low:.2f} and {high:.2f})"
    )
    return Finding(attack.name, attack.value > RISK and gap > RISK and sure, text)


def _traced(attack: Mapping[str, Any], confidence: float) -> Finding:
    """A leak if the lower bounds, one-sided with 95 %, are above the limits of the level `balanced`; members beyond the
    threshold count if the number of held-out rows, which set it, proves them.
    """
    limit, scale = TRACES["balanced"], ONE_SIDED / _errors(confidence)
    area, share = attack["auc"], attack["true_positives"]
    low = area - scale * (area - attack["auc_interval"][0])
    sure = share - scale * (share - attack["true_positives_interval"][0])
    text = (
        f"a density refitted on them recognises training rows with an AUC of {area:.2f} (between "
        f"{attack['auc_interval'][0]:.2f} and {attack['auc_interval'][1]:.2f}, at most {limit}) and is sure of "
        f"{share:.1%} of them at 1% false positives"
    )
    certain = sure > TRACED and not _lucky(attack, 1 - NormalDist().cdf(ONE_SIDED))
    return Finding(DENSITY, low > limit or certain, text)


def _lucky(attack: Mapping[str, Any], alpha: float) -> bool:
    """Whether chance could put as many members beyond the threshold.

    The threshold is one of the others' scores: with few of them, several members may exceed all others by chance.
    """
    members, others = attack["rows"]["members"], attack["rows"]["others"]
    passed = int(attack["false_positives"] * others)
    return not is_larger(round(attack["true_positives"] * members), members, passed, others, alpha)


def _errors(confidence: float) -> float:
    """Half the width of an interval of this confidence, in standard errors."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def limits() -> str:
    """How the verdict is chosen, for the reader."""
    alpha = (1 - CONFIDENCE) / len(TESTS)
    return (
        f"no violation of the distance test that membership by distance bears out (which it does above what chance "
        f"reaches in {CONFIDENCE:.0%}), and no more copies and near copies than among held-out rows (Fisher's exact "
        f"test), no more training rows than held-out rows repeated, unless copies in {REPEATED:.0%} of the rows would "
        f"explain it, each at p ≥ {alpha:.3f}, which is {1 - CONFIDENCE:.0%} shared by {len(TESTS)} tests, as one leak "
        f"is enough to fail; membership AUC up to {MEMBERSHIP} or what chance alone could reach, at most "
        f"{FOUND:.0%} of the training rows recognised at 1% false positives; risks of the attacks up to {RISK}, or "
        f"with an interval that reaches 0, or with a gap between training and held-out rows of up to {RISK:.0%}, "
        f"or one that so few attacks cannot prove (Fisher's exact test); "
        f"attack by density up to an AUC of {TRACES['balanced']} and {TRACED:.0%} of the training rows at 1% false "
        f"positives, or what chance alone could add to them: the limits of the verdict at the end of a fit."
    )
