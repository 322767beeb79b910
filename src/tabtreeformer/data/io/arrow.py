"""Parquet and Feather, and lossless conversion between Arrow tables and pandas (extra `parquet`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from ..._runtime.files import replacing
from ...errors import OutputError, SchemaError, import_extra
from .location import Place, TableOptions, check_names

NULLABLE = {
    "int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64",
    "uint8": "UInt8", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "bool": "boolean",
}  # fmt: skip
"""Nullable pandas dtypes for integers and booleans."""


def read_parquet(place: Place, options: TableOptions) -> pd.DataFrame:
    """Read this one Parquet file; no folder is searched for further parts."""
    import_extra("pyarrow", "parquet")
    import pyarrow.parquet as parquet

    return _read(place, "parquet", lambda path: parquet.ParquetFile(path).read())


def read_feather(place: Place, options: TableOptions) -> pd.DataFrame:
    """Read a Feather file."""
    import_extra("pyarrow", "parquet")
    import pyarrow.feather as feather

    return _read(place, "feather", lambda path: feather.read_table(path, memory_map=False))


def write_parquet(df: pd.DataFrame, place: Place, options: TableOptions) -> None:
    """Write a Parquet file."""
    _write(place, lambda path: df.to_parquet(path, index=False))


def write_feather(df: pd.DataFrame, place: Place, options: TableOptions) -> None:
    """Write a Feather file."""
    _write(place, lambda path: df.reset_index(drop=True).to_feather(path))


def to_pandas(table: Any) -> pd.DataFrame:
    """Turn an Arrow table into a DataFrame; integers and booleans keep their type even with missing values."""
    import pyarrow.types as types

    frame = table.to_pandas(date_as_object=False)
    fields = {f.name: f for f in table.schema}
    for place, name in enumerate(frame.columns):
        field = fields.get(str(name))
        if field is None:
            continue
        values = table.column(field.name)
        plain = NULLABLE.get(str(field.type))
        if types.is_decimal(field.type):
            series = _from_decimals(values, field.type)
        elif plain and values.null_count and not isinstance(frame.dtypes.iloc[place], pd.api.extensions.ExtensionDtype):
            dtype = pd.api.types.pandas_dtype(plain)
            series = values.to_pandas(types_mapper={field.type: dtype}.get)
        else:
            continue
        series.index = frame.index
        frame.isetitem(place, series)
    return frame


def from_pandas(df: pd.DataFrame, schema: Any = None) -> Any:
    """Make an Arrow table, with exactly the given types if there are any."""
    import pyarrow as pa

    if schema is None:
        return pa.Table.from_pandas(df, preserve_index=False)
    arrays = [_array(pa, df.iloc[:, place], field.type) for place, field in enumerate(schema)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(pa: Any, series: pd.Series, kind: Any) -> Any:
    if isinstance(series.dtype, pd.CategoricalDtype) and not pa.types.is_dictionary(kind):
        series = series.astype(series.cat.categories.dtype)
    values = pa.array(series, from_pandas=True)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(kind):
        return _encoded(pa, values, kind)
    if pa.types.is_decimal(kind):  # the nearest decimal, not the digits of the binary number
        values = pa.compute.round(values.cast(pa.float64()), kind.scale) if kind.scale > 0 else values
    return values.cast(kind, safe=False)


def _encoded(pa: Any, values: Any, kind: Any) -> Any:
    if not pa.types.is_dictionary(values.type):
        return values.cast(kind.value_type).dictionary_encode().cast(kind)
    words = values.dictionary.cast(kind.value_type)
    return pa.DictionaryArray.from_arrays(values.indices.cast(kind.index_type), words, ordered=kind.ordered)


def _from_decimals(values: Any, kind: Any) -> pd.Series:
    """Exact decimals as integers if they are whole and fit, otherwise as the nearest floats."""
    import pyarrow as pa

    if kind.scale <= 0:
        try:
            whole = values.cast(pa.int64())
        except pa.ArrowInvalid:
            pass
        else:
            mapper = {pa.int64(): pd.Int64Dtype()}.get if whole.null_count else None
            return whole.to_pandas(types_mapper=mapper)
    return values.cast(pa.float64()).to_pandas()


def _read(place: Place, form: str, read: Callable[[Any], Any]) -> pd.DataFrame:
    import pyarrow as pa

    try:
        table = read(place.path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise SchemaError(
            f"{place.name} cannot be read as {form}: it is damaged, cut off or of another kind ({error})"
        ) from error
    check_names(place, table.schema.names)
    return to_pandas(table)


def _write(place: Place, write: Callable[[Any], None]) -> None:
    assert place.path is not None
    import pyarrow as pa

    with replacing(place.path) as temporary:
        try:
            write(temporary)
        except (pa.ArrowException, ValueError) as error:
            raise OutputError(f"cannot write {place.name}: {'; '.join(str(a) for a in error.args)}") from error
