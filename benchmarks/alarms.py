"""False alarms: how often rows of real people whom the model never saw are called a leak.

    python benchmarks/alarms.py --data ../shared/data --page docs/privacy.md

Of a large table three disjoint sets of rows are drawn: training rows, held-out rows, and a "synthetic" table that is
made of real rows too. Nothing can have leaked, so every "not safe" is a false alarm. The words of the report
(`ttf evaluate`) and of the verdict at the end of a fit, which makes two comparisons, are counted at several sizes, and
beside them the alarms that should ring: the same tables with one synthetic row in ten copied from the training rows.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from pages import as_table, put
from quality import load
from tabtreeformer import Schema, evaluate
from tabtreeformer.evaluation import findings
from tabtreeformer.evaluation.risk import CONFIDENCE
from tabtreeformer.gate.verdict import METRICS, family_confidence
from tabtreeformer.progress import Silent

SIZES = {"report": ((120, 30), (600, 150), (2000, 500)), "gate": ((60, 60), (300, 300), (1000, 1000))}
COPIED = 0.1
MARKS = "<!-- alarms: begin -->", "<!-- alarms: end -->"
HEAD = ["table", "word", "training + held-out rows", "false alarms", "by", "rings at 10 % copies"]


def alarms(frame: pd.DataFrame, target: str, sizes: tuple[int, int], word: str, seed: int, copied: float) -> set[str]:
    """Measures that ring on one draw of the rows."""
    rng = np.random.default_rng(seed)
    n_train, n_held = sizes
    rows = frame.iloc[rng.permutation(len(frame))[: 2 * n_train + n_held]].reset_index(drop=True)
    train, held, new = rows[:n_train], rows[n_train : n_train + n_held], rows[n_train + n_held :]
    if copied:
        n_copied = round(copied * n_train)
        new = pd.concat([new[n_copied:], train.sample(n_copied, random_state=seed)])
    pairs = [(train, held)] if word == "report" else [(train, held), (held, train)]
    confidence = family_confidence(len(pairs))
    tests = {"tests": 1} if word == "gate" else {}
    rang: set[str] = set()
    for one, other in pairs:
        evaluation = evaluate(
            one.reset_index(drop=True),
            other.reset_index(drop=True),
            new.reset_index(drop=True),
            target=target,
            schema=Schema.infer(frame),
            metrics=METRICS,
            references="ceiling",
            max_queries=2000,
            max_attacks=300,
            confidence=confidence if word == "gate" else CONFIDENCE,
            random_state=seed,
            progress=Silent(),
        )
        rang |= {found.measure for found in findings(evaluation, **tests) if found.leak}
    return rang


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
        for word, each in SIZES.items():
            for sizes in each:
                false, told = (
                    [alarms(frame, target, sizes, word, seed, copied) for seed in range(options.draws)]
                    for copied in (0.0, COPIED)
                )
                by = Counter(measure for rang in false for measure in rang)
                words = ", ".join(f"{measure} {count}" for measure, count in by.most_common()) or "–"
                rate, power = (f"{sum(map(bool, rang)) / len(rang):.0%}" for rang in (false, told))
                rows.append([table, word, f"{sizes[0]:,} + {sizes[1]:,}", rate, words, power])
                print(*rows[-1], sep=" | ", flush=True)
    if options.page:
        put(options.page, *MARKS, as_table(HEAD, rows))


if __name__ == "__main__":
    main()
