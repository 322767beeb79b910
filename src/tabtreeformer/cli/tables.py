"""Tables in files: CSV and Parquet, chosen by the ending."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import OutputError, SchemaError, import_extra
from ..files import replacing

if TYPE_CHECKING:
    import pandas as pd

    from ..schema import Schema

CSV, PARQUET = (".csv", ".csv.gz"), (".parquet", ".pq")


def read_table(path: Path) -> pd.DataFrame:
    """Read a table; what is not one gets an error that names the file."""
    import pandas as pd

    if not path.is_file():
        raise SchemaError(f"there is no file {path}")
    form = _form(path, SchemaError)
    try:
        if form == "parquet":
            import_extra("pyarrow", "parquet")
            return pd.read_parquet(path)
        _refuse_twice(path)
        return pd.read_csv(path)
    except pd.errors.EmptyDataError as error:
        raise SchemaError(f"{path} is empty") from error
    except (pd.errors.ParserError, UnicodeDecodeError, OSError, ValueError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(f"{path} cannot be read as {form}: {error}") from error


def write_table(df: pd.DataFrame, path: Path) -> None:
    """Write a table, whole or not at all."""
    form = _form(path, OutputError)
    with replacing(path) as temporary:
        if form == "parquet":
            df.to_parquet(temporary, index=False)
        else:
            df.to_csv(temporary, index=False, compression="gzip" if path.name.lower().endswith(".gz") else None)


def check_form(path: Path) -> None:
    """Say early that a file's ending is not one that can be written, or that its extra is missing."""
    if _form(path, OutputError) == "parquet":
        import_extra("pyarrow", "parquet")


def _form(path: Path, error: type[SchemaError] | type[OutputError]) -> str:
    name = path.name.lower()
    if name.endswith(CSV):
        return "csv"
    if name.endswith(PARQUET):
        return "parquet"
    raise error(f"{path}: the ending must be one of {', '.join(CSV + PARQUET)}")


def _refuse_twice(path: Path) -> None:
    """A name that stands twice in the header; pandas would rename the second without a word."""
    import pandas as pd

    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0]
    twice = header[header.duplicated()]
    if len(twice):
        raise SchemaError(f"{path}: column name {twice.iloc[0]!r} stands more than once; rename the columns")


def describe(
    df: pd.DataFrame, target: str | None, categorical: list[str] | None, schema_file: Path | None = None
) -> Schema:
    """What the columns are: as a file says or as inferred, with those that the user calls categorical."""
    from ..schema import CATEGORICAL, Schema

    schema = Schema.infer(df, target) if schema_file is None else Schema.load(schema_file).matched(df)
    for name in categorical or ():
        schema = schema.with_kind(name, CATEGORICAL)
    return schema
