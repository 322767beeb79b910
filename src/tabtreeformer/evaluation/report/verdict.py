"""The three questions that people ask of synthetic rows, answered in sentences with the numbers behind them.

The limits below, and those of `evaluation.safety`, are our own: round numbers that we would defend to a colleague, not
fixed rules. The page prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .. import Evaluation, Score, findings, safety

Level = Literal["good", "fair", "poor", "unknown"]

USEFUL = (0.05, 0.15)
"""Largest loss of downstream score, as a share, that is good, and that is fair."""
FAITHFUL = (0.65, 0.8)
"""Largest two-sample AUC that is good, and that is fair."""
LAWS = (0.05, 0.25)
"""By how much the share of synthetic rows that keep the worst law may be below that of real rows: good, and fair."""
GRAIN = (0.05, 0.15)
"""By how much less the grain of numbers may agree than that of two samples of real rows: good, and fair."""
LEVELS: tuple[Level, ...] = ("good", "fair", "poor")


@dataclass(frozen=True)
class Verdict:
    """One question, one word, one sentence."""

    question: str
    level: Level
    word: str
    sentence: str


def verdicts(evaluation: Evaluation) -> tuple[Verdict, Verdict, Verdict]:
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
            # Few rows agree less by chance, so few held-out rows are compared with equally few synthetic ones.
            ceiling, fair = scores[name].ceiling, scores[name].breakdown.get("at_holdout_size")
            reference = "" if ceiling is None else f" (as many real held-out rows to {ceiling:.1%})"
            parts.append(f"{label} {scores[name].value if fair is None else fair:.1%}{reference}")
    detection = scores.get("detection")
    if detection is None:
        return Verdict("Faithful?", "unknown", "not measured", (", ".join(parts) or "Detection was not measured") + ".")
    reasons = [_detected(detection.value, scores.get("detection_derived")), *_eye(scores)]
    reasons.sort(key=lambda reason: -LEVELS.index(reason[0]))  # the deciding one comes first
    level = reasons[0][0]
    word = {"good": "yes", "fair": "mostly", "poor": "no"}[level]
    text = "; ".join([sentence for _, sentence in reasons] + parts)
    return Verdict("Faithful?", level, word, f"{text[0].upper()}{text[1:]}.")


def _level(value: float, limits: tuple[float, float]) -> Level:
    return "good" if value <= limits[0] else "fair" if value <= limits[1] else "poor"


def _detected(plain: float, derived: Score | None) -> tuple[Level, str]:
    """The two-sample tests: on the columns alone, and with derived columns beside them; the worse first."""
    said = "a classifier separates synthetic rows from real ones with an AUC of {:.2f} (0.50 is a coin toss)"
    level = _level(plain, FAITHFUL)
    if derived is None or not np.isfinite(derived.value):
        return level, said.format(plain)
    worse = _level(derived.value, FAITHFUL)
    if LEVELS.index(worse) <= LEVELS.index(level):
        return level, f"{said.format(plain)}, and of {derived.value:.2f} if shown differences, ratios, digits and laws"
    shown = said.replace("a classifier", "a classifier that is shown differences, ratios, digits and laws", 1)
    return worse, f"{shown.format(derived.value)}, and without these of {plain:.2f}"


def _eye(scores: Mapping[str, Score]) -> list[tuple[Level, str]]:
    """What an expert on the table would notice: the worst law, and how numbers are rounded."""
    found: list[tuple[Level, str]] = []
    laws, grain = scores.get("laws"), scores.get("grain")
    if laws is not None and laws.breakdown.get("worst"):
        worst = laws.breakdown["worst"]
        real = worst["train"] if worst["holdout"] is None else worst["holdout"]
        text = f"{worst['synthetic']:.1%} of the rows keep the worst law, {worst['law']} (real rows: {real:.1%})"
        found.append((_level(real - worst["synthetic"], LAWS), text))
    if grain is not None and np.isfinite(grain.value):
        short = grain.breakdown.get("chance", 1.0) - grain.value
        found.append((_level(short, GRAIN), f"numbers are rounded alike to {grain.value:.1%}"))
    return found


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
        f"Faithful: yes up to a two-sample AUC of {FAITHFUL[0]}, mostly up to {FAITHFUL[1]}, plain and on derived "
        f"columns; if {LAWS[0]:.0%} (mostly: {LAWS[1]:.0%}) fewer rows than real ones keep the worst law; and if the "
        f"grain of numbers agrees {GRAIN[0]:.0%} ({GRAIN[1]:.0%}) less than that of real rows. The worst decides.",
        f"Safe: {safety.limits()}",
    ]
