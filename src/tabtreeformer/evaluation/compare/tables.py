"""Tables to compare generators on: complete rows of numbers and labels, split the same way for all generators."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...data.schema import Schema
from ...data.schema.kinds import LABELLED, MEASURED
from ...errors import ConfigError, SchemaError

TEST_SHARE = 5
"""One row in this many is held out."""


@dataclass(frozen=True)
class Table:
    """Rows without gaps; columns are numbers or labels, which all generators can take."""

    name: str
    frame: pd.DataFrame
    target: str
    notes: tuple[str, ...] = ()
    """What was left out on the way here."""

    def split(self, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Training rows and held-out rows, four to one, by the seed."""
        order = np.random.default_rng(seed).permutation(len(self.frame))
        n_test = len(self.frame) // TEST_SHARE
        parts = (self.frame.iloc[rows].reset_index(drop=True) for rows in (order[n_test:], order[:n_test]))
        train, test = parts
        return train, test

    def plan(self) -> dict[str, Any]:
        """Return what a generator knows about the columns."""
        columns = []
        for name in self.frame.columns:
            values = self.frame[name]
            numeric = pd.api.types.is_numeric_dtype(values.dtype)
            integer = numeric and bool((values.to_numpy(np.float64) % 1 == 0).all())
            columns.append({"name": name, "kind": "numeric" if numeric else "categorical", "integer": integer})
        task = next(c["kind"] for c in columns if c["name"] == self.target)
        return {
            "target": self.target,
            "task": "regression" if task == "numeric" else "classification",
            "columns": columns,
        }


def from_folder(folder: Path, name: str) -> Table:
    """One of the tables that the folder's `datasets.json` describes, without its incomplete rows."""
    listing = folder / "datasets.json"
    if not listing.exists():
        raise ConfigError(f"there is no {listing}; name the folder that holds the tables and their datasets.json")
    facts = {d["name"]: d for d in json.loads(listing.read_text(encoding="utf-8"))}
    if name not in facts:
        raise ConfigError(f"{listing} describes no table {name!r}; it has {', '.join(facts)}")
    labels = dict.fromkeys(facts[name]["categorical"], str)
    frame = pd.read_csv(folder / facts[name]["file"], dtype=labels)
    return Table(name, frame.dropna(ignore_index=True), facts[name]["target"])


def from_frame(df: pd.DataFrame, target: str, name: str, schema: Schema | None = None) -> Table:
    """A user's table: dates and durations become numbers; keys, texts and constants are dropped."""
    schema = schema or Schema.infer(df, target)
    notes, columns = [], {}
    complete = df.dropna(ignore_index=True)
    if len(complete) < len(df):
        notes.append(f"{len(df) - len(complete):,} of {len(df):,} rows have gaps and are left out")
    if len(complete) < 10:
        raise SchemaError(f"only {len(complete)} rows have no gaps; at least 10 are needed, so fill the gaps first")
    for column in schema.columns:
        series = complete[column.name]
        if column.kind in MEASURED:
            columns[str(column.name)] = np.asarray(column.read(series), dtype=np.float64)
        elif column.kind in LABELLED:
            columns[str(column.name)] = series.astype(str).to_numpy(dtype=object)
        else:
            notes.append(f"column {column.name!r} is {column.kind} and is left out")
    frame = pd.DataFrame(columns)
    for column_name in frame.columns:
        values = frame[column_name]
        if pd.api.types.is_float_dtype(values.dtype) and (values % 1 == 0).all() and values.abs().max() < 2**53:
            frame[column_name] = values.astype("int64")
    if target not in frame.columns:
        raise SchemaError(f"the target {target!r} is {schema.column(target).kind}; choose a number or a label")
    return Table(name, frame, target, tuple(notes))
