"""The audit of a model file: names the origin of every number and text, and searches for values of real rows."""

from __future__ import annotations

from .audit import RARE_FLOOR, Audit, audit
from .findings import Finding

__all__ = ["RARE_FLOOR", "Audit", "Finding", "audit"]
