"""The kinds of columns."""

from __future__ import annotations

NUMERIC, CATEGORICAL, BOOLEAN, DATETIME, TIMEDELTA = "numeric", "categorical", "boolean", "datetime", "timedelta"
IDENTIFIER, TEXT, CONSTANT = "identifier", "text", "constant"
KINDS = (NUMERIC, CATEGORICAL, BOOLEAN, DATETIME, TIMEDELTA, IDENTIFIER, TEXT, CONSTANT)

MEASURED = (NUMERIC, DATETIME, TIMEDELTA)
"""Kinds whose values are numbers: they have an order and distances."""
LABELLED = (CATEGORICAL, BOOLEAN)
"""Kinds whose values come from a list."""

FEW_CLASSES = 20
"""An integer target with at most this many values is a class label, not a quantity."""
