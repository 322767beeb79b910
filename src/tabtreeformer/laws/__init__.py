"""The laws of a table: what always or nearly always holds between its columns, found, said, and kept in every row."""

from .base import Cells, Frame, Law
from .check import LawCheck
from .find import find_laws, given_laws, parse
from .laws import Laws

__all__ = ["Cells", "Frame", "Law", "LawCheck", "Laws", "find_laws", "given_laws", "parse"]
