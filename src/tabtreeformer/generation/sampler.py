"""Draws value ids slot by slot after a leaf prompt, from the allowed ids only: every drawn row is a valid row.

Shapes: `B` rows a batch, `T` trees, `D` value slots, `L` positions, `d` width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..config import SampleConfig
from ..model import Network, rows_of
from ..tokens import MASK, Kind


@dataclass(frozen=True)
class Plan:
    """In which order the value slots of a row are filled, and what is settled beforehand."""

    order: tuple[int, ...]
    n_given: int = 0
    """So many slots at the start of the order are given."""
    allowed: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)
    """By slot: which of its ids may be drawn (S,); all where nothing is said."""


class Sampler:
    """Draws rows from one network."""

    def __init__(self, model: Network, config: SampleConfig) -> None:
        self.model, self.config, self.layout = model.eval(), config, model.layout
        self.interrupted = False
        """Set from another thread to end `draw` after the batch under way."""
        model.fold()
        self._begin = rows_of(model, cache=config.cache)

    def draw(
        self,
        leaf_ids: NDArray[np.int32],
        rng: np.random.Generator,
        advance: Callable[[int], None],
        plan: Plan | None = None,
        given: NDArray[np.int32] | None = None,
    ) -> NDArray[np.int32]:
        """Leaf prompts (n, T), masked with -1 → local value ids (n, D), batch by batch.

        With a plan, `given` (n, D) holds the ids of its given slots; without one, slots are drawn in table order.
        Each row takes numbers of its own from `rng`, in order: fewer rows are the first of more.
        """
        batches = [np.empty((0, self.layout.n_values), dtype=np.int32)]
        for part in self.parts(len(leaf_ids)):
            rows, _ = self._draw_batch(leaf_ids[part], rng, plan, None if given is None else given[part])
            batches.append(rows)
            advance(len(rows))
        return np.concatenate(batches)

    def draw_start(
        self, leaf_ids: NDArray[np.int32], rng: np.random.Generator, plan: Plan, n_slots: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Draw only the first slots of the plan (n, D), and the logarithm of the share that its limits left (n,)."""
        rows, weights = [], []
        for part in self.parts(len(leaf_ids)):
            ids, weight = self._draw_batch(leaf_ids[part], rng, plan, None, n_slots)
            rows.append(ids)
            weights.append(weight)
        return np.concatenate(rows), np.concatenate(weights)

    def parts(self, n_rows: int) -> Iterator[slice]:
        """Batches of rows, until somebody interrupts."""
        for start in range(0, n_rows, self.config.batch_size):
            if self.interrupted:
                raise KeyboardInterrupt
            yield slice(start, start + self.config.batch_size)

    @torch.inference_mode()
    def _draw_batch(
        self,
        leaf_ids: NDArray[np.int32],
        rng: np.random.Generator,
        plan: Plan | None,
        given: NDArray[np.int32] | None,
        stop: int | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        T, D, device = self.layout.n_trees, self.layout.n_values, next(self.model.parameters()).device
        order = tuple(range(D)) if plan is None else plan.order
        known, last = 0 if plan is None else plan.n_given, D if stop is None else stop
        tokens = torch.from_numpy(self.layout.prompt_tokens(leaf_ids))  # (B, 1 + T)
        if not self.config.leaf_prompts:
            tokens[:, 1 : 1 + T] = MASK
        points = torch.from_numpy(rng.random((len(leaf_ids), last - known), dtype=np.float32)).to(device)
        local = torch.zeros(len(leaf_ids), D, dtype=torch.int32, device=device)  # values in table order
        weights = torch.zeros(len(leaf_ids), dtype=torch.float64, device=device)
        rows = self._begin(tokens.to(device), None if plan is None else order)
        for place, slot in enumerate(order[:last]):
            if place < known:
                assert given is not None
                local[:, slot] = torch.from_numpy(given[:, slot])
            else:
                logits = self.model.slot_logits(rows.hidden(), slot, local)  # (B, S)
                if plan is not None and slot in plan.allowed:
                    whole = torch.logsumexp(logits.double(), 1)
                    logits = logits.masked_fill(~torch.from_numpy(plan.allowed[slot]).to(device), -math.inf)
                    weights += torch.logsumexp(logits.double(), 1) - whole
                local[:, slot] = self.choose(logits, self.layout.value_slots[slot].kind, points[:, place - known])
            if place + 1 < last:
                rows.push(local[:, slot])
        return local.cpu().numpy(), weights.cpu().numpy()

    def choose(self, logits: Tensor, kind: Kind, points: Tensor) -> Tensor:
        """(B, S) and points in [0, 1) (B,) → (B,): the id in whose share of the line from 0 to 1 the point lies."""
        category = kind == Kind.CATEGORY
        temperature = self.config.temperature_category if category else self.config.temperature_numeric
        ends = torch.softmax(logits.float() / temperature, dim=1).cumsum(1)
        # By the last end, which rounding may have moved off 1: the point lies below it, and never in an empty share.
        return torch.searchsorted(ends, points[:, None] * ends[:, -1:], right=True)[:, 0]
