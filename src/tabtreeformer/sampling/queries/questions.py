"""Turns the arguments of `sample` into functions that answer block by block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..._runtime.threads import threads_for
from ...artifact.fitted import Fitted
from ...data.io.frames import take_in
from ...errors import ConfigError
from ..writer import BLOCK, Writer
from .answer import repeated, sample_given, sample_shares
from .complete import complete
from .given import allowed_by
from .rules import rule_of

Question = Callable[[Writer, range], pd.DataFrame]
"""Draws the rows of the writer's current block."""


def blocks(n: int, first: int = 0) -> Iterator[range]:
    """The rows of each block of n, from the block numbered `first` on."""
    for start in range(first * BLOCK, n, BLOCK):
        yield range(start, min(start + BLOCK, n))


def answer(question: Question, rows: Writer, part: range) -> pd.DataFrame:
    """One block of rows; the default index is the row number."""
    rows.start(part.start // BLOCK)
    with threads_for(rows.width):
        frame = question(rows, part)
    return frame.set_axis(pd.RangeIndex(part.start, part.stop)) if _is_count(frame.index) else frame


def complete_all(
    fitted: Fitted,
    rows: Writer,
    partial: pd.DataFrame,
    context: Collection[str | int],
    *,
    fill: bool = False,
    given: Mapping[Any, Any] | None = None,
) -> pd.DataFrame:
    """Complete partial rows block by block; missing values in `context` columns count as given.

    With `fill` no other value is missing; `given` are conditions on columns that the partial rows lack.
    """
    within = dict(allowed_by(fitted, name, value) for name, value in (given or {}).items())

    def question(rows: Writer, part: range) -> pd.DataFrame:
        own = partial.iloc[part.start : part.stop].reset_index(drop=True)
        return complete(fitted, rows, own, fill=fill, context=context, within=within)

    return together([answer(question, rows, part) for part in blocks(len(partial))])


def in_batches(frames: Iterable[pd.DataFrame], size: int) -> Iterator[pd.DataFrame]:
    """Regroup tables into tables of one size; the last may be smaller."""
    held: list[pd.DataFrame] = []
    n_held = 0
    for frame in frames:
        while len(frame):
            held.append(frame.iloc[: size - n_held])
            n_held += len(held[-1])
            frame = frame.iloc[len(held[-1]) :]
            if n_held == size:
                yield together(held)
                held, n_held = [], 0
    if held:
        yield together(held)


def together(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate tables."""
    return frames[0] if len(frames) == 1 else pd.concat(frames)


def question(
    fitted: Fitted,
    n: int,
    given: Any,
    balance: str | int | None,
    mix: Mapping[str | int, Mapping[Any, float]] | None,
    leaf: tuple[int, int] | None,
) -> Question:
    """The question of a call of `sample`: at most one of `given`, `balance`, `mix` and `leaf`."""
    if sum(asked is not None for asked in (given, balance, mix, leaf)) > 1:
        raise ConfigError("give one of given, balance, mix and leaf")
    if leaf is not None:
        given = rule_of(fitted, leaf).conditions
    if isinstance(given, Mapping):
        return lambda rows, part: sample_given(fitted, rows, len(part), given)
    if given is not None:
        partial, _ = take_in(given)
        if not isinstance(partial, pd.DataFrame):
            raise ConfigError(f"given must be a dict of conditions or a table of partial rows, got {given!r}")
        return lambda rows, part: complete(fitted, rows, repeated(partial, part, n), fill=False)
    if balance is not None or mix is not None:
        return lambda rows, part: sample_shares(fitted, rows, part, n, balance, mix)
    return lambda rows, part: rows.decode(rows.write(len(part)))


def _is_count(index: pd.Index) -> bool:
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1


def count(n: Any, name: str = "n") -> int:
    """Check for a positive integer."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer):
        raise ConfigError(f"{name} must be a whole number{' of rows' * (name == 'n')}, got {n!r}")
    if n < 1:
        raise ConfigError(f"{name} must be at least 1, got {n}")
    return int(n)
