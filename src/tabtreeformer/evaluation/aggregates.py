"""Parents with aggregates of their children: one row per parent, which any measure of tables can compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..data.links import Link, Tables, parent_numbers
from ..data.schema import MEASURED, Schema

SUMMARIES = ("mean", "min", "max", "std")


def aggregated(
    tables: Tables,
    links: Sequence[Link],
    schemas: Mapping[str, Schema],
    own: Mapping[str, Sequence[Any]],
    name: str,
    *,
    whole: bool = False,
) -> pd.DataFrame:
    """The table's columns and, per link to it, the number of children, means of numbers and counts of distinct labels.

    These are the aggregates of SyntheRela's C2ST-Agg. `whole` adds the minimum, the maximum and the spread of numbers
    and times: enough to recognise a person by.
    """
    table = tables[name]
    parts = [table[list(own[name])].reset_index(drop=True).set_axis([str(c) for c in own[name]], axis=1)]
    for link in links:
        if link.parent != name:
            continue
        parents = parent_numbers(tables[link.child], table, link)
        prefix = f"{link.child} by {'+'.join(map(str, link.columns))}"
        counts = np.bincount(parents[parents >= 0], minlength=len(table))
        parts.append(pd.DataFrame({f"{prefix}: number": counts}))
        children = tables[link.child].reset_index(drop=True)[parents >= 0]
        groups = parents[parents >= 0]
        facts = {}
        for column in own[link.child]:
            kind = schemas[link.child].column(column).kind
            for how, values in _facts(children[column], kind, groups, whole=whole).items():
                facts[f"{prefix}: {how} {column}"] = values.reindex(range(len(table)))
        parts.append(pd.DataFrame(facts, index=range(len(table))))
    return pd.concat(parts, axis=1)


def _facts(values: pd.Series, kind: str, groups: Any, *, whole: bool) -> dict[str, pd.Series]:
    if kind in MEASURED:
        numbers = in_numbers(values)
        grouped = numbers.groupby(groups)
        return {how: grouped.agg(how) for how in (SUMMARIES if whole else SUMMARIES[:1])}
    return {"different": values.groupby(groups).nunique().astype(np.float64)}


def in_numbers(values: pd.Series) -> pd.Series:
    """Numbers as they are, times and durations in days."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        naive = values.dt.tz_localize(None) if getattr(values.dt, "tz", None) is not None else values
        return (naive - pd.Timestamp(0)) / pd.Timedelta(days=1)
    if pd.api.types.is_timedelta64_dtype(values.dtype):
        return values / pd.Timedelta(days=1)
    return pd.to_numeric(values, errors="coerce").astype(np.float64)


def own_columns(tables: Tables, links: Sequence[Link]) -> dict[str, list[Any]]:
    """Columns that are not keys, by table."""
    keys = {(link.parent, column) for link in links for column in link.key}
    keys |= {(link.child, column) for link in links for column in link.columns}
    return {name: [c for c in frame.columns if (name, c) not in keys] for name, frame in tables.items()}
