"""Tables that belong together: parents and children, sequences, whole databases."""

from ..data.links import Link, find_links
from .synthesizer import RelationalTabTreeFormer

__all__ = ["Link", "RelationalTabTreeFormer", "find_links"]
