"""JSON lines: one object a line; a key that a line lacks is a missing value."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from ..errors import OutputError, SchemaError
from ..files import replacing
from .columns import from_rows
from .place import Place, TableOptions, check_names
from .streams import find_encoding, open_text, write_text


def read_jsonl(place: Place, options: TableOptions) -> pd.DataFrame:
    """Read an object a line; text that looks like a number stays text, since JSON says which is which."""
    assert place.path is not None
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    with open_text(place.path, find_encoding(place.path, options.encoding)) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            row = _parse(line, f"{place.name}, line {number}", place)
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
    """Write an object a line, dates as ISO 8601."""
    assert place.path is not None
    names = [str(name) for name in df.columns]
    columns = [_plain(df.iloc[:, j]) for j in range(df.shape[1])]
    with (
        replacing(place.path) as temporary,
        write_text(temporary, place.name, options.encoding or "utf-8") as stream,
    ):
        try:
            for row in zip(*columns, strict=True):
                record = dict(zip(names, row, strict=True))
                stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
        except (TypeError, ValueError) as error:
            raise OutputError(f"cannot write {place.name}: {error}") from error


def _plain(series: pd.Series) -> list[Any]:
    """Values as JSON has them: numbers with all their digits, dates as ISO 8601, gaps as null."""
    values = series.astype(object).where(series.notna(), None).tolist()
    return [v.isoformat() if hasattr(v, "isoformat") else v.item() if isinstance(v, np.generic) else v for v in values]


def _parse(line: str, where: str, place: Place) -> dict[str, Any]:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        check_names(place, [name for name, _ in items])
        return dict(items)

    try:
        row = json.loads(line, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise SchemaError(f"{where} is not JSON: {error.msg} at character {error.pos + 1}") from error
    except RecursionError as error:
        raise SchemaError(f"{where} is nested too deeply") from error
    if not isinstance(row, dict):
        raise SchemaError(f'{where} is a {type(row).__name__}; each line must be an object, as {{"age": 31}}')
    return row
