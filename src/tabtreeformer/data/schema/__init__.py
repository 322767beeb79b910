"""What each column is: its name, kind and exact dtype; inferred with a reason, checked on input and restored on
output.
"""

from .check import check_table
from .column import Column, Scalar
from .kinds import (
    BOOLEAN,
    CATEGORICAL,
    CONSTANT,
    DATETIME,
    FEW_CLASSES,
    IDENTIFIER,
    KINDS,
    LABELLED,
    MEASURED,
    NUMERIC,
    TEXT,
    TIMEDELTA,
)
from .labels import MAX_CATEGORIES, Labels
from .table import Schema

__all__ = [
    "BOOLEAN",
    "CATEGORICAL",
    "CONSTANT",
    "DATETIME",
    "FEW_CLASSES",
    "IDENTIFIER",
    "KINDS",
    "LABELLED",
    "MAX_CATEGORIES",
    "MEASURED",
    "NUMERIC",
    "TEXT",
    "TIMEDELTA",
    "Column",
    "Labels",
    "Scalar",
    "Schema",
    "check_table",
]
