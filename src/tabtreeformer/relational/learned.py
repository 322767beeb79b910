"""What is stored for one table of a database: plan, model, key codecs and dtypes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ..config.settings import TokenConfig
from ..data.links import Name
from ..data.schema import IDENTIFIER, Column, Schema
from ..data.schema.dtypes import dtype_name, dtype_of
from ..laws import Laws
from ..sampling import writer_of
from ..sampling.queries import answer, blocks, complete_all, question, together
from ..synthesizer import TabTreeFormer
from ..tokens import TableCodec
from ..tokens.codecs.row_numbers import RowNumbers
from .beside import Balance, Since
from .bounds import Bound
from .copied import Copied
from .kept import Kept
from .margins import Margin
from .plan import TablePlan
from .totals import Total
from .weights import Weight


@dataclass(frozen=True)
class LearnedTable:
    """One table of a fitted database."""

    plan: TablePlan
    model: TabTreeFormer | None
    """None for a table that consists of keys only."""
    given: tuple[str, ...]
    """Extended columns that are known before a row is drawn."""
    keys: TableCodec | None
    dtypes: Mapping[str, str]
    """Dtypes of the foreign keys and of the ordering column, by name."""
    n_rows: int
    n_orphans: int
    last_text: str | None = None
    """The largest value of the ordering column that enough rows reach, as text."""
    margins: Mapping[str, Margin] = field(default_factory=dict)
    """Distribution of the number of children, by extended column."""
    columns: tuple[Name, ...] = ()
    """All columns of the table, including those computed by laws."""
    laws: Laws | None = None
    """For a table with parents: the laws between its own columns."""
    bounds: tuple[Bound, ...] = ()
    """Limits that parents set."""
    totals: tuple[Total, ...] = ()
    """Columns computed from children."""
    copied: tuple[Copied, ...] = ()
    """Columns copied from a parent."""
    balances: tuple[Balance, ...] = ()
    """Running totals."""
    since: tuple[Since, ...] = ()
    """Times relative to a time of the parent."""
    facts: tuple[str, ...] = ()
    """Extended columns with facts about children."""
    weights: tuple[Weight, ...] = ()
    """Shares of children by the values of the rows' columns."""
    kept: Kept | None = None
    """The table itself if it is kept unchanged."""
    forms: tuple[Column, ...] = ()
    """Columns of times and numbers that were given as texts or objects."""

    def write_keys(self, n: int, seed: int, start: int = 0) -> pd.DataFrame:
        """Unique keys for n rows, from row number `start` on."""
        if self.keys is None:
            return pd.DataFrame(index=range(n))
        rng = np.random.default_rng(seed)
        ids = np.zeros((n, len(self.keys.slots)), dtype=np.int64)
        return self.keys.decode(ids, rng, RowNumbers(np.arange(start, start + n), seed))

    def dtype_of(self, column: Any) -> Any:
        """Dtype of a foreign key."""
        return dtype_of(self.dtypes[str(column)])

    @property
    def last(self) -> Any:
        """The largest value of the ordering column that enough rows reach; None where there is no such column."""
        if self.last_text is None:
            return None
        return pd.Series([self.last_text]).astype(self.dtype_of(self.plan.order)).iloc[0]

    def to_json(self) -> dict[str, Any]:
        """Plain data, without the model."""
        return {
            "plan": self.plan.to_json(),
            "given": list(self.given),
            "keys": None if self.keys is None else {"schema": self.keys.schema.to_json(), "codec": self.keys.to_json()},
            "dtypes": dict(self.dtypes),
            "n_rows": self.n_rows,
            "n_orphans": self.n_orphans,
            "last": self.last_text,
            "margins": {name: [list(pair) for pair in margin] for name, margin in self.margins.items()},
            "columns": list(self.columns),
            "laws": None if self.laws is None else _laws_to_json(self.laws),
            "bounds": [bound.to_json() for bound in self.bounds],
            "totals": [total.to_json() for total in self.totals],
            "copied": [copied.to_json() for copied in self.copied],
            "balances": [balance.to_json() for balance in self.balances],
            "since": [since.to_json() for since in self.since],
            "facts": list(self.facts),
            "weights": [weight.to_json() for weight in self.weights],
            "kept": None if self.kept is None else self.kept.to_json(),
            "forms": [column.to_json() for column in self.forms],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], model: TabTreeFormer | None) -> LearnedTable:
        """Inverse of `to_json`."""
        keys = None
        if data["keys"] is not None:
            keys = TableCodec.from_json(data["keys"]["codec"], Schema.from_json(data["keys"]["schema"]))
        laws = data["laws"]
        return cls(
            plan=TablePlan.from_json(data["plan"]),
            model=model,
            given=tuple(data["given"]),
            keys=keys,
            dtypes=dict(data["dtypes"]),
            n_rows=int(data["n_rows"]),
            n_orphans=int(data["n_orphans"]),
            last_text=data["last"],
            margins={name: [(float(a), float(b)) for a, b in margin] for name, margin in data["margins"].items()},
            columns=tuple(data["columns"]),
            laws=None if laws is None else _laws_from_json(laws),
            bounds=tuple(Bound.from_json(bound) for bound in data["bounds"]),
            totals=tuple(Total.from_json(total) for total in data["totals"]),
            copied=tuple(Copied.from_json(copied) for copied in data["copied"]),
            balances=tuple(Balance.from_json(balance) for balance in data["balances"]),
            since=tuple(Since.from_json(since) for since in data["since"]),
            facts=tuple(str(name) for name in data["facts"]),
            weights=tuple(Weight.from_json(weight) for weight in data["weights"]),
            kept=None if data["kept"] is None else Kept.from_json(data["kept"]),
            forms=tuple(Column.from_json(column) for column in data["forms"]),
        )


