"""The query methods of a fitted model, inherited by `TabTreeFormer`."""

from .drawing import Drawing
from .scoring import Scoring

__all__ = ["Drawing", "Scoring"]
