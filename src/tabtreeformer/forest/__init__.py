"""Trees that write: a second writer over value ids, for tables whose rows need no protection.

One tree per slot reads the ids of the preceding slots; new ids are drawn from the rows of a leaf. Growing takes about a
second, and writing a hundred thousand rows takes another. This package never imports torch.

    tree.py       a tree as arrays: in each node, which ids of one slot go left
    score.py      the smooth part of a slot's dependence on the slots before it
    boost.py      the same by boosted trees, if they explain more
    shares.py     how often each id occurs in each leaf
    grow.py       a forest from rows of ids
    write.py      rows of ids from a forest, drawn together
    particles.py  rows under conditions, and the missing part of given rows
    state.py      a forest as arrays and JSON, and back
"""

from __future__ import annotations

from .grow import MAX_ROWS_GROWN, ForestSettings, Target, grow
from .particles import chances, complete, write_within
from .state import from_state, to_state
from .write import BLOCK, Forest, SlotForest, draw_rows, log_prob, log_shares

__all__ = [
    "BLOCK",
    "MAX_ROWS_GROWN",
    "Forest",
    "ForestSettings",
    "SlotForest",
    "Target",
    "chances",
    "complete",
    "draw_rows",
    "from_state",
    "grow",
    "log_prob",
    "log_shares",
    "to_state",
    "write_within",
]