def _laws_to_json(laws: Laws) -> dict[str, Any]:
    return {"schema": laws.schema.to_json(), "laws": laws.to_json(), "given": list(laws.given)}


def _laws_from_json(data: Mapping[str, Any]) -> Laws:
    schema = Schema.from_json(data["schema"])
    return replace(Laws.from_json(data["laws"], schema), given=tuple(data["given"]))


def completed(
    model: TabTreeFormer,
    partial: pd.DataFrame,
    context: tuple[str, ...],
    seed: np.random.SeedSequence,
    conditions: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Complete extended rows, given the context columns and conditions on others; values can be missing."""
    fitted = model._check_fitted()
    writer = writer_of(fitted, model._sampling(), seed, lambda n: None)
    return complete_all(fitted, writer, partial, context, given=conditions)


def filled(
    model: TabTreeFormer, partial: pd.DataFrame, context: tuple[str, ...], seed: np.random.SeedSequence
) -> pd.DataFrame:
    """Complete extended rows without missing values, except in the context."""
    fitted = model._check_fitted()
    writer = writer_of(fitted, model._sampling(), seed, lambda n: None)
    return complete_all(fitted, writer, partial, context, fill=True)


def free_rows(
    model: TabTreeFormer, n: int, conditions: Mapping[str, Any], seed: np.random.SeedSequence
) -> pd.DataFrame:
    """Extended rows of a table without parents, all of which meet the conditions."""
    fitted = model._check_fitted()
    writer = writer_of(fitted, model._sampling(), seed, lambda n: None)
    if fitted.forest is not None and not conditions:
        # Draw exactly n rows: their shares are closer to the learned ones than those of a part of a larger block.
        return complete_all(fitted, writer, pd.DataFrame(index=range(n)), ())
    asked = question(fitted, n, dict(conditions) or None, None, None, None)
    return together([answer(asked, writer, part) for part in blocks(n)])


def learn_keys(table: pd.DataFrame, schema: Schema, plan: TablePlan, config: TokenConfig) -> TableCodec | None:
    """How new keys of a table are written."""
    if not plan.keys:
        return None
    columns = [schema.column(name) for name in plan.keys]
    own = tuple(column if column.kind == IDENTIFIER else column.with_kind(IDENTIFIER) for column in columns)
    return TableCodec.learn(table[list(plan.keys)], replace(schema, columns=own, constraints=None), config)


def last_supported(values: pd.Series, floor: int) -> str:
    """The largest value that at least `floor` rows reach, as text."""
    ordered = values.sort_values(ascending=False)
    return str(ordered.iloc[min(max(floor, 1), len(ordered)) - 1])


def pointing_dtypes(table: pd.DataFrame, plan: TablePlan) -> dict[str, str]:
    """Dtypes of the columns that are not learned directly."""
    pointing = [column for link in plan.links() for column in link.columns]
    ordering = [] if plan.order is None else [plan.order]
    return {str(column): dtype_name(table[column].dtype) for column in (*pointing, *ordering)}
