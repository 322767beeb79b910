"""What a fitted model can be asked, as the methods that `TabTreeFormer` inherits."""

from .drawing import Drawing
from .scoring import Scoring

__all__ = ["Drawing", "Scoring"]
