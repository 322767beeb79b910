"""The density attack: which rows were in the training table, given released rows? Calibrated with shadow tables.

The attacker has released rows, knows the schema, and has rows of the same population. It

1. fits a density to the released rows: one tree per column given the columns before it, smoothed towards the parent
   node;
2. computes the log-likelihood of each candidate row;
3. subtracts the mean of the row's log-likelihoods under shadow tables whose generators lacked it, and divides by their
   spread.

Members score higher than others if they left a trace in the released rows. Shadow tables are written by trees fitted to
random halves of the population: as good for this as retrained networks, and a thousand times cheaper. Halves come in
complementary pairs, so half of the shadows lack any given row. Distance-based attacks miss most of what this attack
detects.

Shapes: `N` rows of the population, `D` columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...forest import ForestSettings, Target, draw_rows, grow, log_shares
from ..context import SYNTHETIC, Context
from ..encoding import Table, both
from ..references import Tables
from ..score import Measurement
from .membership import membership_attack
from .risk import CONFIDENCE

Floats = NDArray[np.float64]
N_SHADOWS, FEW_SHADOWS, MANY_ROWS = 16, 8, 20_000
"""Number of shadow tables; half as many for a large population."""
REFERENCE_SHADOWS = 4
"""Number of shadow tables for the reference of real held-out rows."""
SHADOW_LEAF = 40
"""Rows per leaf of the trees that write shadow tables."""
DENSITY_IDS, SHADOW_IDS = 60, 300
"""Intervals per number, of the density and of the shadows."""
MIN_INTERVAL = 5
"""Minimum rows per interval."""
DENSITY_SMOOTHING, DENSITY_UNSEEN = 2.0, 0.5
MIN_DENSITY_LEAF, LEAVES = 10, 100
"""Minimum rows per leaf of the density: this number, or a hundredth of the rows if larger."""
DENSITY_GROWN = 5_000
"""Released rows used to choose the splits of the density; all of them are counted."""
SHARE_FLOOR, SPREAD_FLOOR = 1e-6, 0.3
"""Constant added to each share, and to the spread of a row's shadow scores."""
MORE, MORE_ROWS = 10, 50_000
"""Where more rows are released than were learned: multiples of these that are attacked, and the maximum of rows."""
MAX_ROWS = 25_000
"""Maximum members, others and released rows of an attack (each)."""


