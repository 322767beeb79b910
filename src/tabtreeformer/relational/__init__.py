"""Linked tables: parents and children, sequences, whole databases."""

from ..data.link_search import find_links
from ..data.links import Link
from .synthesizer import RelationalTabTreeFormer

__all__ = ["Link", "RelationalTabTreeFormer", "find_links"]
