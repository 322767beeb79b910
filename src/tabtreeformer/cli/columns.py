"""What the columns of a table are, by the table itself and by the options of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from ..schema import Schema


def describe(
    df: pd.DataFrame, target: str | None, categorical: list[str] | None, schema_file: Path | None = None
) -> Schema:
    """What the columns are: as a file says or as inferred, with those that the user calls categorical."""
    from ..schema import CATEGORICAL, Schema

    schema = Schema.infer(df, target) if schema_file is None else Schema.load(schema_file).matched(df)
    for name in categorical or ():
        schema = schema.with_kind(name, CATEGORICAL)
    return schema
