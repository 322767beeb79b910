"""How much a floor has merged and clipped, in numbers only: no value is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...data.schema import MEASURED
from ..table_codec import TableCodec


def protection(codec: TableCodec, df: pd.DataFrame, floor: int) -> dict[str, Any]:
    """The floor, and per column: values that were merged or replaced, rows whose number was clipped, rare gaps."""
    columns, df = [], codec.laws.express(df)
    for column in codec.columns:
        place = codec.schema.names.index(codec.laws.origins[column.column.name])
        series = df[column.column.name]
        facts = {"merged": 0, "clipped": 0, "gaps": int(series.isna().sum()) if column.common is not None else 0}
        values, known = column.column.read(series[series.notna()]), column.inner.known_values()
        if known is not None:
            facts["merged"] = int(values[known.find(values) < 0].nunique())
        elif column.column.kind in MEASURED and not column.inner.is_constant():
            numbers, bounds = values.to_numpy(dtype=np.float64), column.bounds
            facts["clipped"] = int(((numbers < float(bounds.low)) | (numbers > float(bounds.high))).sum())
        if any(facts.values()):
            columns.append({"column": place, **{name: count for name, count in facts.items() if count}})
    return {"rare_floor": floor, "columns": columns}
