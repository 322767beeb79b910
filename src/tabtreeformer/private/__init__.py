"""Differential privacy: a fit that tells nearly the same whether or not any one row was in the table."""

from .budget import DP
from .fit import fit_private

__all__ = ["DP", "fit_private"]
