"""The data behind the figures of rows, small enough to be part of the repository.

    python -m benchmarks keep --samples out/samples --data ../shared/data

keeps the rows that generators drew (Parquet), without those that equal a real row, and of the real rows only what the
figures show of them: one density curve and the correlations. Real rows themselves are never kept. The same
command counts how many rows of each generator are copies of training rows, or nearly so (`copies.csv`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tabtreeformer._runtime.progress import Silent
from tabtreeformer.data.schema import Schema
from tabtreeformer.evaluation.compare import Table, from_folder
from tabtreeformer.evaluation.encoding import encode
from tabtreeformer.evaluation.metrics.neighbours import Space

FOLDER = Path(__file__).parents[1] / "results" / "rows"
COPIES = FOLDER.with_name("copies.csv")
REAL = "real.json"
NEAR = 1e-6
"""A row at a smaller distance than this to a training row is nearly its copy (the paper's)."""


@dataclass(frozen=True)
class Kept:
    """What is kept of one table."""

    table: str
    real: dict[str, Any]
    """What the figures show of the real rows, as `rows.describe` has it."""
    drawn: dict[str, pd.DataFrame]
    """Rows by generator."""


def read(folder: Path = FOLDER, names: Sequence[str] | None = None) -> list[Kept]:
    """All tables of which rows are kept, those of the generators in `names` or all."""
    found = []
    for place in sorted(path.parent for path in folder.glob(f"*/{REAL}")):
        rows = {path.stem: path for path in sorted(place.glob("*.parquet"))}
        drawn = {name: pd.read_parquet(rows[name]) for name in (names or rows) if name in rows}
        found.append(Kept(place.name, json.loads((place / REAL).read_text(encoding="utf-8")), drawn))
    return found


def keep(samples: Path, data: Path, folder: Path = FOLDER, copies: Path = COPIES, seed: int = 0) -> None:
    """Keep the rows of one seed, and count copies."""
    from .rows import describe

    counted = []
    for place in sorted(path for path in samples.iterdir() if path.is_dir()):
        table = from_folder(data, place.name)
        target = folder / table.name
        target.mkdir(parents=True, exist_ok=True)
        (target / REAL).write_text(json.dumps(describe(table)) + "\n", encoding="utf-8")
        for path in sorted(place.glob(f"*-{seed}.csv")):
            name = path.stem.rsplit("-", 1)[0]
            labels = {n: str for n in table.frame if not pd.api.types.is_numeric_dtype(table.frame[n].dtype)}
            rows = pd.read_csv(path, dtype=labels, keep_default_na=False)
            counted.append({"table": table.name, "generator": name, "seed": seed, **shares(table, rows, seed)})
            unlike(rows, table).to_parquet(target / f"{name}.parquet", index=False)
    made = pd.DataFrame(counted)
    if copies.exists():
        made = pd.concat([pd.read_csv(copies), made]).drop_duplicates(["table", "generator", "seed"], keep="last")
    made.sort_values(["table", "generator"]).to_csv(copies, index=False, float_format="%.4f")


def unlike(rows: pd.DataFrame, table: Table) -> pd.DataFrame:
    """The rows that no row of the table equals."""
    real = set(table.frame.itertuples(index=False, name=None))
    return rows[[row not in real for row in rows.itertuples(index=False, name=None)]].reset_index(drop=True)


def shares(table: Table, rows: pd.DataFrame, seed: int) -> dict[str, float]:
    """Shares of the rows, and of held-out rows, that are at distance 0 from a training row, or below 1e-6."""
    train, test = table.split(seed)
    encoded = encode({"training": train, "held-out": test, "synthetic": rows}, Schema.infer(train, table.target))
    space, found = Space(encoded["training"]), {}
    for role, word in (("synthetic", ""), ("held-out", " of held-out rows")):
        nearest = space.nearest(encoded[role], Silent(), role).distances[:, 0]
        found |= {
            f"distance 0{word}": float(np.mean(nearest == 0)),
            f"below 1e-6{word}": float(np.mean(nearest < NEAR)),
        }
    return found
