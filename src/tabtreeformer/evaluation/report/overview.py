"""What a reader looks for first: sample rows, statistics of each column, and the pairs of columns that matter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..encoding import MISSING, Feature, Table

N_SAMPLES = 5
"""Rows of each table that are shown side by side."""
N_PAIRS = 8
"""Pairs of columns that are listed, by strength and by difference."""
MAX_TEXT = 40
"""Characters of a cell that are shown."""


def samples(train: pd.DataFrame, synthetic: pd.DataFrame, *, show_rows: bool) -> list[dict[str, Any]]:
    """Return some rows of both tables as text, column by column; no real rows without `show_rows`."""
    frames = {"real": train, "synthetic": synthetic} if show_rows else {"synthetic": synthetic}
    drawn = {side: frame.sample(min(N_SAMPLES, len(frame)), random_state=0) for side, frame in frames.items()}
    return [
        {"column": str(name), **{side: [_text(value) for value in rows[name]] for side, rows in drawn.items()}}
        for name in train.columns
        if name in synthetic.columns
    ]


def statistics(real: Table, new: Table) -> list[dict[str, Any]]:
    """Return the statistics of each column in both tables, as text."""
    found = []
    for place, feature in enumerate(real.features):
        describe = _of_codes if feature.categorical else _of_numbers
        sides = [describe(feature, table.columns[place]) for table in (real, new)]
        values = [{"name": name, "real": sides[0][name], "synthetic": sides[1][name]} for name in sides[0]]
        found.append({"column": str(feature.name), "values": values})
    return found


def pairs(associations: Mapping[str, Any] | None) -> dict[str, list[dict[str, Any]]]:
    """Return the pairs whose association differs most between the tables, and the strongest pairs of the real rows."""
    if associations is None:
        return {}
    names, real, new = (associations[key] for key in ("names", "real", "synthetic"))
    every = [
        {"pair": (names[j], names[i]), "real": real[i][j], "synthetic": new[i][j]}
        for i in range(len(names))
        for j in range(i)
    ]
    worst = sorted(every, key=lambda pair: -abs(pair["real"] - pair["synthetic"]))
    return {"worst": worst[:N_PAIRS], "strongest": sorted(every, key=lambda pair: -pair["real"])[:N_PAIRS]}


def _of_numbers(feature: Feature, values: NDArray[np.float64]) -> dict[str, str]:
    there = values[~np.isnan(values)]
    names = ("minimum", "5 %", "median", "95 %", "maximum")
    if not there.size:
        return dict.fromkeys(("mean", "deviation", *names), "–")
    quantiles = np.quantile(there, (0, 0.05, 0.5, 0.95, 1))
    shown = {"mean": _number(feature, there.mean()), "deviation": _span(feature, there.std())}
    return shown | {name: _number(feature, value) for name, value in zip(names, quantiles, strict=True)}


def _of_codes(feature: Feature, codes: NDArray[np.int32]) -> dict[str, str]:
    there = codes[codes != MISSING]
    if not there.size:
        return {"values": "0", "most common": "–"}
    counts = np.bincount(there)
    top = int(counts.argmax())
    label = feature.labels[top - 1] if top <= len(feature.labels) else "?"
    return {"values": f"{(counts > 0).sum():,}", "most common": f"{_text(label)} ({counts[top] / len(codes):.1%})"}


def _number(feature: Feature, value: float) -> str:
    if feature.unit == "time":
        return str(pd.Timestamp(value, unit="s").floor("s"))
    return _span(feature, value)


def _span(feature: Feature, value: float) -> str:
    return str(pd.Timedelta(value, unit="s").floor("s")) if feature.unit else f"{value:,.4g}"


def _text(value: Any) -> str:
    """Return a cell as short text; a missing value is called missing."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "missing"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
