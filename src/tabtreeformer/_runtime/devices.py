"""The device that PyTorch computes on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import ConfigError

if TYPE_CHECKING:
    import torch


def choose_device(name: str) -> torch.device:
    """The device that a name means here, or an error that lists the available ones."""
    import torch

    if name == "auto":
        if not torch.cuda.is_available():
            return torch.device("cpu")
        local = os.environ.get("LOCAL_RANK")  # set by torchrun: one GPU per process
        return torch.device("cuda" if local is None else f"cuda:{local}")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ConfigError(f"device {name!r} cannot be used here; try 'auto' or 'cpu'") from error
    return device
