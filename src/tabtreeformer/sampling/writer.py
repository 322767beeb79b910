"""What draws rows of ids: the networks with their prompts, or a forest.

Queries, the gate and streaming know this protocol and not what is behind it. What a writer has learned is part of
`Fitted`, which keeps it in the model file.

Shapes: `n` or `N` rows, `D` value slots, `S` ids of a slot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..tokens.codecs.row_numbers import RowNumbers
from ..tokens.writer import BLOCK as BLOCK
from ..tokens.writer import FREE, Given, Ids, Mask

if TYPE_CHECKING:
    from ..artifact.fitted import Fitted
    from ..config.settings import SampleConfig
    from ..tokens import TableCodec, TokenLayout
    from ..tokens.codecs.base import Allowed

Floats = NDArray[np.float64]
SAME_KEYS = 1
"""Seed of keys that go on from call to call: whatever the seed of the call, number k has the same key."""


class Writer(Protocol):
    """Draws rows of a fitted model, block by block, and decodes them; says how likely rows are."""

    rng: np.random.Generator
    """Randomness of the current block."""
    first: int
    """Number of the block's first row."""
    key: int
    """Seed of the call, by which keys without a running number are scattered."""
    first_key: int | None
    """Rows whose keys are taken already, where keys go on from call to call; None where each call starts anew."""

    @property
    def width(self) -> int:
        """Width of the networks, by which the number of threads is chosen; 0 where there are none."""

    def start(self, block: int) -> None:
        """Go to a block of the rows; what is drawn from here on depends on its number, not on what was drawn before."""

    def write(self, n: int, given: Given = FREE) -> Ids:
        """Draw n rows of the block (n, D): free rows, rows under conditions, or what is not known of given rows.

        Free rows are the first of the block: fewer rows are the first of more.
        """

    def decode(
        self, ids: Ids, places: NDArray[np.int64] | None = None, within: Mapping[int, Allowed] | None = None
    ) -> pd.DataFrame:
        """The table of rows (n, D) of the block, those in `places` or the first n."""

    def expressed(
        self, ids: Ids, places: NDArray[np.int64] | None = None, within: Mapping[int, Allowed] | None = None
    ) -> pd.DataFrame:
        """The same before the laws of the table are restored."""

    def log_prob(self, rows: Given, slots: Sequence[int], idle: Mask) -> Floats:
        """Log-probability of the id of each slot given those before it in `slots`, in nats (N, D), in that order.

        What idle slots (N, D, in table order) hold means nothing, and has no part in it.
        """

    def log_prob_given_others(self, rows: Given, slots: Sequence[int], idle: Mask) -> Floats:
        """Log-probability of some slots given all others, in nats (N,)."""

    def chances(self, given: Given, slot: int, rng: np.random.Generator) -> Floats:
        """Chances of the ids of a slot after what is known of rows (N, S), up to a factor per row."""


class Decoding:
    """How the rows of a block become a table, whatever drew their ids."""

    codec: TableCodec
    rng: np.random.Generator
    first: int
    key: int
    first_key: int | None

    def decode(
        self, ids: Ids, places: NDArray[np.int64] | None = None, within: Mapping[int, Allowed] | None = None
    ) -> pd.DataFrame:
        """The table of rows (n, D) of the block, those in `places` or the first n; keys follow their numbers."""
        places = np.arange(len(ids)) if places is None else places
        shared = self.codec.with_shared(self.expressed(ids, places, within), row_numbers(self, places))
        return self.codec.laws.restore(shared, self.rng)

    def expressed(
        self, ids: Ids, places: NDArray[np.int64] | None = None, within: Mapping[int, Allowed] | None = None
    ) -> pd.DataFrame:
        """The same before the laws of the table are restored."""
        places = np.arange(len(ids)) if places is None else places
        return self.codec.decode_expressed(ids, self.rng, row_numbers(self, places), within)


def writer_of(
    fitted: Fitted,
    sampling: SampleConfig | None = None,
    seed: np.random.SeedSequence | None = None,
    advance: Callable[[int], None] | None = None,
) -> Writer:
    """What draws rows from a fitted model, with the seed of one call and the settings of sampling that hold for it."""
    seed = np.random.SeedSequence(0) if seed is None else seed
    advance = _uncounted if advance is None else advance
    if fitted.forest is not None:
        from .forest_writer import ForestWriter

        return ForestWriter(fitted.forest, fitted.codec, fitted.layout, seed, advance)
    from .network_writer import NetworkWriter

    return NetworkWriter.of(fitted, sampling or fitted.config.sampling, seed, advance)


def row_numbers(writer: Writer | Decoding, places: NDArray[np.int64]) -> RowNumbers:
    """Numbers of rows in the current block, by which keys are made."""
    numbers = writer.first + places
    if writer.first_key is None:
        return RowNumbers(numbers, writer.key)
    return RowNumbers(writer.first_key + numbers, SAME_KEYS)


def allowed_by_slot(layout: TokenLayout, allowed: Mapping[int, Allowed]) -> dict[int, Mask]:
    """Allowed ids by slot, from those by index of the column."""
    masks = {}
    for column, limits in allowed.items():
        for slot, mask in zip(layout.slots_of(column), limits.masks, strict=True):
            if mask is not None:
                masks[slot] = mask
    return masks


def _uncounted(rows: int) -> None:
    """Nothing is shown."""
