"""On which device PyTorch computes."""

from __future__ import annotations

import torch

from .errors import ConfigError


def choose_device(name: str) -> torch.device:
    """The device that a name means here, or an error that says which there are."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ConfigError(f"device {name!r} cannot be used here; try 'auto' or 'cpu'") from error
    return device
