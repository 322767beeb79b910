"""The public `evaluate`: the evaluation of DataFrames, for tables of pandas, polars and pyarrow alike."""

from __future__ import annotations

from . import evaluation
from .tables.frames import taking_any_table

evaluate = taking_any_table(evaluation.evaluate)
