"""The prompts that each network writes rows from: masked leaves of real rows, or leaves of rows that the model wrote.

Shapes: `N` rows, `L` positions.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artifact.fitted import Fitted
from ..artifact.prompt_bank import PromptBank
from ..config.settings import TrainConfig
from ..sampling import NetworkWriter
from ..tokens import TokenLayout
from .masking import draw_masks
from .trainer import Parts

MAX_PROMPTS = {"trained": 100_000, "validated": 10_000}
"""Maximum number of rows whose leaves prompt a network, by `train.prompts`.

NOTE[PAPER]: the paper keeps the leaves of every row of a half; we keep those of at most 100,000, because a file would
otherwise grow with the table. None of the paper's tables has that many.
"""
MAX_COMPARED = 200_000
"""Maximum number of real rows that written prompts are compared with."""


def masked_prompts(
    tokens: NDArray[Any], parts: Parts, layout: TokenLayout, config: TrainConfig, seed: np.random.SeedSequence
) -> tuple[PromptBank, PromptBank]:
    """The masked leaves of the rows that prompt each network; `tokens` are all rows (N, L)."""
    rng = np.random.default_rng(seed)
    banks = []
    for own, others in parts:
        rows = own if config.prompts == "trained" else others
        rows = rows[: MAX_PROMPTS[config.prompts]]
        hidden = draw_masks(len(rows), layout, config, rng)[:, 1 : 1 + layout.n_trees]
        banks.append(PromptBank.build(layout.leaf_ids(tokens[rows]), hidden, rng))
    return banks[0], banks[1]


def with_written_prompts(fitted: Fitted, tokens: NDArray[Any], seed: np.random.SeedSequence) -> Fitted:
    """The model with prompts from rows that it wrote itself if rare values are protected, else unchanged."""
    floor, layout = fitted.config.tokens.rare_floor, fitted.layout
    if floor <= 1 or not layout.n_trees:
        return fitted
    all_real = len(tokens) <= MAX_COMPARED
    if not all_real:
        some = np.random.default_rng(seed).choice(len(tokens), MAX_COMPARED, replace=False)
        tokens = tokens[np.sort(some)]
    writer = NetworkWriter.of(fitted, fitted.config.sampling, seed, lambda n: None)
    prompts = writer.own_prompts(layout.leaf_ids(tokens), floor, all_real=all_real)
    return dataclasses.replace(fitted, prompts=prompts)