@dataclass(frozen=True)
class Intervals:
    """Columns as ids: categories by their codes, numbers by intervals of about equally many rows."""

    edges: tuple[Floats | None, ...]
    """Upper ends of the intervals of each number; None for a category."""
    bounds: tuple[tuple[float, float], ...]
    targets: tuple[Target, ...]

    @classmethod
    def learn(cls, table: Table, n_ids: int) -> Intervals:
        """Cut the numbers of a table; a missing number has an id of its own."""
        edges: list[Floats | None] = []
        bounds, targets = [], []
        for feature, column in zip(table.features, table.columns, strict=True):
            if feature.categorical:
                edges.append(None)
                bounds.append((0.0, 0.0))
                targets.append(Target(len(feature.labels) + 1, ordered=False))
                continue
            values = np.sort(column[~np.isnan(column)])
            step = max(MIN_INTERVAL, len(values) // n_ids)
            ends = np.unique(values[step - 1 :: step])
            edges.append(ends)
            bounds.append((float(values[0]), float(values[-1])) if len(values) else (0.0, 0.0))
            targets.append(Target(len(ends) + 2, ordered=True))
        return cls(tuple(edges), tuple(bounds), tuple(targets))

    def encode(self, table: Table) -> NDArray[np.int32]:
        """Ids (N, D)."""
        ids = np.empty((table.n_rows, len(self.edges)), dtype=np.int32)
        for place, (column, edges) in enumerate(zip(table.columns, self.edges, strict=True)):
            if edges is None:
                ids[:, place] = column
            else:
                found = np.searchsorted(edges, column, side="left")
                ids[:, place] = np.where(np.isnan(column), len(edges) + 1, found)
        return ids

    def decode(self, ids: NDArray[np.int32], like: Table, rng: np.random.Generator) -> Table:
        """Rows of ids as a table; numbers are drawn evenly inside their interval."""
        columns: list[NDArray[Any]] = []
        for place, (edges, (low, high)) in enumerate(zip(self.edges, self.bounds, strict=True)):
            own = ids[:, place]
            if edges is None:
                columns.append(own.astype(like.columns[place].dtype))
                continue
            ends = np.concatenate([[low], edges, [high]])
            below = np.minimum(own, len(edges))
            values = ends[below] + rng.random(len(own)) * (ends[below + 1] - ends[below])
            columns.append(np.where(own == len(edges) + 1, np.nan, values))
        return Table(like.features, tuple(columns))


def log_likelihood(released: Table, candidates: Table, seed: np.random.SeedSequence) -> Floats:
    """Log-likelihood of candidate rows under a density fitted to released rows (N,)."""
    intervals = Intervals.learn(released, DENSITY_IDS)
    leaf_rows = max(MIN_DENSITY_LEAF, released.n_rows // LEAVES)
    settings = ForestSettings(
        leaf_rows=leaf_rows,
        smoothing=DENSITY_SMOOTHING,
        unseen=DENSITY_UNSEEN,
        grown_rows=DENSITY_GROWN,
        scores=False,
    )
    forest = grow(intervals.encode(released), intervals.targets, settings, seed)
    shares = np.exp(log_shares(forest, intervals.encode(candidates)))
    return np.asarray(np.log(shares + SHARE_FLOOR).sum(1))


def shadow_table(learned: Table, n_rows: int, leaf_rows: int, seed: np.random.SeedSequence) -> Table:
    """Rows drawn from trees fitted to a table."""
    grown, drawn = seed.spawn(2)
    intervals, rng = Intervals.learn(learned, SHADOW_IDS), np.random.default_rng(drawn)
    settings = ForestSettings(leaf_rows=leaf_rows, smoothing=0.0, scores=False)
    forest = grow(intervals.encode(learned), intervals.targets, settings, grown)
    return intervals.decode(draw_rows(forest, n_rows, rng), learned, rng)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Mean and spread of each row's score over shadow tables that lacked it (N,)."""

    population: Table
    mean: Floats
    spread: Floats
    seed: np.random.SeedSequence

    @classmethod
    def learn(
        cls,
        population: Table,
        n_rows: int,
        seed: np.random.SeedSequence,
        n_shadows: int | None = None,
        leaf_rows: int = SHADOW_LEAF,
    ) -> Calibration:
        """Write shadow tables of `n_rows` rows from random halves, and score all rows under each."""
        return cls.learn_sizes(population, (n_rows,), seed, n_shadows, leaf_rows)[0]

    @classmethod
    def learn_sizes(
        cls,
        population: Table,
        sizes: Sequence[int],
        seed: np.random.SeedSequence,
        n_shadows: int | None = None,
        leaf_rows: int = SHADOW_LEAF,
    ) -> list[Calibration]:
        """Like `learn`, for several numbers of rows; each shadow table is written once, and its first rows are used."""
        n_shadows = n_shadows or (N_SHADOWS if population.n_rows < MANY_ROWS else FEW_SHADOWS)
        halves, last, *seeds = seed.spawn(2 + n_shadows)
        rng = np.random.default_rng(halves)
        rest = np.zeros(0, dtype=np.int64)
        scores = np.empty((len(sizes), n_shadows, population.n_rows))
        for k, child in enumerate(seeds):
            written, *densities = child.spawn(1 + len(sizes))
            if k % 2:
                own = rest
            else:
                own, rest = np.array_split(rng.permutation(population.n_rows), 2)
            table = shadow_table(population.take(own), max(sizes), leaf_rows, written)
            for size, density, found in zip(sizes, densities, scores[:, k], strict=True):
                found[:] = log_likelihood(table.take(slice(size)), population, density)
                found[own] = np.nan
        return [cls._of(population, found, last) for found in scores]

    @classmethod
    def _of(cls, population: Table, scores: Floats, seed: np.random.SeedSequence) -> Calibration:
        """From the scores under each shadow (shadows, N), which are missing where the shadow learned the row."""
        there = np.isfinite(scores)
        count = np.maximum(there.sum(0), 1)
        mean = np.where(there, scores, 0.0).sum(0) / count
        spread = np.sqrt(np.where(there, np.square(scores - mean), 0.0).sum(0) / count)
        # The spread over a few shadows is a rough estimate, so it is averaged with that of a typical row.
        spread = (spread + np.median(spread)) / 2
        # A row that every shadow learned, which can happen when their number is odd, gets no score.
        return cls(population, np.where(there.any(0), mean, np.nan), spread, seed)

    def score(self, released: Table) -> Floats:
        """Calibrated score of each row of the population: high for rows that left a trace (N,)."""
        raw = log_likelihood(released, self.population, self.seed)
        return np.nan_to_num((raw - self.mean) / (self.spread + SPREAD_FLOOR))


def outcome(scores: Floats, n_members: int, confidence: float = CONFIDENCE) -> dict[str, Any]:
    """The success of an attack by scores, members first; true positives at 1 % and 10 % false positives."""
    inside, outside = scores[:n_members], scores[n_members:]
    at_1, at_10 = (
        membership_attack(inside, outside, false_positives=share, confidence=confidence) for share in (0.01, 0.1)
    )
    return {
        **at_1.to_json(),
        "true_positives_at_10": at_10.true_positives,
        "true_positives_at_10_interval": list(at_10.interval),
    }


def density_attack(tables: Tables, context: Context) -> Measurement:
    """AUC of telling training rows from held-out rows by a density fitted to the synthetic rows; 0.5 is chance.

    The attacker gets as many synthetic rows as there are training rows, if available. If there are at least twice as
    many, the breakdown has the attack on up to ten times as many too.
    """
    rng = context.rng()
    members, others = (table.sample(MAX_ROWS, rng) for table in (tables.train, tables.holdout))
    population = both(members, others)

    def attacked(n_rows: int) -> dict[str, Any]:
        released = tables.synthetic.sample(n_rows, rng)
        # The table of independent columns is attacked with the same shadows.
        key = ("shadows", tables.train, tables.holdout, released.n_rows)
        seed = np.random.SeedSequence(context.seed)
        own = None if context.label == SYNTHETIC else REFERENCE_SHADOWS
        calibration = context.once(key, lambda: Calibration.learn(population, released.n_rows, seed, own))
        found = outcome(calibration.score(released), members.n_rows, context.confidence)
        return {**found, "released": released.n_rows}

    found = attacked(members.n_rows)
    if tables.synthetic.n_rows >= 2 * members.n_rows and context.label == SYNTHETIC:
        found["more_rows"] = attacked(min(tables.synthetic.n_rows, MORE * members.n_rows, MORE_ROWS))
    return Measurement(found["auc"], found, tables.capped(MAX_ROWS))
