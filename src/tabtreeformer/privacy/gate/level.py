"""Privacy levels: the success of an attack on released rows, and the number of rows up to which it stays within limits.

The more rows are released, the better a density fitted to them reveals members. So each half of the model is attacked
twice, with as many rows as it learned and with ten times as many (fewer for large tables), with the same candidates and
shadow tables. Between and beyond the two, AUC and share of recognised members are assumed to grow linearly with the
logarithm of the rows. In fact they level off, so this is conservative.

A level is exceeded if the one-sided 95 % lower bound of the figure, over all halves together, is above the limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...data.schema import Schema
from ...evaluation.attacks.repeated import repeated
from ...evaluation.attacks.rows import Calibration, outcome
from ...evaluation.encoding import Table, encode
from ...evaluation.safety import TRACED, TRACES

TIMES = 10
"""Second number of released rows, as a multiple of the rows learned."""
MAX_CANDIDATES, MAX_RELEASED = 2_500, 25_000
"""Maximum members and others in the attack, and maximum released rows."""
FEW_SHADOWS, MANY_ROWS = 8, 4_000
"""Number of shadow tables for at least this many candidates; with fewer, as many as in an evaluation."""
ONE_SIDED = 0.9
"""Confidence of a two-sided interval whose lower end is a one-sided 95 % bound."""
UNLIMITED = 1_000
"""Limits beyond this multiple of the learned rows are not reported."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One attack: positions of members and others in the population, and the writer of released rows."""

    members: Rows
    others: Rows
    write: Callable[[int], pd.DataFrame]
    n_learned: int
    """Rows that the writer learned from."""


@dataclass(frozen=True)
class Line:
    """A figure at two numbers of released rows, in units of the rows learned, with inter- and extrapolation."""

    times: tuple[float, float]
    values: tuple[float, float]
    margin: float
    """Margin of chance, with 95 % confidence."""
    nothing: float = 0.0
    """The figure of a useless attack, the lower end of its range."""

    def at(self, times: float) -> float:
        """The figure for this multiple of the learned rows."""
        return self.values[1] + self._slope(times > self.times[1]) * math.log(times / self.times[1])

    def until(self, limit: float) -> float:
        """The multiple of the learned rows up to which the figure does not significantly exceed the limit."""
        spare = limit + self.margin - self.values[1]
        slope = self._slope(spare >= 0)
        if slope == 0:
            return math.inf if spare >= 0 else 0.0
        return self.times[1] * math.exp(min(spare / slope, 100.0))

    def _slope(self, beyond: bool) -> float:
        """Growth with the logarithm of the rows; beyond the measured range, only the significant part."""
        grown = self.values[1] - max(self.values[0], self.nothing) - (self.margin if beyond else 0.0)
        return max(0.0, grown / math.log(self.times[1] / self.times[0]))


@dataclass(frozen=True)
class Exposure:
    """Success of the attack: AUC and share of members found at 1 % false positives, by released rows."""

    auc: Line
    found: Line
    measure: Mapping[str, Any]
    """All figures of the attack on the smaller number of rows, for the half that reveals the most."""
    repeated: Sequence[Mapping[str, Any]] = ()
    """Repeated members and others among all written rows, per comparison."""

    def until(self, level: str) -> float:
        """The multiple of the learned rows up to which the level holds."""
        return min(self.auc.until(TRACES[level]), self.found.until(TRACED))


def expose(
    where: str,
    population: pd.DataFrame,
    comparisons: Sequence[Comparison],
    schema: Schema,
    seed: np.random.SeedSequence,
) -> Exposure:
    """Attack released rows of each comparison, with the same shadow tables; `where` names the target.

    All written rows are searched for repeated members too.
    """
    n_learned = min(part.n_learned for part in comparisons)
    sizes = released_rows(n_learned)
    released = {f"released {k}": part.write(sizes[1]) for k, part in enumerate(comparisons)}
    tables = encode({"training": population, **released}, schema)
    n_shadows = FEW_SHADOWS if len(population) >= MANY_ROWS else None
    calibrations = Calibration.learn_sizes(tables["training"], sizes, seed, n_shadows=n_shadows)
    found = [
        [
            _attack(calibration, tables[name].take(slice(size)), part)
            for name, part in zip(released, comparisons, strict=True)
        ]
        for size, calibration in zip(sizes, calibrations, strict=True)
    ]
    times = (sizes[0] / n_learned, sizes[1] / n_learned)
    worst = max(found[0], key=lambda attack: float(attack["auc"]))
    return Exposure(
        _line(times, found, "auc", "auc_interval", 0.5),
        _line(times, found, "true_positives", "true_positives_interval", 0.01),
        {"value": worst["auc"], "goal": "half", "ceiling": 0.5, "released": sizes[0], "where": where, **worst},
        [_repeated(tables["training"], tables[name], part) for name, part in zip(released, comparisons, strict=True)],
    )


def released_rows(n_learned: int) -> tuple[int, int]:
    """The two numbers of released rows in the attack."""
    large = min(TIMES * n_learned, MAX_RELEASED)
    return min(n_learned, large // 4), large


def level_record(exposures: Sequence[Exposure], level: str, n_rows: int) -> dict[str, Any]:
    """The result for a level as plain data: the figures of the worst exposure, and the number of safe rows."""
    worst = min(exposures, key=lambda exposure: (exposure.until(level), -exposure.auc.at(1)))
    until = worst.until(level)
    return {
        "name": level,
        "limits": {"auc": TRACES[level], "found_at_1_percent": TRACED},
        "holds": until >= 1,
        "safe_rows": None if until > UNLIMITED else _rounded(until * n_rows, n_rows),
        "figures": [_figures(worst, times, n_rows) for times in (1, TIMES)],
        "margin": {"auc": round(worst.auc.margin, 4), "found_at_1_percent": round(worst.found.margin, 4)},
        "measured_on": [round(times * n_rows) for times in worst.auc.times],
    }


def _figures(exposure: Exposure, times: int, n_rows: int) -> dict[str, Any]:
    return {
        "rows": times * n_rows,
        "auc": round(min(exposure.auc.at(times), 1.0), 4),
        "found_at_1_percent": round(min(max(exposure.found.at(times), 0.0), 1.0), 4),
    }


def _rounded(rows: float, n_learned: int) -> int:
    """Round a number of rows down to two digits, but not below the learned rows if those are safe."""
    rows = round(rows, 3)
    unit = 10 ** max(int(math.log10(max(rows, 1.0))) - 1, 0)
    return max(int(rows // unit * unit), n_learned if rows >= n_learned else 0)


def _attack(calibration: Calibration, released: Any, part: Comparison) -> dict[str, Any]:
    scores = calibration.score(released)
    chosen = np.concatenate([scores[part.members], scores[part.others]])
    return outcome(chosen, len(part.members), ONE_SIDED)


def _repeated(population: Table, released: Table, part: Comparison) -> dict[str, Any]:
    candidates = population.take(np.concatenate([part.members, part.others]))
    return repeated(candidates, len(part.members), released, part.n_learned)


def _line(
    times: tuple[float, float], found: Sequence[Sequence[Mapping[str, Any]]], name: str, interval: str, nothing: float
) -> Line:
    """Means over the halves, whose errors are independent or cancel: each row is a member in one half only."""
    values = [float(np.mean([attack[name] for attack in attacks])) for attacks in found]
    margins = [attack[name] - attack[interval][0] for attack in found[-1]]
    return Line(times, (values[0], values[-1]), math.sqrt(sum(m * m for m in margins)) / len(margins), nothing)
