"""A model as a card for a notebook: its settings before fitting; afterwards columns, course of training and verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._runtime.durations import duration
from .._runtime.fragments import FAIR, GOOD, POOR, REAL, SYNTHETIC, card, curves, folded, line, table
from ..artifact.fitted import Fitted
from ..privacy.gate import verdict_lines

MANY = 15
"""Longer lists of columns are folded."""
COLOURS = {"pass": GOOD, "fail": POOR}


def before_fitting(settings: Mapping[str, Any]) -> str:
    """The settings that differ from the defaults."""
    rows = [(name, repr(value)) for name, value in settings.items()]
    shown = table(("setting", "value"), rows) if rows else line("All settings have their defaults.", soft=True)
    return card("TabTreeFormer, not fitted", shown, line("Call fit(df) with a table, or TabTreeFormer.load(path)."))


def after_fitting(fitted: Fitted) -> str:
    """Columns with their kinds, the course of training, the verdict and the size."""
    columns = [
        (str(column.name), column.kind, column.dtype, column.why)
        for column in fitted.schema.columns
    ]  # fmt: skip
    listed = table(("column", "kind", "dtype", "why"), columns)
    laws = [(text,) for text in fitted.codec.laws.announced()]
    parts = [
        line(one_line(fitted), soft=True),
        *_verdict(fitted.record),
        training_curve(fitted.record),
        folded(f"{len(columns)} columns", listed, opened=len(columns) <= MANY),
    ]
    if laws:
        parts.append(folded(f"{len(laws)} law{'' if len(laws) == 1 else 's'}", table(("law",), laws)))
    return card("TabTreeFormer, fitted", *parts)


def one_line(fitted: Fitted) -> str:
    """Rows, columns, preset, size and time."""
    record = fitted.record
    said = [
        f"{record['rows']:,} rows",
        f"{len(fitted.schema.columns)} columns",
        f"preset {record['preset']}",
        _size(fitted),
    ]
    if record.get("target") is not None:
        said.append(f"target {record['target']!r}")
    if record.get("fit_seconds"):
        said.append(f"fitted in {duration(record['fit_seconds'])}")
    return ", ".join(said)


def _size(fitted: Fitted) -> str:
    if fitted.forest is not None:
        return f"{len(fitted.forest.slots):,} trees that write"
    n_parameters = fitted.models[0].n_parameters if fitted.models else 0
    return f"{len(fitted.models)} networks of {n_parameters:,} parameters"


def verdict_word(record: Mapping[str, Any]) -> str:
    """The verdict in a word."""
    return str((record.get("privacy") or {}).get("verdict") or "not judged")


def _verdict(record: Mapping[str, Any]) -> list[str]:
    lines = verdict_lines(record)
    if not lines:
        return [line("privacy verdict: none, privacy was off", colour=FAIR)]
    return [line(lines[0], colour=COLOURS.get(verdict_word(record), FAIR)), *(line(text) for text in lines[1:])]


def training_curve(record: Mapping[str, Any]) -> str:
    """Losses of the first network by step; empty for a model without steps."""
    validations: list[Any] = next((run["validations"] for run in record["training"] if len(run["validations"]) > 1), [])
    trained, valid = ([(float(v[0]), float(v[place])) for v in validations if v[place] == v[place]] for place in (1, 2))
    if len(valid) < 2:
        return ""
    return curves((("training loss", REAL, trained), ("validation loss", SYNTHETIC, valid)))
