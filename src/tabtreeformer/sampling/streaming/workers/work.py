"""What a worker does, whatever runs it: find the work, do jobs, say what went wrong."""

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


def attempted(call: Callable[[], Any]) -> tuple[Any, list[str] | None]:
    """The result of a call, or its error as plain data.

    Whatever goes wrong in a worker is caught, as it has to reach the process that asked: there it is raised again.
    """
    try:
        return call(), None
    except Exception as error:
        return None, [type(error).__name__, str(error)]


def revived(kind: str, message: str) -> TabTreeFormerError:
    """The error that a worker described; one of our own is of its own class again."""
    own = getattr(errors, kind, None)
    if isinstance(own, type) and issubclass(own, TabTreeFormerError):
        return own(message)
    return EngineError(f"a worker failed: {kind}: {message}")
