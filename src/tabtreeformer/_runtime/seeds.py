"""Seeds: from what users pass as random_state, and for the generators of PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import ConfigError

if TYPE_CHECKING:
    import torch

Seed = int | np.random.Generator | None


def child(seed: np.random.SeedSequence, *path: int) -> np.random.SeedSequence:
    """The seed of a numbered part of the work, whatever else was derived from the seed before."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *path))


def torch_generator(seed: np.random.SeedSequence, device: torch.device | str = "cpu") -> torch.Generator:
    """A torch generator from a numpy seed."""
    import torch

    return torch.Generator(device).manual_seed(int(seed.generate_state(1, np.uint64)[0] >> 1))


def seed_sequence(random_state: Seed) -> np.random.SeedSequence:
    """A seed from what scikit-learn users pass as random_state."""
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise ConfigError(
            f"random_state must be a whole number from 0, a numpy Generator or None, got {random_state!r}"
        )
    return np.random.SeedSequence(int(random_state))
