"""Prepares given tables: checks them, finds links, handles dangling keys, splits a table with groups in two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .._runtime.progress import Progress
from ..data.link_search import search_links
from ..data.links import Link, Name, dangling, parse_link
from ..errors import ConfigError, SchemaError
from .rows import can_be_missing

GROUPS, ROWS = "groups", "rows"
"""Names of the two tables into which a table with a group column is split."""


@dataclass(frozen=True)
class Sequences:
    """A table with groups of rows: its group column, and all columns in order."""

    group: Name
    columns: tuple[Name, ...]
    constant: tuple[Name, ...] = ()
    """Columns that are constant within each group."""

    def joined(self, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        """Join the two tables."""
        merged = tables[ROWS].merge(tables[GROUPS], on=self.group, how="left", validate="many_to_one")
        return merged[list(self.columns)]

    def joined_pieces(self, pieces: Iterable[tuple[str, pd.DataFrame]]) -> Iterator[pd.DataFrame]:
        """Join the two tables in pieces; the groups come before their rows."""
        groups = pd.DataFrame()
        for name, piece in pieces:
            if name == GROUPS:
                groups = piece
            else:
                yield self.joined({GROUPS: groups, ROWS: piece})

    def parted(self, frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Split a table with these columns in two."""
        absent = [name for name in self.columns if name not in frame.columns]
        if absent:
            raise SchemaError(f"the table lacks the column {absent[0]!r}")
        known = frame[[self.group, *self.constant]]
        first = known.groupby(self.group, sort=False, as_index=False).first()  # the first that is not missing
        return {GROUPS: first[list(known.columns)], ROWS: frame.drop(columns=list(self.constant))}

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"group": self.group, "columns": list(self.columns), "constant": list(self.constant)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Sequences:
        """Inverse of `to_json`."""
        return cls(data["group"], tuple(data["columns"]), tuple(data["constant"]))


def as_names(keep: Sequence[str]) -> tuple[str, ...]:
    """Names of tables; a single string is an error, because its letters would be read as names."""
    if isinstance(keep, str) or not all(isinstance(name, str) for name in keep):
        raise ConfigError(f"keep takes a list of table names, e.g. ['countries'], got {keep!r}")
    return tuple(keep)


def check_tables(frames: Mapping[str, pd.DataFrame]) -> None:
    """Refuse anything that is not a table, and tables without rows."""
    if not frames:
        raise ConfigError("there are no tables")
    for name, frame in frames.items():
        if not isinstance(frame, pd.DataFrame):
            raise ConfigError(f"table {name!r} must be a DataFrame, got {type(frame).__name__}")
        if not len(frame):
            raise SchemaError(f"table {name!r} has no rows; leave it out")
        if "." in name:
            raise SchemaError(f"the name of table {name!r} has a dot; rename it")


def chosen_links(
    frames: Mapping[str, pd.DataFrame], links: Sequence[str | Link] | None, progress: Progress
) -> list[Link]:
    """The given links, or the detected ones with their reasons."""
    if links is not None:
        return [link if isinstance(link, Link) else parse_link(link, frames) for link in links]
    found = search_links(frames)
    for link in found.links:
        progress.note(f"link found: {link.text} ({link.why})")
    for link in found.left_out:
        progress.note(f"link dropped, because tables would form a cycle: {link.text}")
    return found.links


def without_dangling(
    frames: Mapping[str, pd.DataFrame], links: Sequence[Link], treatment: str, progress: Progress
) -> dict[str, pd.DataFrame]:
    """The tables with dangling keys set to missing if requested; otherwise dangling keys are an error."""
    kept = dict(frames)
    for link in links:
        nowhere = dangling(kept, link)
        if not nowhere.any():
            continue
        example = kept[link.child].loc[nowhere, list(link.columns)].iloc[0].tolist()
        if treatment == "error":
            raise SchemaError(
                f"link {link.text!r}: {int(nowhere.sum()):,} rows of {link.child!r} have a key without a matching "
                f"row, e.g. {example}; clean them, or learn them as missing with dangling='missing'"
            )
        progress.note(f"{link.text}: {int(nowhere.sum()):,} keys without a matching row are learned as missing")
        frame = kept[link.child].copy()
        for column in link.columns:
            frame[column] = can_be_missing(frame[column]).mask(nowhere)
        kept[link.child] = frame
    return kept


def as_two_tables(
    frame: Any, group: Name, order: Any
) -> tuple[Sequences, dict[str, pd.DataFrame], list[Link], dict[str, Name]]:
    """Split a table with groups in two: the constants of each group, and its rows."""
    if not isinstance(frame, pd.DataFrame) or group not in frame.columns:
        raise SchemaError(f"there is no column {group!r} to group by")
    if frame[group].isna().any():
        raise SchemaError(f"column {group!r} has missing values; every row must belong to a group")
    if order is not None and order not in frame.columns:
        raise SchemaError(f"there is no column {order!r} to order by")
    if order is not None and frame[order].isna().any():
        raise SchemaError(f"column {order!r} has missing values and cannot order rows; fill them or drop the rows")
    grouped = frame.groupby(group, sort=False)
    varying = grouped.nunique(dropna=False)
    constant: list[Name] = []
    if grouped.size().max() > 1:
        constant = [c for c in frame.columns if c not in (group, order) and bool((varying[c] <= 1).all())]
    parents = frame.drop_duplicates(group)[[group, *constant]].reset_index(drop=True)
    tables = {GROUPS: parents, ROWS: frame.drop(columns=constant)}
    link = Link(ROWS, (group,), GROUPS, (group,))
    return (
        Sequences(group, tuple(frame.columns), tuple(constant)),
        tables,
        [link],
        {} if order is None else {ROWS: order},
    )
