"""A page that shows an evaluation: data → plain summary → pictures → HTML."""

from .html import render, write_report
from .summary import Summary, summarise

__all__ = ["Summary", "render", "summarise", "write_report"]
