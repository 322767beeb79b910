"""The result of a comparison in sentences: which generators are most useful, faithful and fast, and whose rows leak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ..attacks.risk import CONFIDENCE
from ..safety import MEMBERSHIP, by_chance
from .results import OK, Run
from .tables import TEST_SHARE

LEAK = 0.05
"""A distance test below this counts as a violation, as in the paper."""


def quality(frame: pd.DataFrame) -> pd.Series:
    """Mean of Shape and Trend of each generator."""
    return frame[["shape", "trend"]].mean(axis=1)


def seconds(frame: pd.DataFrame) -> pd.Series:
    """Seconds of a fit and its rows."""
    return frame[["fit_seconds", "sample_seconds"]].sum(axis=1, min_count=1)


def leaks(frame: pd.DataFrame, n_rows: int) -> dict[str, str]:
    """Generators whose rows show signs of a leak, and the signs; means over the seeds of a table of `n_rows` rows."""
    found = {}
    others = max(n_rows // TEST_SHARE, 1)
    most = max(MEMBERSHIP, by_chance({"rows": {"members": max(n_rows - others, 1), "others": others}}, CONFIDENCE))
    for name, line in frame.iterrows():
        signs = []
        if line["dcr"] < LEAK:
            signs.append(f"distance test {line['dcr']:.3f}")
        if line["membership"] > most:
            signs.append(f"membership {line['membership']:.2f}")
        if signs:
            found[str(name)] = " and ".join(signs)
    return found


def sentences(frame: pd.DataFrame, runs: Sequence[Run], controls: Sequence[str], n_rows: int) -> list[str]:
    """The verdict on a comparison."""
    rivals = frame.drop(index=[name for name in controls if name in frame.index])
    if rivals.empty:
        return ["No generator has finished yet."]
    leaky = leaks(rivals, n_rows)
    safe = rivals.drop(index=list(leaky))
    said = []
    if leaky:
        listed = "; ".join(f"{name} ({why})" for name, why in leaky.items())
        said.append(f"Signs of a leak, do not share: {listed}.")
    if safe.empty:
        return [*said, "Every generator shows signs of a leak."]
    what = "" if not leaky else " of those without a sign of a leak"
    scores: Mapping[str, tuple[pd.Series, str, bool]] = {
        "Most useful": (safe["utility"], "utility loss {:.3f}", False),
        "Most faithful": (quality(safe), "Shape and Trend {:.3f} on average", True),
        "Fastest": (seconds(safe), "{:.0f} s", False),
    }
    for word, (values, text, higher) in scores.items():
        known = values.dropna()
        if known.empty:
            continue
        name = str(known.idxmax() if higher else known.idxmin())
        said.append(f"{word}{what}: {name} ({text.format(known[name])}).")
        what = ""
    return [*said, *_certainty(safe, runs)]


def _certainty(safe: pd.DataFrame, runs: Sequence[Run]) -> list[str]:
    """To what extent the order of the most useful generators could be chance."""
    losses = safe["utility"].dropna().sort_values()
    if len(losses) < 2:
        return []
    first, second = (
        [run.values["utility"] for run in runs if run.status == OK and run.generator == name]
        for name in losses.index[:2]
    )
    if min(len(first), len(second)) < 2:
        return ["One seed each: differences of a few hundredths can be chance; more seeds will show."]
    spread = float(np.sqrt(np.var(first, ddof=1) / len(first) + np.var(second, ddof=1) / len(second)))
    if losses.iloc[1] - losses.iloc[0] > 2 * spread:
        return []
    return [f"{losses.index[0]} and {losses.index[1]} differ in utility by no more than their seeds do."]
