"""JSON lines: one object per line; an absent key is a missing value."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from ..._runtime.files import replacing
from ...errors import OutputError, SchemaError
from .columns import from_rows
from .location import Place, TableOptions, check_names
from .streams import find_encoding, open_text, write_text


def read_jsonl(place: Place, options: TableOptions) -> pd.DataFrame:
    """Read one object per line; text that looks like a number stays text, because JSON distinguishes the two."""
    assert place.path is not None
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    parse = _parser(place)
    with open_text(place.path, find_encoding(place.path, options.encoding)) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            row = parse(line, number)
            for name, value in row.items():
                known = columns.setdefault(name, [])
                known.extend([None] * (n_rows - len(known)))
                known.append(value)
            n_rows += 1
    if not n_rows:
        raise SchemaError(f"{place.name} is empty")
    for values in columns.values():
        values.extend([None] * (n_rows - len(values)))
    return from_rows(list(columns), list(columns.values()))


def write_jsonl(df: pd.DataFrame, place: Place, options: TableOptions) -> None:
    """Write one object per line, dates as ISO 8601."""
    assert place.path is not None
    names = [str(name) for name in df.columns]
    columns = [_plain(df.iloc[:, j]) for j in range(df.shape[1])]
    with (
        replacing(place.path) as temporary,
        write_text(temporary, place.name, options.encoding or "utf-8") as stream,
    ):
        encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
        try:
            for row in zip(*columns, strict=True):
                stream.write(encode(dict(zip(names, row, strict=True))) + "\n")
        except (TypeError, ValueError) as error:
            raise OutputError(f"cannot write {place.name}: {error}") from error


def _plain(series: pd.Series) -> list[Any]:
    """Values as JSON represents them: numbers with all their digits, dates as ISO 8601, missing values as null."""
    values = series.astype(object).where(series.notna(), None).tolist()
    return [v.isoformat() if hasattr(v, "isoformat") else v.item() if isinstance(v, np.generic) else v for v in values]


def _parser(place: Place) -> Callable[[str, int], dict[str, Any]]:
    """A function that takes a line and its number."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(items)
        if len(row) < len(items):
            check_names(place, [name for name, _ in items])
        return row

    decode = json.JSONDecoder(object_pairs_hook=pairs).decode

    def parse(line: str, number: int) -> dict[str, Any]:
        try:
            row = decode(line)
        except json.JSONDecodeError as error:
            fault = f"is not JSON: {error.msg} at character {error.pos + 1}"
            raise SchemaError(f"{place.name}, line {number} {fault}") from error
        except RecursionError as error:
            raise SchemaError(f"{place.name}, line {number} is nested too deeply") from error
        if not isinstance(row, dict):
            fault = f'is a {type(row).__name__}; each line must be an object, e.g. {{"age": 31}}'
            raise SchemaError(f"{place.name}, line {number} {fault}")
        return row

    return parse
