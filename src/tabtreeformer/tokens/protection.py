"""How much a floor has merged and clipped, in numbers: no value is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..schema import MEASURED
from .codec import TableCodec
from .column import ConstantCodec
from .labels import LabelCodec
from .written import TextCodec


def protection(codec: TableCodec, df: pd.DataFrame, floor: int) -> dict[str, Any]:
    """The floor, and by column: values that were merged or written anew, rows whose number was clipped, rare gaps."""
    columns = []
    for place, column in enumerate(codec.columns):
        series = df[column.column.name]
        facts = {"merged": 0, "clipped": 0, "gaps": int(series.isna().sum()) if column.common is not None else 0}
        values = column.column.read(series[series.notna()])
        if isinstance(column.inner, LabelCodec | TextCodec):
            codes = column.inner.labels.find(values)
            facts["merged"] = int(values[codes < 0].nunique())
        elif column.column.kind in MEASURED and not isinstance(column.inner, ConstantCodec):
            numbers, bounds = values.to_numpy(dtype=np.float64), column.bounds
            facts["clipped"] = int(((numbers < float(bounds.low)) | (numbers > float(bounds.high))).sum())
        if any(facts.values()):
            columns.append({"column": place, **{name: count for name, count in facts.items() if count}})
    return {"rare_floor": floor, "columns": columns}
