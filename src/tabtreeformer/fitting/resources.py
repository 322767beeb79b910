"""What a fit runs on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch

from .._runtime.progress import Progress, Silent
from .checkpoint.folder import RunFolder


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Device, time, a folder for checkpoints, and somewhere to show progress."""

    device: torch.device
    progress: Progress = field(default_factory=Silent)
    seconds: float = math.inf
    """Time for the networks."""
    side_by_side: bool | None = None
    """Train both networks at once in two threads; None: only if the CPU has enough cores and there is no dropout."""
    folder: RunFolder = field(default_factory=RunFolder)
    """Where checkpoints go; it also knows the other processes of the run."""
