"""Compare generators: the same rows, split and evaluation, each in a separate process."""

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
