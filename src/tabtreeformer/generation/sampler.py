"""Draws value ids slot by slot after a leaf prompt, from the allowed ids only: every drawn row is a valid row.

Shapes: `B` rows a batch, `T` trees, `D` value slots, `L` positions, `d` width.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..config import SampleConfig
from ..model import Network
from ..tokens import MASK, Kind


class Sampler:
    """Draws rows from one network."""

    def __init__(self, model: Network, config: SampleConfig) -> None:
        self.model, self.config, self.layout = model.eval(), config, model.layout
        self.interrupted = False
        """Set from another thread to end `draw` after the batch under way."""
        model.fold()

    def draw(
        self, leaf_ids: NDArray[np.int32], generator: torch.Generator, advance: Callable[[int], None]
    ) -> NDArray[np.int32]:
        """Leaf prompts (n, T), masked with -1 → local value ids (n, D), batch by batch."""
        batches = []
        for start in range(0, len(leaf_ids), self.config.batch_size):
            if self.interrupted:
                raise KeyboardInterrupt
            part = leaf_ids[start : start + self.config.batch_size]
            batches.append(self._draw_batch(part, generator))
            advance(len(part))
        return np.concatenate(batches) if batches else np.empty((0, self.layout.n_values), dtype=np.int32)

    @torch.inference_mode()
    def _draw_batch(self, leaf_ids: NDArray[np.int32], generator: torch.Generator) -> NDArray[np.int32]:
        T, D = self.layout.n_trees, self.layout.n_values
        tokens = torch.empty(len(leaf_ids), 1 + T + D, dtype=torch.long, device=generator.device)  # (B, L-1)
        tokens[:, : 1 + T] = torch.from_numpy(self.layout.prompt_tokens(leaf_ids))
        if not self.config.leaf_prompts:
            tokens[:, 1 : 1 + T] = MASK
        local = torch.empty(len(leaf_ids), D, dtype=torch.int32, device=generator.device)  # (B, D)
        cache = self.model.new_cache(len(leaf_ids)) if self.config.cache else None
        known = 0  # positions that the cache holds
        for slot in range(T, T + D):
            hidden = self.model.hidden(tokens[:, known : 1 + slot], cache)[:, -1]  # (B, d)
            known = 1 + slot if cache is not None else 0
            logits = self.model.slot_logits(hidden, slot - T, local)  # (B, S)
            drawn = self._choose(logits, self.layout.slots[slot].kind, generator)  # (B,)
            local[:, slot - T] = drawn
            tokens[:, 1 + slot] = drawn + self.layout.allowed(slot).start
        return local.cpu().numpy()

    def _choose(self, logits: Tensor, kind: Kind, generator: torch.Generator) -> Tensor:
        """(B, size) → (B,), by the kind's temperature."""
        category = kind == Kind.CATEGORY
        temperature = self.config.temperature_category if category else self.config.temperature_numeric
        chances = torch.softmax(logits.float() / temperature, dim=1)
        return torch.multinomial(chances, 1, generator=generator)[:, 0]
