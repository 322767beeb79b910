"""Linkability: does the synthetic table help to join two tables with different columns of the same people?

Giomi et al. (PoPETs 2023), section 4.2: an attacker has some columns of each row in one table and the others in a
second one. The nearest synthetic row of each half is found; if both halves lead to the same one, they are linked.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..context import Context
from ..encoding import Table
from ..metrics.gower import Gower
from ..references import Tables
from ..score import Measurement
from .risk import Risk

SPLITS = 4
"""Random splits of the columns; each is tried on an equal share of the attacked rows."""


def linkability(tables: Tables, context: Context) -> Measurement:
    """Risk that both halves of a training row lead to the same synthetic row, beyond the risk of held-out rows."""
    n_columns = len(tables.train.features)
    if n_columns < 2:
        return Measurement(float("nan"), {}, "a table of one column has no halves to link")
    rng = context.rng()
    splits = [_halves(n_columns, rng) for _ in range(SPLITS if n_columns > 2 else 1)]
    space = Gower(tables.synthetic, tables.train, tables.holdout)
    counts, attacks = {}, {}
    for who, table in (("training rows", tables.train), ("held-out rows", tables.holdout)):
        rows = table.sample(context.max_attacks, rng)
        counts[who], attacks[who] = 0, rows.n_rows
        for k, halves in enumerate(splits):
            part = rows.take(np.arange(rows.n_rows) % len(splits) == k)
            if part.n_rows:
                counts[who] += int(linked(space, part, halves, context, f"links of {who}").sum())
    n_train, n_control = attacks["training rows"], attacks["held-out rows"]
    risk = Risk.of(
        train=counts["training rows"],
        control=counts["held-out rows"],
        baseline=n_train / tables.synthetic.n_rows,  # two synthetic rows drawn at random are the same row this often
        attacks=(n_train, n_control),
        confidence=context.confidence,
    )
    names = [feature.name for feature in tables.train.features]
    halves_by_name = [[[names[place] for place in half] for half in halves] for halves in splits]
    return Measurement(risk.value, {**risk.to_json(), "halves": halves_by_name})


def linked(
    space: Gower, rows: Table, halves: tuple[list[int], list[int]], context: Context, name: str
) -> NDArray[np.bool_]:
    """Return for each row whether both of its halves have the same nearest synthetic row."""
    found = space.nearest(rows, halves, context.progress, f"{name} in {context.label}")
    linked: NDArray[np.bool_] = found[:, 0] == found[:, 1]
    return linked


def _halves(n_columns: int, rng: np.random.Generator) -> tuple[list[int], list[int]]:
    order = rng.permutation(n_columns)
    middle = n_columns // 2
    return sorted(order[:middle].tolist()), sorted(order[middle:].tolist())
