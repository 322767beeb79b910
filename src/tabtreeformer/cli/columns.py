"""What the columns of a table are, by the table itself and by the options of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from ..schema import Schema


def describe(df: pd.DataFrame, target: str | None, categorical: list[str] | None) -> Schema:
    """What the columns are, with those that the user calls categorical."""
    from ..schema import CATEGORICAL, Schema

    schema = Schema.infer(df, target)
    for name in categorical or ():
        schema = schema.with_kind(name, CATEGORICAL)
    return schema
