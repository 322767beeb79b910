"""The three questions that people ask of synthetic rows, answered in words with the numbers behind them.

The limits below, and those of `evaluation.safety`, are ours: round numbers that we would defend to a colleague, not
laws. The page prints them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..evaluation import Evaluation, Score, findings, safety

Level = Literal["good", "fair", "poor", "unknown"]

USEFUL = (0.05, 0.15)
"""Largest loss of downstream score, as a share, that is good, and that is fair."""
FAITHFUL = (0.65, 0.8)
"""Largest two-sample AUC that is good, and that is fair."""


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
    results = findings(evaluation)
    if not results:
        why = next((evaluation.left_out[n] for n in safety.NEEDED if n in evaluation.left_out), None)
        return Verdict("Safe?", "unknown", "not measured", f"Privacy: {why or 'it was not measured'}.")
    leaks = [result.text for result in results if result.leak]
    text = "; ".join(leaks or [result.text for result in results])
    text = text[0].upper() + text[1:] + "."
    if leaks:
        return Verdict("Safe?", "poor", "no", text)
    caveat = " These tests find leaks; they cannot prove that there are none."
    return Verdict("Safe?", "good", "no leak found", text + caveat)


def limits() -> list[str]:
    """How the words are chosen, for the reader."""
    return [
        f"Useful: yes up to {USEFUL[0]:.0%} loss of downstream score, partly up to {USEFUL[1]:.0%}.",
        f"Faithful: yes up to a two-sample AUC of {FAITHFUL[0]}, mostly up to {FAITHFUL[1]}.",
        f"Safe: {safety.limits()}",
    ]
