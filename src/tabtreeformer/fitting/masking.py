"""Masks over the input tokens, which keep the networks from memorising rows.

Shapes: `N` rows, `T` trees, `D` value slots, `L` positions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..config.settings import TrainConfig
from ..tokens import TokenLayout


def draw_masks(
    n_rows: int, layout: TokenLayout, config: TrainConfig, rng: np.random.Generator, blank: float = 0.0
) -> NDArray[np.bool_]:
    """Draw which input tokens to hide, (N, L).

    Each row draws two shares, one for its leaves and one for its values, and each token is hidden independently with
    that probability; BOS and EOS never are. A hidden bin always hides its quantiles. A share `blank` of the rows
    hides all leaves.
    """
    hidden = np.zeros((n_rows, layout.length), dtype=bool)
    first_value = 1 + layout.n_trees
    hidden[:, 1:first_value] = _draw_part(n_rows, layout.n_trees, config.leaf_mask, rng)
    if blank:
        hidden[rng.random(n_rows) < blank, 1:first_value] = True
    hidden[:, first_value:-1] = _draw_part(n_rows, layout.n_values, config.value_mask, rng)
    for groups in layout.numeric_groups:
        # NOTE[PAPER]: the paper swaps a column's two masks when the bin is visible and the quantile hidden, the reverse
        # of the rule it states; we swap in the other case. For more slots the swap is a sort, finest first.
        n_hidden = hidden[:, groups].sum(axis=2, keepdims=True)  # (N, m_c, 1)
        depth = np.arange(groups.shape[1])
        hidden[:, groups] = depth >= groups.shape[1] - n_hidden  # (N, m_c, slots)
    return hidden


def _draw_part(n_rows: int, n_tokens: int, share: tuple[float, float], rng: np.random.Generator) -> NDArray[np.bool_]:
    shares = rng.uniform(*share, size=(n_rows, 1))
    return rng.random((n_rows, n_tokens)) < shares
