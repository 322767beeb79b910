"""False alarms: how often real rows that the model never saw are called a leak.

    python -m benchmarks.alarms --data ../shared/data --page docs/lab/privacy.md

Three disjoint sets of rows are drawn from a large table: training rows, held-out rows, and a "synthetic" table that
consists of real rows too. Nothing can have leaked, so every "not safe" is a false alarm. False alarms of the report
(`ttf evaluate`) and of the verdict at the end of a fit, which makes two comparisons, are counted at several sizes. The
last column counts the alarms that should be raised: one synthetic row in ten is copied from the training rows.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from tabtreeformer import Schema, evaluate
from tabtreeformer._runtime.progress import Silent
from tabtreeformer.evaluation import findings
from tabtreeformer.evaluation.attacks.risk import CONFIDENCE
from tabtreeformer.evaluation.safety import TEST_METRICS
from tabtreeformer.privacy.gate.verdict import family_confidence

from .pages import as_table, put
from .tables import split as load

SIZES = {"report": ((120, 30), (600, 150), (2000, 500)), "gate": ((60, 60), (300, 300), (1000, 1000))}
COPIED = 0.1
MARKS = "alarms"
HEAD = ["table", "verdict of", "training + held-out rows", "false alarms", "raised by", "raised at 10 % copies"]


def alarms(frame: pd.DataFrame, target: str, sizes: tuple[int, int], place: str, seed: int, copied: float) -> set[str]:
    """Return the measures that raise an alarm on one draw of the rows."""
    rng = np.random.default_rng(seed)
    n_train, n_held = sizes
    rows = frame.iloc[rng.permutation(len(frame))[: 2 * n_train + n_held]].reset_index(drop=True)
    train, held, new = rows[:n_train], rows[n_train : n_train + n_held], rows[n_train + n_held :]
    if copied:
        n_copied = round(copied * n_train)
        new = pd.concat([new[n_copied:], train.sample(n_copied, random_state=seed)])
    pairs = [(train, held)] if place == "report" else [(train, held), (held, train)]
    confidence = family_confidence(len(pairs))
    tests = {"tests": 1} if place == "gate" else {}
    raised: set[str] = set()
    for one, other in pairs:
        evaluation = evaluate(
            one.reset_index(drop=True),
            other.reset_index(drop=True),
            new.reset_index(drop=True),
            target=target,
            schema=Schema.infer(frame),
            metrics=TEST_METRICS,
            references="ceiling",
            max_queries=2000,
            max_attacks=300,
            confidence=confidence if place == "gate" else CONFIDENCE,
            random_state=seed,
            progress=Silent(),
        )
        raised |= {found.measure for found in findings(evaluation, **tests) if found.leak}
    return raised


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--tables", default="adult,bank-marketing")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--page", type=Path, help="page into which the table is written, between its marks")
    options = parser.parse_args()
    rows = []
    for table in options.tables.split(","):
        train, test, target = load(options.data, table, 0)
        frame = pd.concat([train, test], ignore_index=True)
        for place, each in SIZES.items():
            for sizes in each:
                false, power = (
                    [alarms(frame, target, sizes, place, seed, copied) for seed in range(options.draws)]
                    for copied in (0.0, COPIED)
                )
                by = Counter(measure for raised in false for measure in raised)
                words = ", ".join(f"{measure} {count}" for measure, count in by.most_common()) or "–"
                rate, found = (f"{sum(map(bool, raised)) / len(raised):.0%}" for raised in (false, power))
                rows.append([table, place, f"{sizes[0]:,} + {sizes[1]:,}", rate, words, found])
                print(*rows[-1], sep=" | ", flush=True)
    if options.page:
        put(options.page, MARKS, as_table(HEAD, rows))


if __name__ == "__main__":
    main()
