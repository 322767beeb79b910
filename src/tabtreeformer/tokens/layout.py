"""The layout of a row of tokens, which tokenizer, model, loss, masking, sampling and decoding all read.

A row is the sequence BOS, T leaf tokens, D value tokens, EOS. Inside a slot an id counts from 0 ("local id"); in the
sequence it is a token: the local id plus the offset of its kind. All slots of a kind share one range of tokens:

    special | leaf | category | bin | quantile        V = 3 + n_l + n_c + n_b + n_q

so the quantile tokens come last in the vocabulary. No other module does offset arithmetic.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

BOS, EOS, MASK = 0, 1, 2
N_SPECIAL = 3


class SlotKind(enum.IntEnum):
    """Kinds of slots, in token order."""

    LEAF = 0
    CATEGORY = 1
    BIN = 2
    QUANTILE = 3


@dataclass(frozen=True)
class Slot:
    """One position of the row between BOS and EOS."""

    kind: SlotKind
    column: int
    """Index of the table column, or of the tree for a leaf."""
    size: int
    """Local ids 0 … size-1 are allowed here."""
    atoms: frozenset[int] = frozenset()
    """Ids of single values: adjacent ids are other values, not near misses."""
    centres: tuple[float, ...] = ()
    """The middle of what each id represents, if ids are numbers."""


@dataclass(frozen=True)
class TokenLayout:
    """The slots of a row in order (leaves first) and what follows from them."""

    slots: tuple[Slot, ...]

    @classmethod
    def build(cls, n_leaves: Sequence[int], value_slots: Iterable[Slot]) -> TokenLayout:
        """Put one leaf slot per tree before the slots of the columns."""
        leaves = tuple(Slot(SlotKind.LEAF, tree, size) for tree, size in enumerate(n_leaves))
        return cls(leaves + tuple(value_slots))

    @cached_property
    def n_trees(self) -> int:
        """The paper's T."""
        return sum(slot.kind == SlotKind.LEAF for slot in self.slots)

    @property
    def n_values(self) -> int:
        """Value slots, D: one per category column, one or two per numeric one."""
        return len(self.slots) - self.n_trees

    @cached_property
    def value_slots(self) -> tuple[Slot, ...]:
        """Slots after the leaves."""
        return self.slots[self.n_trees :]

    def slots_of(self, *columns: int) -> list[int]:
        """Value slots per column, in table order; a column with nothing to learn has none."""
        return [i for i, slot in enumerate(self.value_slots) if slot.column in columns]

    @property
    def length(self) -> int:
        """Tokens per row with BOS and EOS: L = 2 + T + m_d + 2 m_c for the paper's tokens."""
        return 2 + len(self.slots)

    def n_tokens(self, kind: SlotKind) -> int:
        """Number of tokens of a kind: the size of its largest slot, since all share them."""
        return max((slot.size for slot in self.slots if slot.kind == kind), default=0)

    def offset(self, kind: SlotKind) -> int:
        """First token of a kind."""
        return N_SPECIAL + sum(self.n_tokens(k) for k in SlotKind if k < kind)

    @property
    def n_vocab(self) -> int:
        """V = 3 + n_l + n_c + n_b + n_q."""
        return N_SPECIAL + sum(self.n_tokens(k) for k in SlotKind)

    @property
    def quantile_tokens(self) -> range:
        """The paper's [Q_s, Q_e)."""
        return range(self.offset(SlotKind.QUANTILE), self.n_vocab)

    def allowed(self, slot: int) -> range:
        """Tokens allowed in slot number `slot`."""
        start = self.offset(self.slots[slot].kind)
        return range(start, start + self.slots[slot].size)

    @cached_property
    def allowed_mask(self) -> NDArray[np.bool_]:
        """(L, V): which tokens are allowed at each position of the sequence."""
        mask = np.zeros((self.length, self.n_vocab), dtype=bool)
        mask[0, BOS] = mask[-1, EOS] = True
        for slot in range(len(self.slots)):
            tokens = self.allowed(slot)
            mask[1 + slot, tokens.start : tokens.stop] = True
        return mask

    @cached_property
    def numeric_groups(self) -> tuple[NDArray[np.int64], ...]:
        """Positions in the sequence of each numeric column's slots, coarse to fine; one array (columns, slots) per
        number of slots, without columns that have a single slot.
        """
        groups: dict[int, list[int]] = {}
        for position, slot in enumerate(self.slots, start=1):
            if slot.kind in (SlotKind.BIN, SlotKind.QUANTILE):
                groups.setdefault(slot.column, []).append(position)
        lengths = sorted({len(group) for group in groups.values()} - {1})
        return tuple(np.array([g for g in groups.values() if len(g) == n], dtype=np.int64) for n in lengths)

    @cached_property
    def quantile_positions(self) -> NDArray[np.int64]:
        """Positions of quantile tokens in the sequence."""
        return np.array([1 + i for i, slot in enumerate(self.slots) if slot.kind == SlotKind.QUANTILE], dtype=np.int64)

    @cached_property
    def slot_offsets(self) -> NDArray[np.int64]:
        """First token of each slot's kind: token = local id + offset."""
        return np.array([self.offset(slot.kind) for slot in self.slots], dtype=np.int64)

    def to_tokens(self, leaf_ids: NDArray[Any], value_ids: NDArray[Any]) -> NDArray[np.int64]:
        """Local ids (N, T) and (N, D) → token sequences (N, L); a leaf id of -1 is masked."""
        tokens = np.empty((len(value_ids), self.length), dtype=np.int64)
        tokens[:, 0], tokens[:, -1] = BOS, EOS
        tokens[:, 1 : 1 + self.n_trees] = self.prompt_tokens(leaf_ids)[:, 1:]
        tokens[:, 1 + self.n_trees : -1] = value_ids + self.slot_offsets[self.n_trees :]
        return tokens

    def prompt_tokens(self, leaf_ids: NDArray[Any]) -> NDArray[np.int64]:
        """Leaf ids (N, T), -1 where masked → the start of a sequence (N, 1 + T)."""
        tokens = np.full((len(leaf_ids), 1 + self.n_trees), BOS, dtype=np.int64)
        leaf_tokens = leaf_ids.astype(np.int64) + self.slot_offsets[: self.n_trees]
        tokens[:, 1:] = np.where(leaf_ids < 0, MASK, leaf_tokens)
        return tokens

    def leaf_ids(self, tokens: NDArray[Any]) -> NDArray[np.int64]:
        """Token sequences (N, L) without masks → local leaf ids (N, T)."""
        ids: NDArray[np.int64] = tokens[:, 1 : 1 + self.n_trees] - self.slot_offsets[: self.n_trees]
        return ids

    def value_ids(self, tokens: NDArray[Any]) -> NDArray[np.int64]:
        """Token sequences (N, L) → local value ids (N, D)."""
        ids: NDArray[np.int64] = tokens[:, 1 + self.n_trees : -1] - self.slot_offsets[self.n_trees :]
        return ids
