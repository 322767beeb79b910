"""Does a model file hold anything of a real row? Every number and text in it is walked and its origin named."""

from __future__ import annotations

from .audit import RARE_FLOOR, Audit, audit
from .findings import Finding

__all__ = ["RARE_FLOOR", "Audit", "Finding", "audit"]
