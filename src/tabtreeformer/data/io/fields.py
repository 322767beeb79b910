"""Fields of a CSV file that other programs would not treat as plain text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pandas as pd

FORMULA = re.compile(r"^[=+\-@\t\r\n＝＋－＠]")
"""First characters of text that spreadsheet programs treat as a formula; the full-width ones in East Asian
languages."""


def neutralized(df: pd.DataFrame, is_number: Callable[[str], bool]) -> pd.DataFrame:
    """Put an apostrophe before text that a spreadsheet would evaluate; numbers are left alone."""

    def safe(value: Any) -> Any:
        return f"'{value}" if isinstance(value, str) and FORMULA.match(value) and not is_number(value) else value

    df = df.copy(deep=False)
    for j in range(df.shape[1]):
        column = df.iloc[:, j]
        if not (pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(column.dtype)):
            df.isetitem(j, column.astype(object).map(safe))
    df.columns = pd.Index([safe(name) for name in df.columns])
    return df


def holds_return(df: pd.DataFrame) -> bool:
    """Whether any text or column name contains a carriage return."""
    texts = [pd.Series(df.columns.astype(str))]
    for _, column in df.items():
        values = column.cat.categories.to_series() if isinstance(column.dtype, pd.CategoricalDtype) else column
        if pd.api.types.is_string_dtype(values.dtype) or values.dtype == object:
            texts.append(values)
    return any(text.astype(str).str.contains("\r", regex=False).any() for text in texts)
