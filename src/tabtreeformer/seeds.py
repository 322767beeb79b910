"""Seeds of numpy for the generators of PyTorch."""

from __future__ import annotations

import numpy as np
import torch


def torch_generator(seed: np.random.SeedSequence, device: torch.device | str = "cpu") -> torch.Generator:
    """A torch generator from a numpy seed."""
    return torch.Generator(device).manual_seed(int(seed.generate_state(1, np.uint64)[0] >> 1))
