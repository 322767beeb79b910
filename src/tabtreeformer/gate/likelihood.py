"""How likely each network finds rows: what whoever holds the model file can ask of it.

Shapes: `N` rows, `L` positions, `T` trees, `D` value slots.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ..generation import blank
from ..model import Network, SlotModel
from ..tokens import TokenLayout

BATCH = 1024


def attack_tokens(
    layout: TokenLayout, leaf_ids: NDArray[np.int64], values: NDArray[np.int64], *, blank_prompts: bool
) -> NDArray[np.int64]:
    """Rows as an attacker would put them to a network (N, L).

    The prompt is blank where the networks know blank prompts from training, as `log_prob` has it, else the row's own
    leaves.
    """
    return layout.to_tokens(blank(len(values), layout.n_trees) if blank_prompts else leaf_ids, values)


@torch.inference_mode()
def log_likelihoods(network: Network, tokens: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log-probability of the values of each row, given its prompt, in table order (N,)."""
    network.eval()
    device = next(network.parameters()).device
    parts = []
    for start in range(0, len(tokens), BATCH):
        rows = torch.from_numpy(tokens[start : start + BATCH]).to(device)
        parts.append(_of_batch(network, rows).cpu())
    return torch.cat(parts).numpy()


def _of_batch(network: Network, rows: torch.Tensor) -> torch.Tensor:
    layout = network.layout
    if isinstance(network, SlotModel):
        natural = torch.arange(layout.n_values, device=rows.device).expand(len(rows), -1)
        return network.log_probs(rows, natural if network.config.order == "any" else None).sum(1)
    T = layout.n_trees
    hidden = network.hidden(rows[:, :-1])  # (B, L - 1, d)
    total = torch.zeros(len(rows), dtype=torch.float64, device=rows.device)
    for slot in range(layout.n_values):
        allowed = layout.allowed(T + slot)
        logits = network.slot_logits(hidden[:, T + slot], slot, rows).double()
        total += torch.log_softmax(logits, 1).gather(1, (rows[:, 1 + T + slot] - allowed.start)[:, None])[:, 0]
    return total
