"""What a worker does, whatever runs it: find the work and do jobs; errors come back to the process that asked."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .... import errors
from ...._runtime.threads import use_cores
from ....errors import EngineError, TabTreeFormerError

RETRIES = 3
"""How often a job is repeated whose worker died."""


def prepare(work: str, settings: Mapping[str, Any], files: Mapping[str, Path], cores: int) -> Callable[[Any], Any]:
    """Call what `module:name` names; the work it returns takes jobs."""
    use_cores(cores)
    module, _, name = work.partition(":")
    factory = getattr(importlib.import_module(module), name)
    done: Callable[[Any], Any] = factory(settings, files)
    return done


def revived(kind: str, message: str) -> TabTreeFormerError:
    """The error that a worker described; one of our own gets its own class back."""
    own = getattr(errors, kind, None)
    if isinstance(own, type) and issubclass(own, TabTreeFormerError):
        return own(message)
    return EngineError(f"a worker failed: {kind}: {message}")
