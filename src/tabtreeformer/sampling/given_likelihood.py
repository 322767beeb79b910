"""The likelihood of the given part of rows, which may differ from row to row.

Given slots come first in the order of each row, so that rows with different gaps go through a network together.

Shapes: `N` rows, `B` rows per batch, `T` trees, `D` value slots, `K` slots at the start of the orders, `S` ids.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..model import Network
from ..tokens.writer import Ids, Mask

BATCH = 2048


def given_first(given: Mask, following: int | None = None) -> NDArray[np.int64]:
    """Orders of the slots (N, D): the given ones, then `following` if any, then all others."""
    keys = np.where(given, 0, 2)
    if following is not None:
        keys[:, following] = 1
    orders: NDArray[np.int64] = np.argsort(keys, axis=1, kind="stable")
    return orders


@torch.inference_mode()
def given_log_probs(
    network: Network, prompts: Ids, ids: Ids, given: Mask, following: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-probability of the given slots after the prompts (N,), and probabilities of the ids of `following` (N, S).

    Without `following`, the second has no columns.
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
        states = network.hidden(_inputs(network, prompts[rows], local, order[:, : n_slots - 1]), order=order)
        states = states[:, network.n_prompts :]  # (B, K, d)
        places = order.argsort(1)  # (B, D)
        total = torch.zeros(len(rows), dtype=torch.float64, device=device)
        for slot in np.flatnonzero(given[rows].any(0)).tolist():
            own = torch.from_numpy(np.flatnonzero(given[rows, slot])).to(device)
            logits = network.slot_logits(states[own, places[own, slot]], slot).double()
            total[own] += torch.log_softmax(logits, 1).gather(1, local[own, slot, None].long())[:, 0]
        logs[rows] = total.cpu().numpy()
        if following is not None:
            every = torch.arange(len(rows), device=device)
            logits = network.slot_logits(states[every, places[:, following]], following).double()
            chances[rows] = torch.softmax(logits, 1).cpu().numpy()
    return logs, chances


def _inputs(network: Network, prompts: Ids, local: Tensor, slots: Tensor) -> Tensor:
    """Tokens of the prompts and of the rows' ids (B, D) in the slots (B, k) → (B, 1 + T + k)."""
    layout = network.layout
    start = torch.from_numpy(layout.prompt_tokens(prompts)).to(local.device)
    offsets = torch.from_numpy(layout.slot_offsets[layout.n_trees :]).to(local.device)
    return torch.cat([start, local.gather(1, slots).long() + offsets[slots]], dim=1)
