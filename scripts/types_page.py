"""Writes the table of docs/types.md: every dtype in and out. A test runs it too: the page cannot drift from the code.

python scripts/types_page.py
"""

from __future__ import annotations

import datetime
import decimal
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from tabtreeformer import Schema
from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.tokens import TableCodec

PAGE = Path(__file__).parents[1] / "docs" / "types.md"
N = 60
"""Rows of each example."""

MARK = "## Every dtype\n"
"""What stands before it is written by hand."""


def examples() -> dict[str, pd.Series]:
    """One column of each dtype, most with gaps."""
    rng = np.random.default_rng(0)
    few = rng.integers(0, 100, N)
    gap = rng.random(N) < 0.25
    gap[:2] = False, True
    days = pd.Series(pd.Timestamp("2021-03-01") + pd.to_timedelta(few, unit="D"))
    columns: dict[str, pd.Series] = {}
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        columns[name] = pd.Series(few, dtype=name)
    for name in ("float16", "float32", "float64"):
        columns[name] = pd.Series(few / 4).astype(name).mask(gap)
    for name in ("Int8", "Int64", "UInt64", "Float32", "Float64"):
        columns[name] = pd.Series(few).astype(name).mask(gap)
    flags = pd.Series(few > 50)
    columns |= {"bool": flags, "boolean": flags.astype("boolean").mask(gap), "object of bool": _objects(flags, gap)}
    letters = pd.Series([f"type {c}" for c in rng.choice(list("abc"), N)], dtype=object)
    columns |= {"str": letters.astype("str").mask(gap), "object of str": _objects(letters, gap)}
    columns |= {name: letters.astype(name).mask(gap) for name in ("string[python]", "string[pyarrow]")}
    columns["object, mixed"] = pd.Series([["a", 1, 2.5][i % 3] for i in few], dtype=object)
    columns["object of int"] = _objects(pd.Series(few), gap)
    order = ["type c", "type b", "type a", "unused"]
    columns["category"] = pd.Series(pd.Categorical(letters, categories=order, ordered=True)).mask(gap)
    columns["category of int"] = pd.Series(pd.Categorical(few % 5)).mask(gap)
    for unit in ("s", "ms", "us", "ns"):
        columns[f"datetime64[{unit}]"] = days.astype(f"datetime64[{unit}]").mask(gap)
    local = (days + pd.Timedelta(9, "h")).dt.tz_localize("Europe/Berlin").mask(gap)
    columns["datetime64[us, Europe/Berlin]"] = local.astype("datetime64[us, Europe/Berlin]")
    for unit in ("s", "ns"):
        columns[f"timedelta64[{unit}]"] = (
            pd.Series(pd.to_timedelta(few, unit="min")).astype(f"timedelta64[{unit}]").mask(gap)
        )
    columns["object of date"] = _objects(pd.Series([day.date() for day in days], dtype=object), gap)
    columns["object of Decimal"] = _objects(pd.Series([decimal.Decimal(int(i)) / 4 for i in few], dtype=object), gap)
    for kind, values in _arrow(few, letters, days).items():
        columns[f"Arrow {kind}"] = pd.Series(values, dtype=pd.ArrowDtype(kind)).mask(gap)
    columns |= _written_as_text(few, days, rng)
    columns |= {"one value": pd.Series(["x"] * N, dtype=object), "no value": pd.Series([None] * N, dtype="float64")}
    return columns


def _objects(series: pd.Series, gap: np.ndarray) -> pd.Series:
    values = np.array(series.tolist(), dtype=object)
    values[gap] = None
    return pd.Series(values, dtype=object)


def _arrow(few: np.ndarray, letters: pd.Series, days: pd.Series) -> dict[pa.DataType, list[object]]:
    dates = [day.date() for day in days]
    return {
        pa.int8(): few.tolist(),
        pa.float64(): (few / 4).tolist(),
        pa.decimal128(10, 2): [decimal.Decimal(int(i)) / 4 for i in few],
        pa.bool_(): (few > 50).tolist(),
        pa.string(): letters.tolist(),
        pa.large_string(): letters.tolist(),
        pa.dictionary(pa.int32(), pa.string()): letters.tolist(),
        pa.date32(): dates,
        pa.timestamp("ms"): [datetime.datetime.combine(day, datetime.time(9)) for day in dates],
        pa.timestamp("us", tz="UTC"): days.dt.tz_localize("UTC").tolist(),
        pa.duration("us"): [datetime.timedelta(minutes=int(i)) for i in few],
    }


def _written_as_text(few: np.ndarray, days: pd.Series, rng: np.random.Generator) -> dict[str, pd.Series]:
    texts = {
        "dates as text": days.dt.strftime("%d.%m.%Y"),
        "money as text": pd.Series([f"${v:,.2f}" for v in few * 123.45]),
        "shares as text": pd.Series([f"{v / 4:g}%" for v in few]),
        "a key": pd.Series([f"C-{i:04d}" for i in rng.permutation(N)]),
        "names": pd.Series([f"{chr(65 + i % 26)}. {c}son{'i' * (i // 26)}" for i, c in enumerate(rng.permutation(N))]),
    }
    columns = {name: texts[name].astype(object) for name in texts}
    columns["days as numbers"] = days.dt.strftime("%Y%m%d").astype("int64")
    columns["running number"] = pd.Series(np.arange(1, N + 1))
    return columns


def round_trip(series: pd.Series) -> tuple[Schema, pd.Series]:
    """Through the schema's and the codec's plain data, as a model file would."""
    df = pd.DataFrame({"x": series})
    schema = Schema.from_json(json.loads(json.dumps(Schema.infer(df).to_json())))
    codec = TableCodec.learn(schema.validate(df), schema, TokenConfig(scheme="atoms", quantiles=200))
    codec = TableCodec.from_json(json.loads(json.dumps(codec.to_json())), schema)
    return schema, codec.decode(codec.encode(df), np.random.default_rng(0))["x"]


def page() -> str:
    """The whole page: the text as it is, the table anew."""
    text = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    lines = ["| column | kind | in | out |", "|---|---|---|---|"]
    for name, series in examples().items():
        schema, out = round_trip(series)
        assert out.dtype == series.dtype, (name, out.dtype)
        cells = [" ".join(f"`{value!r}`" for value in column.tolist()[:2]) for column in (series, out)]
        lines.append(f"| {name} | {schema.columns[0].kind} | {cells[0]} | {cells[1]} |".replace("\n", " "))
    return f"{text}{MARK}\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
