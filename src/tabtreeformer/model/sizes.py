"""The size of a network, from its layout and settings alone: networks are built with it, and files checked against it.

Shapes: `T` trees, `D` value slots, `d` width.
"""

from __future__ import annotations

import math

from ..config.settings import ModelConfig
from ..tokens import SlotKind, TokenLayout


def table_rows(layout: TokenLayout, config: ModelConfig) -> dict[str, int]:
    """Rows of each table of a network; a row has `d` weights."""
    if config.softmax == "vocabulary":
        return {"embedding": layout.n_vocab, "positions": layout.length}
    T, D = layout.n_trees, layout.n_values
    leaves, values = (sum(slot.size for slot in slots) for slots in (layout.slots[:T], layout.value_slots))
    return {
        "leaves": leaves + T,  # one row more per slot: its mask
        "values": values + D,
        "head": values,
        "ahead": D,
        "positions": 1 + n_prompts(layout, config) + D,
        "functions": len(number_slots(layout)) * (config.functions + (config.quantile_embedding == "raw")),
    }


def block_weights(config: ModelConfig) -> int:
    """Weights of one block of our own decoder: four matrices with biases, and two norms."""
    d, inner = config.width, config.feed_forward
    return (3 * d + d) * (d + 1) + inner * (d + 1) + d * (inner + 1) + 4 * d


def n_prompts(layout: TokenLayout, config: ModelConfig) -> int:
    """Groups of `model.pool` trees that share a position."""
    return math.ceil(layout.n_trees / config.pool)


def number_slots(layout: TokenLayout) -> list[int]:
    """Value slots whose ids are ordered, and numerous enough to be smooth."""
    return [i for i, slot in enumerate(layout.value_slots) if slot.kind != SlotKind.CATEGORY and slot.size > 2]
