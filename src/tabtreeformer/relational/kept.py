"""Tables that are kept unchanged: countries, products, circuits, whose rows are public and not about people.

Every new database contains all of their rows and keys. The number of linked rows of each is learned; rows with linked
rows of fewer units than the floor get the average of such rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..data.links import Name
from ..data.schema.dtypes import dtype_name, dtype_of
from ..errors import ConfigError, SchemaError
from .plan import TablePlan
from .rows import Ints, can_be_missing

MAX_KEPT = 100_000
"""Maximum rows of a kept table."""


@dataclass(frozen=True)
class Kept:
    """An unchanged table, and the facts about its rows' children."""

    table: pd.DataFrame
    facts: pd.DataFrame

    def rows(self, real: pd.DataFrame | None, plan: TablePlan) -> Kept:
        """All rows, or those with given keys."""
        if real is None:
            return self
        keys = list(plan.keys)
        missing = [name for name in keys if name not in real.columns]
        if missing:
            raise SchemaError(f"given rows of {plan.name!r} lack the column {missing[0]!r}")
        numbers = pd.MultiIndex.from_frame(self.table[keys]).get_indexer(pd.MultiIndex.from_frame(real[keys]))
        if (numbers < 0).any():
            example = real[keys].iloc[int(np.argmax(numbers < 0))].tolist()
            raise SchemaError(f"table {plan.name!r} is kept unchanged and has no row with the key {example}")
        taken = self.table.take(numbers).reset_index(drop=True)
        return Kept(taken, self.facts.take(numbers).reset_index(drop=True))

    def extended(self, plan: TablePlan, counts: Sequence[str], scale: float, rng: np.random.Generator) -> pd.DataFrame:
        """Extended rows, with numbers of children scaled to another size."""
        own = self.table[list(plan.own)].set_axis([str(name) for name in plan.own], axis=1).reset_index(drop=True)
        facts = self.facts.assign(**{name: scaled(self.facts[name], scale, rng) for name in counts})
        return pd.concat([facts, own], axis=1)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"table": _to_json(self.table), "facts": _to_json(self.facts)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Kept:
        """Inverse of `to_json`."""
        return cls(_from_json(data["table"]), _from_json(data["facts"]))


def check_kept(keep: Sequence[str], plans: Mapping[str, TablePlan], sizes: Mapping[str, int], unit: str | None) -> None:
    """Refuse tables that cannot be kept."""
    for name in keep:
        if name not in plans:
            raise ConfigError(f"keep names a table {name!r}; there are {', '.join(map(repr, plans))}")
        if plans[name].main is not None:
            parent = plans[name].main.parent  # type: ignore[union-attr]
            raise ConfigError(f"table {name!r} has the parent {parent!r} and cannot be kept unchanged")
        if name == unit:
            raise ConfigError(f"the rows of {name!r} are protected (unit) and cannot be kept unchanged")
        if sizes[name] > MAX_KEPT:
            raise ConfigError(f"table {name!r} has {sizes[name]:,} rows; at most {MAX_KEPT:,} can be kept unchanged")


def keep_table(table: pd.DataFrame, facts: pd.DataFrame, supports: Mapping[str, Ints], floor: int) -> Kept:
    """A table with the facts about its rows' children, as far as enough units support them.

    `supports` has the number of units with children of each row, by column of the facts. If fewer units than the floor
    support a fact, at least `floor` rows share their mean.
    """
    shown = {}
    for name, support in supports.items():
        values = facts[name]
        few = int(((support < floor) & (support > 0)).sum())
        if floor > 1 and few:
            values = can_be_missing(values).copy()
            # Merged with the next ones, so that there are enough.
            by_support = np.argsort(np.where(support > 0, support, np.iinfo(np.int64).max), kind="stable")
            chosen = by_support[: max(few, min(floor, int((support > 0).sum())))]
            chosen = chosen[np.argsort(values.iloc[chosen].to_numpy(), kind="stable")]
            for alike in np.array_split(chosen, max(len(chosen) // floor, 1)):
                values.iloc[alike] = values.iloc[alike].mean()
        shown[name] = values
    return Kept(table.reset_index(drop=True), pd.DataFrame(shown, index=range(len(table))))


def scaled(counts: pd.Series, scale: float, rng: np.random.Generator) -> pd.Series:
    """Numbers of children times the scale, rounded up or down so that the sum is right."""
    ends = np.cumsum(counts.to_numpy(dtype=np.float64) * scale)
    shifted = np.floor(np.concatenate([[0.0], ends]) + rng.random() * 0.999)
    return pd.Series(np.diff(shifted).astype(np.int64), index=counts.index, name=counts.name)


def _to_json(frame: pd.DataFrame) -> dict[str, Any]:
    columns = []
    for name in frame.columns:
        values = frame[name]
        plain = values.astype(object).where(values.notna(), None).tolist()
        columns.append([name, dtype_name(values.dtype), [_plain(value) for value in plain]])
    return {"rows": len(frame), "columns": columns}


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def _from_json(data: Mapping[str, Any]) -> pd.DataFrame:
    columns: dict[Name, pd.Series] = {}
    for name, dtype, values in data["columns"]:
        if len(values) != data["rows"] or not all(_plain(value) is value for value in values):
            raise SchemaError("a kept table is damaged")
        columns[name] = pd.Series(values, dtype=object).astype(dtype_of(dtype))
    return pd.DataFrame(columns, index=range(int(data["rows"])))
