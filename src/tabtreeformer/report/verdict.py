"""The three questions that people ask of synthetic rows, answered in words with the numbers behind them.

The limits below are ours: round numbers that we would defend to a colleague, not laws. The page prints them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..evaluation import Evaluation, Score

Level = Literal["good", "fair", "poor", "unknown"]

USEFUL = (0.05, 0.15)
"""Largest loss of downstream score, as a share, that is good, and that is fair."""
FAITHFUL = (0.65, 0.8)
"""Largest two-sample AUC that is good, and that is fair."""
MEMBERSHIP = 0.6
"""Largest membership AUC that is safe, unless so few rows were held out that chance alone goes beyond it."""
FOUND = 0.05
"""Largest share of members that may be found at 1 % false positives, unless chance alone goes beyond it."""
RISK = 0.05
"""Largest risk of an attack that is safe, unless so few attacks were possible that chance alone goes beyond it."""
ATTACKS = {"singling_out": "singling out", "linkability": "linkability", "inference": "attribute inference"}
ALPHA = 0.05
"""More copies than among held-out rows count only where chance makes them with less than this probability."""


@dataclass(frozen=True)
class Verdict:
    """One question, one word, one sentence."""

    question: str
    level: Level
    word: str
    sentence: str


def judge(evaluation: Evaluation) -> tuple[Verdict, Verdict, Verdict]:
    """Answer: useful? faithful? safe?"""
    scores = evaluation.scores
    return _useful(scores.get("utility"), evaluation), _faithful(evaluation), _safe(evaluation)


def _useful(score: Score | None, evaluation: Evaluation) -> Verdict:
    if score is None:
        why = evaluation.left_out.get("utility", "it was not measured")
        return Verdict("Useful?", "unknown", "not measured", f"Utility: {why}.")
    level: Level = "good" if score.value <= USEFUL[0] else "fair" if score.value <= USEFUL[1] else "poor"
    word = {"good": "yes", "fair": "partly", "poor": "no"}[level]
    evaluators = score.breakdown["evaluators"]
    real, new = (sum(e[side] for e in evaluators) / len(evaluators) for side in ("real", "synthetic"))
    change = f"{abs(score.value):.1%} {'less' if score.value > 0 else 'more'} than" if score.value else "the same as"
    floor = "" if score.floor is None else f" Columns drawn independently would lose {score.floor:.0%}."
    return Verdict(
        "Useful?",
        level,
        word,
        f"Models that learn from the synthetic rows score {new:.3f} on real held-out rows, {change} models that learn "
        f"from real ones ({real:.3f}).{floor}",
    )


def _faithful(evaluation: Evaluation) -> Verdict:
    scores = evaluation.scores
    parts = []
    for name, label in (("shape", "columns agree to"), ("trend", "pairs of columns to")):
        if name in scores:
            ceiling, fair = scores[name].ceiling, scores[name].breakdown.get("at_holdout_size")
            equal = "" if fair is None else f"{fair:.1%} at the hold-out's size; "
            beside = "" if ceiling is None else f" ({equal}real held-out rows: {ceiling:.1%})"
            parts.append(f"{label} {scores[name].value:.1%}{beside}")
    detection = scores.get("detection")
    if detection is None:
        return Verdict("Faithful?", "unknown", "not measured", (", ".join(parts) or "Detection was not measured") + ".")
    level: Level = "good" if detection.value <= FAITHFUL[0] else "fair" if detection.value <= FAITHFUL[1] else "poor"
    word = {"good": "yes", "fair": "mostly", "poor": "no"}[level]
    told = (
        f"A classifier tells synthetic rows from real ones with an AUC of {detection.value:.2f} (0.50 is a coin toss)"
    )
    return Verdict("Faithful?", level, word, "; ".join([told, *parts]) + ".")


def _safe(evaluation: Evaluation) -> Verdict:
    scores, found, passed = evaluation.scores, [], []
    dcr, copies, membership = (scores.get(name) for name in ("dcr", "copies", "membership"))
    if dcr is None or membership is None or copies is None:
        why = next((evaluation.left_out[n] for n in ("dcr", "membership", "copies") if n in evaluation.left_out), None)
        return Verdict("Safe?", "unknown", "not measured", f"Privacy: {why or 'it was not measured'}.")
    if dcr.breakdown["violation"]:
        found.append(f"synthetic rows lie nearer to training rows than held-out rows do (p = {dcr.value:.3f})")
    else:
        passed.append(f"synthetic rows are no nearer to training rows than held-out rows are (p = {dcr.value:.2f})")
    beside = f"{copies.value:.2%} of them equal a training row (held-out rows: {copies.ceiling or 0:.2%})"
    (found if _copies_too_often(copies, evaluation) else passed).append(beside)
    told = f"membership can be guessed with an AUC of {membership.value:.2f}"
    (found if membership.value > _membership_limit(membership) else passed).append(told)
    share, (sure, _) = (membership.breakdown[key] for key in ("true_positives", "true_positives_interval"))
    if share > FOUND and sure > membership.breakdown["false_positives"]:
        found.append(f"{share:.0%} of the training rows can be told at 1% false positives")
    for name, label in ATTACKS.items():
        if name in scores and _is_a_leak(scores[name]):
            found.append(_attack_in_words(scores[name], label))
        elif name in scores and scores[name].value == scores[name].value:
            low, high = scores[name].breakdown["interval"]
            passed.append(f"risk of {label} {scores[name].value:.2f} (between {low:.2f} and {high:.2f})")
    if found:
        text = "; ".join(found)
        return Verdict("Safe?", "poor", "no", text[0].upper() + text[1:] + ".")
    text = "; ".join(passed)
    caveat = " These tests find leaks; they cannot prove that there are none."
    return Verdict("Safe?", "good", "no leak found", text[0].upper() + text[1:] + "." + caveat)


def _copies_too_often(copies: Score, evaluation: Evaluation) -> bool:
    """Whether there are more copies than among the held-out rows, beyond chance (Fisher's exact test)."""
    from scipy.stats import fisher_exact  # type: ignore[import-untyped]

    n_test = evaluation.facts["rows"]["test"]
    copied, n_rows = copies.breakdown["copies"], copies.breakdown["rows"]
    expected = round((copies.ceiling or 0.0) * n_test)
    table = [[copied, n_rows - copied], [expected, n_test - expected]]
    return bool(fisher_exact(table, alternative="greater").pvalue < ALPHA)


def _membership_limit(membership: Score) -> float:
    """The larger of the limit and two standard errors of an AUC that knows nothing."""
    rows = membership.breakdown["rows"]
    members, others = rows["members"], rows["others"]
    return float(max(MEMBERSHIP, 0.5 + 2 * ((members + others + 1) / (12 * members * others)) ** 0.5))


def _is_a_leak(attack: Score) -> bool:
    """Whether the risk is large, and larger than none beyond chance."""
    return attack.value > RISK and attack.breakdown["interval"][0] > 0


def _attack_in_words(attack: Score, label: str) -> str:
    facts = attack.breakdown
    what = f" (column {facts['column']!r})" if "column" in facts else ""
    return (
        f"{label}{what} succeeds on {facts['train']:.1%} of the attacks on training rows and {facts['control']:.1%} of "
        f"those on held-out rows, a risk of {attack.value:.2f}"
    )


def limits() -> list[str]:
    """How the words are chosen, for the reader."""
    return [
        f"Useful: yes up to {USEFUL[0]:.0%} loss of downstream score, partly up to {USEFUL[1]:.0%}.",
        f"Faithful: yes up to a two-sample AUC of {FAITHFUL[0]}, mostly up to {FAITHFUL[1]}.",
        f"Safe: no violation of the distance test (p ≥ 0.05), no more copies than among held-out rows beyond chance "
        f"(Fisher's exact test, {ALPHA:.0%}), membership AUC up to {MEMBERSHIP} or two standard errors above one half, "
        f"at most {FOUND:.0%} of the training rows told at 1% false positives, risks of the attacks up to {RISK} or "
        f"with an interval that reaches 0.",
    ]
