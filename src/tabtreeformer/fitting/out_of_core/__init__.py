"""Tables that do not fit in memory: a sample that shows all that occurs, then the tokens of every row on disk."""

from .sample import Sample, draw_sample
from .shards import RowEncoder
from .table import InMemory, OnDisk, open_table

__all__ = ["InMemory", "OnDisk", "RowEncoder", "Sample", "draw_sample", "open_table"]
