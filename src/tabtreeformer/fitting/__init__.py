"""From a table to a fitted model: the pipeline of `fit`, and the training of the two networks.

Modules that need PyTorch are imported on first use, so that fitting trees that write never waits for it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .history import History
from .masking import draw_masks

if TYPE_CHECKING:
    from .resources import Resources
    from .trainer import Trained, train_networks

__all__ = ["History", "Resources", "Trained", "draw_masks", "train_networks"]

_LATER = {"Resources": ".resources", "Trained": ".trainer", "train_networks": ".trainer"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name], __name__), name)
