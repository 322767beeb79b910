"""The schema of a table, inferred from it and adjusted by the options of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from ..data.schema import Schema
    from .options import ColumnOptions


def describe(df: pd.DataFrame, target: str | None, options: ColumnOptions) -> Schema:
    """Return the schema of a file or the inferred one, with the columns that the user declares categorical."""
    from ..data.schema import Schema

    schema = Schema.infer(df, target) if options.schema_file is None else Schema.load(options.schema_file).matched(df)
    return with_categories(schema, options.categorical)


def public_schema(options: ColumnOptions) -> Schema | None:
    """Return the schema exactly as the file has it: under differential privacy it must not depend on the rows."""
    from ..data.schema import Schema

    if options.schema_file is None:
        return None
    return with_categories(Schema.load(options.schema_file), options.categorical)


def with_categories(schema: Schema, names: list[str] | None) -> Schema:
    """Return the schema with these columns categorical."""
    from ..data.schema import CATEGORICAL

    for name in names or ():
        schema = schema.with_kind(name, CATEGORICAL)
    return schema
