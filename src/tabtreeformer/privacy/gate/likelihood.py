"""Likelihoods of rows under each network, which anyone with the model file can compute.

Shapes: `N` rows, `L` positions, `T` trees, `D` value slots.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...model import Network
from ...sampling import blank, network_log_probs
from ...tokens import TokenLayout


def attack_tokens(
    layout: TokenLayout, leaf_ids: NDArray[np.int64], values: NDArray[np.int64], *, blank_prompts: bool
) -> NDArray[np.int64]:
    """Rows as input of a likelihood attack on a network (N, L).

    The prompt is blank, as in `log_prob`, if the networks were trained with blank prompts; otherwise it is the row's
    own leaves.
    """
    return layout.to_tokens(blank(len(values), layout.n_trees) if blank_prompts else leaf_ids, values)


def log_likelihoods(network: Network, tokens: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log-probability of the values of each row, given its prompt, in table order (N,)."""
    return np.asarray(network_log_probs(network, tokens).sum(1))
