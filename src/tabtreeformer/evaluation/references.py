"""The reference tables: real held-out rows, and independent columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import ConfigError
from .encoding import Table


@dataclass(frozen=True, eq=False)
class Tables:
    """What a metric reads: the rows learned from, held-out rows, and the rows to score."""

    train: Table
    test: Table | None
    synthetic: Table

    @property
    def holdout(self) -> Table:
        """The held-out rows, for a metric that requires them."""
        if self.test is None:
            raise ConfigError("this metric needs held-out rows; pass a test table")
        return self.test

    def capped(self, most: int) -> str | None:
        """A note if only part of the rows was measured."""
        if min(table.n_rows for table in (self.test, self.synthetic) if table is not None) <= most:
            return None
        return f"measured on {most:,} rows drawn from each table"


def independent_columns(tables: Tables, rng: np.random.Generator) -> Tables:
    """The floor: as many rows as the synthetic table, each value drawn from its own column of the training rows."""
    train, n_rows = tables.train, tables.synthetic.n_rows
    columns = tuple(column[rng.integers(train.n_rows, size=n_rows)] for column in train.columns)
    return replace(tables, synthetic=Table(train.features, columns))


def held_out_rows(tables: Tables, rng: np.random.Generator) -> Tables:
    """The ceiling of most metrics: the held-out rows in place of the synthetic ones."""
    return replace(tables, synthetic=tables.holdout)


def held_out_halves(tables: Tables, rng: np.random.Generator) -> Tables:
    """The ceiling where the measure itself needs held-out rows: it uses half of them, and the other half is scored."""
    order = rng.permutation(tables.holdout.n_rows)
    middle = len(order) // 2
    return replace(tables, test=tables.holdout.take(order[:middle]), synthetic=tables.holdout.take(order[middle:]))


def training_rows(tables: Tables, rng: np.random.Generator) -> Tables:
    """The ceiling of utility: no rows teach better than the training rows themselves."""
    return replace(tables, synthetic=tables.train)
