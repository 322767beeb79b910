"""Draws rows of ids, from networks with prompts or from a forest.

PyTorch is imported on first use, so that a tree-only model never waits for it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .writer import BLOCK, Writer, writer_of

if TYPE_CHECKING:
    from .network_writer import NetworkWriter, network_log_probs
    from .prompts import blank, masked
    from .sampler import Sampler

_HOMES = {
    "NetworkWriter": "network_writer",
    "Sampler": "sampler",
    "blank": "prompts",
    "masked": "prompts",
    "network_log_probs": "network_writer",
}

__all__ = ["BLOCK", "NetworkWriter", "Sampler", "Writer", "blank", "masked", "network_log_probs", "writer_of"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
