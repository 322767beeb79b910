"""Token rows as a network reads them: part of the tokens masked, columns in an order drawn per row.

Shapes: `B` rows, `L` positions, `D` value slots.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..config.settings import Config
from ..tokens import MASK, TokenLayout
from .masking import draw_masks
from .orders import draw_orders
from .split import Rows

BLANK_PROMPTS = 0.1
"""Share of the rows whose leaves are all masked, so that a network of `auto` can also write without a prompt."""

Prepared = tuple[Tensor, Tensor | None]
"""Masked rows (B, L), and the order of each row's value slots (B, D); None for the order of the table."""


def prepare(rows: Tensor, layout: TokenLayout, config: Config, rng: np.random.Generator) -> Prepared:
    """Replace a random part of the tokens by MASK and, where any order is allowed, draw an order per row."""
    blank = BLANK_PROMPTS if config.model.any_order else 0.0
    masks = draw_masks(len(rows), layout, config.train, rng, blank)
    masked = rows.masked_fill(torch.from_numpy(masks).to(rows.device), MASK)
    if not config.model.any_order:
        return masked, None
    orders = draw_orders(len(rows), layout, rng, config.train.table_orders)
    return masked, torch.from_numpy(orders).to(rows.device)


def take_rows(rows: Tensor, row_indices: Rows, device: torch.device) -> Tensor:
    """These rows as 64-bit integers on the device, wherever and in whatever type they are stored."""
    return rows[torch.from_numpy(row_indices).to(rows.device)].to(device).long()
