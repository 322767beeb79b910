"""The paper's ordered embedding and ordinal loss for other tasks: ids with an order, in and out of any network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..errors import ConfigError
from .embedding import CORES, quantile_embedding
from .loss import ordinal_cross_entropy, ordinal_weights


def ordinal_embedding(n: int, width: int, function: str = "sigmoid") -> nn.Embedding:
    """An embedding of ids that have an order: ids that are near each other start near each other.

    Parameters
    ----------
    n
        Number of ids.
    width
        Size of each embedding.
    function
        `sigmoid` (the paper's), `tanh`, `softsign` or `ramp`.

    Returns
    -------
    torch.nn.Embedding
        Trained like any other.

    Examples
    --------
    >>> from tabtreeformer import ordinal_embedding
    >>> grades = ordinal_embedding(10, 16).weight
    >>> bool((grades[0] - grades[1]).norm() < (grades[0] - grades[9]).norm())
    True
    """
    if function not in CORES:
        raise ConfigError(f"function must be one of {', '.join(CORES)}, got {function!r}")
    return nn.Embedding(n, width, _weight=quantile_embedding(n, width, function))


def ordinal_loss(logits: Tensor, target: Tensor, reach: float = 5.0, floor: float = 0.5) -> Tensor:
    """Cross-entropy in which near misses cost less than far ones.

    Parameters
    ----------
    logits
        One row per case and one column per id, shape (N, n).
    target
        The right ids, shape (N,).
    reach
        Ids within about this distance of the target are near misses; the paper uses 5 of 1000.
    floor
        Weight of the target itself; ids far away weigh 1 + `floor`. The smaller it is, the more the order counts.

    Returns
    -------
    torch.Tensor
        The mean over the cases.

    Examples
    --------
    >>> import torch
    >>> from tabtreeformer import ordinal_loss
    >>> near, far = torch.zeros(1, 10), torch.zeros(1, 10)
    >>> near[0, 4], far[0, 9] = 2.0, 2.0
    >>> target = torch.tensor([3])
    >>> bool(ordinal_loss(near, target, reach=2) < ordinal_loss(far, target, reach=2))
    True
    """
    if not reach > 0 or not floor > 0:
        raise ConfigError(f"reach and floor must be above 0, got {reach!r} and {floor!r}")
    n = logits.shape[1]
    weights = ordinal_weights(n, sigma=reach / n, floor=floor).to(logits.device)
    return torch.mean(ordinal_cross_entropy(logits.float(), target, weights.log()))
