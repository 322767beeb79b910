"""Generators side by side: the same rows, the same split, the same judge, each in a process of its own."""

from __future__ import annotations

from .generators import BUILT_IN, GeneratorSpec, choose, located
from .results import Results, Run
from .runner import Limits, compare, run_one
from .tables import Table, from_folder, from_frame

__all__ = [
    "BUILT_IN",
    "GeneratorSpec",
    "Limits",
    "Results",
    "Run",
    "Table",
    "choose",
    "compare",
    "from_folder",
    "from_frame",
    "located",
    "run_one",
]
