"""Differential privacy: a fit whose result hardly depends on any single row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .budget import DP

if TYPE_CHECKING:
    from .fit import fit_private

__all__ = ["DP", "fit_private"]


def __getattr__(name: str) -> Any:
    """Import what needs PyTorch when it is first used."""
    if name != "fit_private":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .fit import fit_private

    return fit_private
