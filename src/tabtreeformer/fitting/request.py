"""What the user asks of a fit, and the table to learn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.durations import duration
from .._runtime.progress import Progress
from ..config.presets import AUTO, TREES, Privacy, configure, rare_floor
from ..config.settings import Config
from ..data.io import DIALECT
from ..data.io.chunked import Chunks
from ..data.schema import Schema
from ..errors import ConfigError
from ..laws import Laws, find_laws, given_laws
from ..tokens import TableCodec
from ..tokens.codecs.protection import protection
from .out_of_core import InMemory, OnDisk, open_table
from .plan import rows_in_time

EVERY_SECONDS = 60.0
"""Default time between two checkpoints."""
SAMPLE_KEY = 20_261_116
"""Separates the seed of the sample from all others, which tables in memory use too."""
LAW_KEY = 20_261_118
"""Separates the seed of the search for laws from all others."""
MIN_COPIES = 5
"""At least this many rows of each rare value join the sample of a table that is read in parts."""
RESERVE_SHARE, MAX_RESERVE_SECONDS = 0.25, 30.0
"""Share of a budget, and its maximum, reserved for what follows the last step: validation, prompts, verdict.

On one core they take 2 s for 1,000 rows × 21 columns and 12 s for 48,842 × 15.
"""


@dataclass(frozen=True)
class Alone:
    """A team of one process that does not need PyTorch."""

    rank: int = 0
    size: int = 1
    first: bool = True

    def share_number(self, number: int) -> int:
        """The number itself."""
        return number


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked of a fit; the fields are those of `TabTreeFormer`."""

    preset: str
    overrides: Mapping[str, Any]
    """Settings that differ from the preset, by section."""
    target: str | int | None = None
    constraints: str | Sequence[str] | None = AUTO
    budget_seconds: float | None = None
    privacy: Privacy = "balanced"
    private: bool = False
    """Whether to train with differential privacy."""
    units: NDArray[np.int64] | None = field(default=None, compare=False)
    """Which rows belong to the same person (N,): floors and halves count persons. None: each row is a person."""

    def __post_init__(self) -> None:
        if self.budget_seconds is not None and not self.budget_seconds > 0:
            raise ConfigError(f"budget_seconds must be above 0, got {self.budget_seconds!r}")
        if isinstance(self.constraints, str) and self.constraints != AUTO:
            raise ConfigError(f"constraints must be 'auto', a list or None, got {self.constraints!r}")
        self.configure(n_rows=2, n_columns=1)  # invalid settings are reported before the table is read

    def configure(self, *, n_rows: int, n_columns: int, n_classes: int | None = None) -> Config:
        """The settings for a table of this size; `n_classes` of the trees' target, None for a number."""
        return configure(self.preset, self.overrides, n_rows, n_classes, n_columns, self.privacy, self.private)

    @property
    def rare_floor(self) -> int:
        """Minimum rows for a value to be kept: the same for every table, and needed before this one is read."""
        return rare_floor(self.preset, self.overrides)

    @property
    def seconds_to_train(self) -> float:
        """When training has to end, in seconds from the start of the fit."""
        if self.budget_seconds is None:
            return math.inf
        return self.budget_seconds - min(RESERVE_SHARE * self.budget_seconds, MAX_RESERVE_SECONDS)

    def relations(self, schema: Schema) -> Sequence[str] | Literal["auto"] | None:
        """The relations between columns that the parameter and the schema state."""
        if self.constraints != AUTO:
            return self.constraints
        if schema.constraints is not None:
            return schema.constraints
        return "auto" if self.preset in (AUTO, TREES) else None

    def finds_relations(self, schema: Schema | None) -> bool:
        """Whether relations are looked for rather than given."""
        if self.constraints != AUTO:
            return AUTO in (self.constraints or ())
        return schema is None or schema.constraints is None


def open_source(
    source: pd.DataFrame | Chunks,
    schema: Schema | None,
    request: Request,
    seed: np.random.SeedSequence,
    progress: Progress,
) -> AbstractContextManager[InMemory | OnDisk]:
    """The table to learn, in memory or in parts; the schema is inferred where none is given."""
    sample_seed = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, SAMPLE_KEY))
    copies, found = max(MIN_COPIES, request.rare_floor), request.finds_relations(schema)
    if isinstance(source, Chunks):
        return open_table(source, schema, request.target, copies, found, sample_seed, progress)
    schema = Schema.infer(source, request.target) if schema is None else schema.matched(source)
    return nullcontext(_in_time(InMemory(schema, schema.validate(source)), request, sample_seed, progress))


def _in_time(table: InMemory, request: Request, seed: np.random.SeedSequence, progress: Progress) -> InMemory:
    """The table, or a random part of its rows if the budget is not enough for all."""
    if request.budget_seconds is None or request.units is not None:
        return table
    most = rows_in_time(request.preset, request.budget_seconds, len(table.schema.names))
    if most is None or table.n_rows <= most:
        return table
    progress.note(
        f"the budget is enough for about {most:,} of {table.n_rows:,} rows: these are drawn at random and learned; "
        f"all of them take about {duration(request.budget_seconds * table.n_rows / most)}"
    )
    rows = np.sort(np.random.default_rng(seed).permutation(table.n_rows)[:most])
    return InMemory(table.schema, table.frame.iloc[rows].reset_index(drop=True), of_rows=table.n_rows)


def record_of(
    table: InMemory | OnDisk,
    request: Request,
    codec: TableCodec,
    floor: int,
    seed: np.random.SeedSequence,
    tree_seconds: float,
) -> dict[str, Any]:
    """The part of a fit's record that does not depend on the writer, as plain data."""
    frame = table.frame
    return {
        "rows": table.n_rows,
        **({"of_rows": table.of_rows} if table.of_rows else {}),
        "preset": request.preset,
        "target": request.target,
        "seed": str(seed.entropy),
        "tree_seconds": round(tree_seconds, 3),
        # The separator and the decimal point of the file that a table was read from, if they are unusual.
        **({DIALECT: dict(frame.attrs[DIALECT])} if DIALECT in frame.attrs else {}),
        **({"protected": protection(codec, frame, floor)} if floor > 1 else {}),
    }


def laws_of(
    relations: Sequence[str] | Literal["auto"] | None,
    frame: pd.DataFrame,
    schema: Schema,
    floor: int,
    seed: np.random.SeedSequence,
    given: Sequence[str | int] = (),
) -> Laws | None:
    """The laws that the user lists, those that the table shows, or both where `auto` is in the list."""
    if relations is None or not len(relations):
        return None
    if AUTO not in relations:
        return given_laws(relations, frame, schema, floor=floor)
    own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, LAW_KEY))
    found = find_laws(frame, schema, floor=floor, rng=np.random.default_rng(own), given=given)
    if relations == AUTO:
        return found
    asked = [text for text in relations if text != AUTO]
    return given_laws([*asked, *(text for text in found.texts if text not in asked)], frame, schema, floor=floor)
