"""Laws: relations between columns that always or nearly always hold; found, described, and kept in new rows."""

from .base import Cells, Frame, Law
from .check import LawCheck
from .find import find_laws
from .laws import Laws
from .listed import given_laws, parse

__all__ = ["Cells", "Frame", "Law", "LawCheck", "Laws", "find_laws", "given_laws", "parse"]
