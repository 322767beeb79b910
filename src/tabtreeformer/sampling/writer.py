"""The writer protocol: networks with prompts, or a forest, draw rows of ids.

Queries, the gate and streaming use only this protocol. The learned state of a writer is part of `Fitted`, which is
stored in the model file.

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
"""Seed for keys that continue from call to call: key number k does not depend on the seed of the call."""


class Writer(Protocol):
    """Draws rows of a fitted model block by block, decodes them, and computes likelihoods."""

    rng: np.random.Generator
    """Random generator of the current block."""
    first: int
    """Number of the block's first row."""
    key: int
    """Seed of the call, for keys without a running number."""
    first_key: int | None
    """Number of rows whose keys are taken, if keys continue from call to call; None if each call starts anew."""

    @property
    def width(self) -> int:
        """Width of the networks, which determines the number of threads; 0 without networks."""

    def start(self, block: int) -> None:
        """Start a block of rows; its rows depend on its number only, not on earlier draws."""

    def write(self, n: int, given: Given = FREE) -> Ids:
        """Draw n rows of the block (n, D): unconditional rows, rows under conditions, or completions of given rows.

        Unconditional rows are the first n rows of the block.
        """

    def decode(
        self, ids: Ids, places: NDArray[np.int64] | None = None, within: Mapping[int, Allowed] | None = None
    ) -> pd.DataFrame:
        """The table of rows (n, D) of the block, those in `places` or the first n."""

    def expressed(
        self, ids: Ids, places: NDArray[np.int64] | None = None, within: Mapping[int, Allowed] | None = None
    ) -> pd.DataFrame:
        """As `decode`, before laws are restored."""

    def log_prob(self, rows: Given, slots: Sequence[int], idle: Mask) -> Floats:
        """Log-probability of the id of each slot given those before it in `slots`, in nats (N, D), in that order.

        Idle slots (N, D, in table order) have no meaning and are ignored.
        """

    def log_prob_given_others(self, rows: Given, slots: Sequence[int], idle: Mask) -> Floats:
        """Log-probability of some slots given all others, in nats (N,)."""

    def chances(self, given: Given, slot: int, rng: np.random.Generator) -> Floats:
        """Probabilities of a slot's ids given the known part of rows (N, S), up to a factor per row."""


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
        """As `decode`, before laws are restored."""
        places = np.arange(len(ids)) if places is None else places
        return self.codec.decode_expressed(ids, self.rng, row_numbers(self, places), within)


def writer_of(
    fitted: Fitted,
    sampling: SampleConfig | None = None,
    seed: np.random.SeedSequence | None = None,
    advance: Callable[[int], None] | None = None,
) -> Writer:
    """Return the writer of a fitted model, for one call with its seed and sampling settings."""
    seed = np.random.SeedSequence(0) if seed is None else seed
    advance = _uncounted if advance is None else advance
    if fitted.forest is not None:
        from .forest_writer import ForestWriter

        return ForestWriter(fitted.forest, fitted.codec, fitted.layout, seed, advance)
    from .network_writer import NetworkWriter

    return NetworkWriter.of(fitted, sampling or fitted.config.sampling, seed, advance)


def row_numbers(writer: Writer | Decoding, places: NDArray[np.int64]) -> RowNumbers:
    """Row numbers in the current block, which determine the keys."""
    numbers = writer.first + places
    if writer.first_key is None:
        return RowNumbers(numbers, writer.key)
    return RowNumbers(writer.first_key + numbers, SAME_KEYS)


def allowed_by_slot(layout: TokenLayout, allowed: Mapping[int, Allowed]) -> dict[int, Mask]:
    """Allowed ids by slot, from allowed ids by column index."""
    masks = {}
    for column, limits in allowed.items():
        for slot, mask in zip(layout.slots_of(column), limits.masks, strict=True):
            if mask is not None:
                masks[slot] = mask
    return masks


def _uncounted(rows: int) -> None:
    """No progress."""
