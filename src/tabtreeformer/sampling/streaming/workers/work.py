"""The common part of all workers: find the work and run jobs; errors are sent back to the caller."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .... import errors
from ...._runtime.threads import use_cores
from ....errors import EngineError, TabTreeFormerError

RETRIES = 3
"""How often a job is repeated after its worker died."""


def prepare(work: str, settings: Mapping[str, Any], files: Mapping[str, Path], cores: int) -> Callable[[Any], Any]:
    """Call `module:name` and return the function that runs jobs."""
    use_cores(cores)
    module, _, name = work.partition(":")
    factory = getattr(importlib.import_module(module), name)
    done: Callable[[Any], Any] = factory(settings, files)
    return done


def revived(kind: str, message: str) -> TabTreeFormerError:
    """Rebuild the error that a worker reported; errors of this package keep their class."""
    own = getattr(errors, kind, None)
    if isinstance(own, type) and issubclass(own, TabTreeFormerError):
        return own(message)
    return EngineError(f"a worker failed: {kind}: {message}")
