"""Generators side by side: the same rows, the same split, the same evaluation, each in a process of its own."""

from __future__ import annotations

from .generators import CONTROLS, GeneratorSpec, choose, listed, located
from .results import COMPARISON, Results, Run
from .runner import Limits, compare, run_one
from .tables import Table, from_folder, from_frame

__all__ = [
    "COMPARISON",
    "CONTROLS",
    "GeneratorSpec",
    "Limits",
    "Results",
    "Run",
    "Table",
    "choose",
    "compare",
    "from_folder",
    "from_frame",
    "listed",
    "located",
    "run_one",
]
