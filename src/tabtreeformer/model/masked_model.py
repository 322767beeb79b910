"""The slot network, decoded by masks: it sees all slots at once, hidden ones as a mask, and fills them one by one.

Where the network of `auto` reads values in the order in which they are written, this one has a position per slot and
attention in both directions, like BERT; prompts, embeddings and heads are the same. In each row it learns to fill all
slots after some place in a random order. All places are equally frequent, which makes its loss the likelihood of a row
in a random order (Uria et al., 2014), in the same unit as the loss of `auto`.

Shapes: `B` rows, `T` trees, `P` prompt positions, `D` value slots, `d` width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..tokens import MASK
from .fast_decode import Rows
from .slot_model import SlotModel


class MaskedModel(SlotModel):
    """A network with embeddings and a softmax per slot that sees the slots on both sides of a hidden one."""

    def filled(self, prompts: Tensor, values: Tensor) -> Tensor:
        """Leaf tokens (B, T) and values (B, D) in table order, some of them MASK → states of the slots (B, D, d)."""
        slots = torch.arange(self.layout.n_values, device=values.device)[None]
        embedded = self._embed_values(values, slots) + self.ahead(slots)
        states: Tensor = self.backbone(torch.cat([self._embed_prompts(prompts), embedded], dim=1))
        return states[:, 1 + self.n_prompts :]

    def state_before(self, prompts: Tensor, values: Tensor, slots: Tensor) -> Tensor:
        """The states (B, d) of one hidden slot per row (B or 1,), given the values (B, D) that are not MASK."""
        states = self.filled(prompts, values)
        return states[torch.arange(len(states), device=slots.device), slots]

    def hidden(self, tokens: Tensor, cache: Any | None = None, order: Tensor | None = None) -> Tensor:
        """Tokens from BOS on (B, 1 + T + k) → states before each of the first 1 + k slots of the order, one by one.

        Those of the prompt's other positions are zeros: nothing is ever predicted from them.
        """
        assert cache is None, "all positions change with each value"
        rows = _Rows(self, tokens[:, : 1 + self.layout.n_trees], order)
        states = [rows.hidden()]
        for place, values in enumerate(tokens[:, 1 + self.layout.n_trees :].T):
            rows.show(values)
            if place + 1 < self.layout.n_values:
                states.append(rows.hidden())
        return torch.nn.functional.pad(torch.stack(states, 1), (0, 0, self.n_prompts, 0))

    def _losses(
        self, masked: Tensor, order: Tensor | None, rows: Tensor, *, smooth: bool
    ) -> list[tuple[Tensor, Tensor]]:
        """Slots (n,) and their losses (B, n): those after a place in the order, weighted to D slots per row.

        The place depends on the row's place in the batch: all are used equally often, and validations are repeatable.
        """
        if not smooth:  # likelihoods: slot by slot
            return super()._losses(masked, order, rows, smooth=smooth)
        D, T = self.layout.n_values, self.layout.n_trees
        places = torch.arange(D, device=rows.device)[None] if order is None else order.argsort(1)  # (B or 1, D)
        n_seen = torch.arange(len(rows), device=rows.device)[:, None] % D  # (B, 1)
        hidden = (places >= n_seen).expand(len(rows), D)
        states = self.filled(masked[:, 1 : 1 + T], masked[:, 1 + T : -1].masked_fill(hidden, MASK))
        weights = hidden * (D / (D - n_seen))  # (B, D)
        parts = self._by_head(states, rows, smooth=smooth)
        return [(slots, losses * weights[:, slots]) for slots, losses in parts]

    def start_rows(self, *, cache: bool = True) -> Callable[[Tensor, Tensor | None], Rows]:
        """Rows whose positions are all recomputed for each value."""
        return lambda tokens, order: _Rows(self, tokens, order)


class _Rows:
    """Rows in progress, whose other slots are all masked."""

    def __init__(self, model: MaskedModel, tokens: Tensor, order: Tensor | None) -> None:
        """Take prompts (B, 1 + T) and orders of value slots (B or 1, D); None is table order."""
        D = model.layout.n_values
        order = torch.arange(D, device=tokens.device)[None] if order is None else order
        self.model, self.prompts, self.order, self.place = model, tokens[:, 1:], order.expand(len(tokens), -1), 0
        self.values = tokens.new_full((len(tokens), D), MASK)

    def show(self, tokens: Tensor) -> None:
        """Add the tokens (B,) of the next value slot of the order."""
        self.values.scatter_(1, self.order[:, self.place, None], tokens[:, None])
        self.place += 1

    def push(self, ids: Tensor) -> None:
        """Add its local ids (B,)."""
        self.show(ids + self.model.offsets[self.model.layout.n_trees :][self.order[:, self.place]])

    def hidden(self) -> Tensor:
        """Hidden states before the next slot (B, d)."""
        return self.model.state_before(self.prompts, self.values, self.order[:, self.place])
