"""What a call of `sample` asks, made ready for what writes rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..config import SampleConfig
from ..errors import ConfigError
from ..fitted import Fitted
from ..generation import RowWriter
from ..rules import rule_of
from ..tables.frames import take_in
from .writing import complete, repeated, sample_given, sample_shares


def writer(
    fitted: Fitted, sampling: SampleConfig, seed: np.random.SeedSequence, advance: Callable[[int], None]
) -> RowWriter:
    """What draws rows from a fitted model."""
    return RowWriter(
        train=fitted.config.train,
        sampling=sampling,
        codec=fitted.codec,
        layout=fitted.layout,
        networks=fitted.models,
        banks=fitted.prompts,
        encoder=fitted.tree_encoder,
        leaf_model=lambda: fitted.leaf_model,
        seed=seed,
        advance=advance,
    )


def question(
    fitted: Fitted,
    n: int,
    given: Any,
    balance: str | int | None,
    mix: Mapping[str | int, Mapping[Any, float]] | None,
    leaf: tuple[int, int] | None,
) -> Callable[[RowWriter], pd.DataFrame]:
    """What `sample` was asked: at most one thing beyond n rows."""
    if sum(asked is not None for asked in (given, balance, mix, leaf)) > 1:
        raise ConfigError("give one of given, balance, mix and leaf")
    if leaf is not None:
        given = rule_of(fitted, leaf).conditions
    if isinstance(given, Mapping):
        return lambda rows: sample_given(fitted, rows, n, given)
    if given is not None:
        partial, _ = take_in(given)
        if not isinstance(partial, pd.DataFrame):
            raise ConfigError(f"given must be a dict of conditions or a table of partial rows, got {given!r}")
        copies = repeated(partial, n)
        return lambda rows: complete(fitted, rows, copies, fill=False)
    if balance is not None or mix is not None:
        return lambda rows: sample_shares(fitted, rows, n, balance, mix)
    return lambda rows: fitted.codec.decode(rows.any_rows(n), rows.rng)


def count(n: Any, name: str = "n") -> int:
    """A whole number from 1."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer):
        raise ConfigError(f"{name} must be a whole number{' of rows' * (name == 'n')}, got {n!r}")
    if n < 1:
        raise ConfigError(f"{name} must be at least 1, got {n}")
    return int(n)
