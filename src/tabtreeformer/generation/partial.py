"""Rows of which a part is given, whichever part that is in each row: how likely it is, and the rest drawn after it.

What is given comes first in the order of its row, so that rows with different gaps go through a network together.

Shapes: `N` rows, `B` rows a batch, `T` trees, `D` value slots, `K` slots at the start of the orders, `S` ids of a slot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..model import SlotModel
from .sampler import Sampler

Ids = NDArray[np.int32]
Mask = NDArray[np.bool_]
BATCH = 2048


@dataclass(frozen=True)
class Partial:
    """Rows of which a part is given."""

    ids: Ids
    """(N, D); what they hold where nothing is given means nothing."""
    given: Mask
    """(N, D)."""
    leaves: NDArray[np.int64]
    """(N, T), where known."""
    known: Mask
    """Rows whose leaves are known, (N,)."""


def given_first(given: Mask, following: int | None = None) -> NDArray[np.int64]:
    """Orders of the slots (N, D): the given ones, then the one that follows if there is one, then all others."""
    keys = np.where(given, 0, 2)
    if following is not None:
        keys[:, following] = 1
    orders: NDArray[np.int64] = np.argsort(keys, axis=1, kind="stable")
    return orders


@torch.inference_mode()
def judge(
    network: SlotModel, prompts: Ids, ids: Ids, given: Mask, following: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-probability of what is given after the prompts (N,), and chances of the ids of the slot that follows (N, S).

    Without a slot that follows the second has no columns.
    """
    orders, n_given = given_first(given, following), given.sum(1)
    logs = np.zeros(len(ids))
    chances = np.zeros((len(ids), 0 if following is None else network.layout.value_slots[following].size))
    by_length = np.argsort(n_given, kind="stable")
    network.eval()
    for start in range(0, len(ids), BATCH):
        rows = by_length[start : start + BATCH]
        n_slots = int(n_given[rows].max()) + (following is not None)
        if not n_slots:
            continue
        device = next(network.parameters()).device
        order = torch.from_numpy(orders[rows]).to(device)
        local = torch.from_numpy(ids[rows]).to(device)
        states = network.hidden(_inputs(network, prompts[rows], local, order, n_slots - 1), order=order)
        states = states[:, network.n_prompts :]  # (B, K, d)
        places = order.argsort(1)  # (B, D)
        total = torch.zeros(len(rows), dtype=torch.float64, device=device)
        for slot in np.flatnonzero(given[rows].any(0)).tolist():
            own = torch.from_numpy(np.flatnonzero(given[rows, slot])).to(device)
            logits = network.slot_logits(states[own, places[own, slot]], slot, local[own]).double()
            total[own] += torch.log_softmax(logits, 1).gather(1, local[own, slot, None].long())[:, 0]
        logs[rows] = total.cpu().numpy()
        if following is not None:
            every = torch.arange(len(rows), device=device)
            logits = network.slot_logits(states[every, places[:, following]], following, local).double()
            chances[rows] = torch.softmax(logits, 1).cpu().numpy()
    return logs, chances


def draw_rest(
    sampler: Sampler, prompts: Ids, ids: Ids, given: Mask, allowed: Mapping[int, Mask], rng: np.random.Generator
) -> Ids:
    """Draw what is not given of rows (N, D); `allowed` are the ids that may be drawn, by slot, where not all may."""
    drawn, orders, n_given = ids.copy(), given_first(given), given.sum(1)
    by_length = np.argsort(n_given, kind="stable")  # rows that start late wait for those that start early
    for part in sampler.parts(len(ids)):
        rows = by_length[part]
        drawn[rows] = _draw_batch(sampler, prompts[rows], ids[rows], orders[rows], n_given[rows], allowed, rng)
    return drawn


@torch.inference_mode()
def _draw_batch(
    sampler: Sampler,
    prompts: Ids,
    ids: Ids,
    orders: NDArray[np.int64],
    n_given: NDArray[np.int64],
    allowed: Mapping[int, Mask],
    rng: np.random.Generator,
) -> Ids:
    network, layout = sampler.model, sampler.layout
    assert isinstance(network, SlotModel)
    device = next(network.parameters()).device
    first, D = int(n_given.min()), layout.n_values
    if not sampler.config.leaf_prompts:
        prompts = np.full_like(prompts, -1)
    order, local = torch.from_numpy(orders).to(device), torch.from_numpy(ids).to(device)
    inputs = _inputs(network, prompts, local, order, first)
    cache = network.new_cache(len(ids)) if sampler.config.cache else None
    masks = {slot: torch.from_numpy(mask).to(device) for slot, mask in allowed.items()}
    points = torch.from_numpy(rng.random((len(ids), D - first), dtype=np.float32)).to(device)
    new = inputs
    for place in range(first, D):
        hidden = network.hidden(new if cache is not None else inputs, cache, order)[:, -1]  # (B, d)
        drawing = n_given <= place
        for slot in np.unique(orders[drawing, place]).tolist():
            own = torch.from_numpy(np.flatnonzero(drawing & (orders[:, place] == slot))).to(device)
            logits = network.slot_logits(hidden[own], slot, local[own])
            if slot in masks:
                logits = logits.masked_fill(~masks[slot], -math.inf)
            chosen = sampler.choose(logits, layout.value_slots[slot].kind, points[own, place - first])
            local[own, slot] = chosen.to(local.dtype)
        new = _tokens(network, local, order[:, place : place + 1])  # (B, 1)
        inputs = torch.cat([inputs, new], dim=1)
    return local.cpu().numpy()


def _inputs(network: SlotModel, prompts: Ids, local: Tensor, order: Tensor, n_values: int) -> Tensor:
    """Tokens of the prompts and of the first values in their orders (B, 1 + T + n)."""
    start = torch.from_numpy(network.layout.prompt_tokens(prompts)).to(local.device)
    return torch.cat([start, _tokens(network, local, order[:, :n_values])], dim=1)


def _tokens(network: SlotModel, local: Tensor, slots: Tensor) -> Tensor:
    """Tokens of the ids that rows (B, D) hold in slots (B, n)."""
    return local.gather(1, slots).long() + network.offsets[network.layout.n_trees + slots]
