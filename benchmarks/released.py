"""What released rows reveal: models of half a table, attacked by density with shadow tables and by repeated rows.

    python -m benchmarks.released --data ../shared/data --kept out/released
    python -m benchmarks.released --page docs/lab/privacy.md      writes the table of the CSV into the page, and stops

Half of the rows are learned, the other half is unseen, and the attacker has real rows of both kinds without knowing
which is which. Each model is attacked on as many rows as it learned and on ten times as many, as for the level at the
end of a fit, but with completely unseen rows.
Rows are kept in a folder, so that an attack can be repeated without the fit. One row per model goes to a CSV, which a
second call completes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tabtreeformer import Schema, TabTreeFormer
from tabtreeformer.evaluation.attacks.repeated import repeated
from tabtreeformer.evaluation.attacks.rows import Calibration, outcome
from tabtreeformer.evaluation.encoding import Table, encode

from .measured import append, known_in, names, parser
from .pages import as_table, put
from .tables import SMALL, load

SETTINGS = {
    "auto": ("auto", {}),
    "auto-strict": ("auto", {"privacy": "strict"}),
    "trees": ("trees", {}),
    "trees-10": ("trees", {"forest": {"leaf_rows": 10}}),
}
KEYS = ["settings", "table", "seed"]
TIMES = 10
MARKS = "released rows"


@dataclass(frozen=True, eq=False)
class Attacker:
    """Knows all rows of a table, and what they score under tables whose writers lacked them."""

    frame: pd.DataFrame
    schema: Schema
    sizes: tuple[int, int]
    calibrations: list[Calibration]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Attacker:
        schema, half = Schema.infer(frame), len(frame) // 2
        population = encode({"training": frame}, schema)["training"]
        sizes = (half, TIMES * half)
        return cls(frame, schema, sizes, Calibration.learn_sizes(population, sizes, np.random.SeedSequence(0)))

    def __call__(self, own: np.ndarray, rows: pd.DataFrame) -> dict[str, Any]:
        """Figures of both attacks on rows of a writer that learned `own`."""
        tables = encode({"training": self.frame, "released": rows}, self.schema)
        order = np.concatenate([own, np.setdiff1d(np.arange(len(self.frame)), own)])
        figures: dict[str, Any] = {}
        for size, calibration, name in zip(self.sizes, self.calibrations, ("auc", "auc_10"), strict=True):
            scores = calibration.score(_first(tables["released"], size))[order]
            found = outcome(scores, len(own))
            figures |= {name: found["auc"], name.replace("auc", "found"): found["true_positives"]}
        again = repeated(tables["training"].take(order), len(own), tables["released"], len(own))
        return figures | {"copies": again["copies"], "members_repeated": again["members_repeated"]}


def _first(table: Table, n: int) -> Table:
    return table.take(slice(n))


def written(
    frame: pd.DataFrame, target: str, settings: str, seed: int, kept: Path
) -> tuple[np.ndarray, pd.DataFrame, float]:
    """The rows that were learned, rows that were written, and the processor seconds of the fit with its verdict."""
    own = np.sort(np.random.default_rng(seed).permutation(len(frame))[: len(frame) // 2])
    if kept.with_suffix(".parquet").exists():
        return own, pd.read_parquet(kept.with_suffix(".parquet")), float("nan")
    preset, sections = SETTINGS[settings]
    started = time.process_time()
    model = TabTreeFormer(preset, target, random_state=seed, verbose=False, **sections)
    model.fit(frame.iloc[own].reset_index(drop=True))
    seconds = time.process_time() - started
    rows = model.sample(TIMES * len(own), random_state=seed, accept_risk=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    rows.to_parquet(kept.with_suffix(".parquet"))
    return own, rows, seconds


def main() -> None:
    """Attack what the CSV does not have yet."""
    made = parser(__doc__, "released.csv", SMALL)
    made.add_argument("--settings", type=names, default=list(SETTINGS))
    made.add_argument("--kept", type=Path, default=Path("out/released"))
    options = made.parse_args()
    if options.page:
        put(options.page, MARKS, summary(pd.read_csv(options.results)))
        return
    known = known_in(options.results, KEYS)
    for table in options.tables:
        left = [(s, seed) for s in options.settings for seed in range(options.seeds) if (s, table, seed) not in known]
        if not left:
            continue
        loaded = load(table, options.data)
        attacker = Attacker.of(loaded.frame)
        for settings, seed in left:
            kept = options.kept / f"{table}-{settings}-{seed}"
            own, rows, seconds = written(loaded.frame, loaded.target, settings, seed, kept)
            key = {"settings": settings, "table": table, "seed": seed, "learned": len(own)}
            append(options.results, {**key, **attacker(own, rows), "cpu_seconds": seconds})


def summary(runs: pd.DataFrame) -> str:
    """Means over seeds, and the largest AUC of a seed."""
    head = [
        "settings", "table", "rows learned", "seeds", "AUC", "worst seed", "found at 1 %",
        "AUC, 10 × the rows", "found at 1 %", "like copies",
    ]  # fmt: skip
    rows = []
    for (settings, table), part in runs.groupby(["settings", "table"]):
        mean = part.mean(numeric_only=True)
        rows.append([
            settings, table, int(mean["learned"]), len(part), f"{mean['auc']:.3f}", f"{part['auc'].max():.3f}",
            f"{mean['found']:.1%}", f"{mean['auc_10']:.3f}", f"{mean['found_10']:.1%}", f"{mean['copies']:.2%}",
        ])  # fmt: skip
    return as_table(head, rows)


if __name__ == "__main__":
    main()
