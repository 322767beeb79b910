"""What encoding costs: real rows that were only encoded and decoded, scored against unseen rows.

    python -m benchmarks.ceiling --data ../shared/data --seeds 5
    python -m benchmarks.ceiling --page docs/lab/unseen.md       writes the means of the CSV into the page

The codec of `auto` (ids, intervals, grain, laws) learns, encodes and decodes a random half of each table, and the
classifier of `benchmarks.unseen` tries to distinguish it from the other half; the unencoded half is measured too. No
writer can be better than this. The relative error is the loss of models that learn from the decoded half instead of
the original one. A second call completes the CSV instead of repeating its runs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measured import append, asked, parser, unmeasured
from benchmarks.pages import as_table
from benchmarks.unseen import DEVELOPMENT, NINE, halves, load
from tabtreeformer import evaluate
from tabtreeformer._runtime.progress import Silent
from tabtreeformer.fitting.fit import settle
from tabtreeformer.fitting.request import Request, laws_of, open_source
from tabtreeformer.tokens import TableCodec

WRITER = "codec"
UTILITY, RELATIVE_ERROR = "utility", "relative_error"
METRICS = {"shape_unseen": "shape_error", "trend_unseen": "trend_error", "detection_unseen": "auc"}


def main() -> None:
    """Measure what is not yet in the CSV."""
    options = asked(parser(__doc__, "ceiling.csv", (*NINE, *DEVELOPMENT), seeds=5), {"ceiling": means})
    for table, seed, _ in unmeasured(options, [WRITER]):
        found = measure(options.data, table, seed)
        append(options.results, {"table": table, "seed": seed, "writer": WRITER, **found})


def measure(data: Path, table: str, seed: int) -> dict[str, float]:
    """The scores of rows that were encoded and decoded, and of the same rows as they are."""
    frame, target = load(data, table)
    train, unseen = halves(frame, seed)
    decoded = through_codec(train, target, seed)
    found: dict[str, float] = {"rows": len(train)}
    for suffix, rows, metrics in (("", decoded, (*METRICS, UTILITY)), ("_real", train, tuple(METRICS))):
        scores = evaluate(
            train, unseen, rows, target=target, metrics=metrics, references=False, random_state=seed
        ).scores
        if UTILITY in scores:
            found[RELATIVE_ERROR] = scores[UTILITY].value
        for metric, name in METRICS.items():
            value = scores[metric].value
            found[name + suffix] = value if name == "auc" else 1 - value
    return found


def through_codec(frame: pd.DataFrame, target: str, seed: int) -> pd.DataFrame:
    """The rows as the codec of `auto` writes them back."""
    sequence = np.random.SeedSequence(seed)
    request = Request(preset="auto", overrides={}, target=target)
    with open_source(frame, None, request, sequence, Silent()) as table:
        setup = settle(table, request, sequence.spawn(1)[0])
        laws = laws_of(setup.relations, table.frame, setup.schema, setup.config.tokens.rare_floor, sequence)
        codec = TableCodec.learn(table.frame, setup.schema, setup.config.tokens, laws)
        ids = codec.encode(table.frame)
        return codec.decode(ids, np.random.default_rng(seed))


def means(results: pd.DataFrame) -> str:
    """The means over seeds."""
    rows = []
    for table, group in results.groupby("table", sort=False):
        mean = group.mean(numeric_only=True)
        error = (group["auc"] - group["auc_real"]).std() / np.sqrt(len(group))
        pairs = [(name, 3 if name == "auc" else 4) for name in METRICS.values()]
        own = [f"{mean[name]:.{digits}f} ({mean[f'{name}_real']:.{digits}f})" for name, digits in pairs]
        rows.append([table, len(group), f"{mean['rows']:,.0f}", f"{mean[RELATIVE_ERROR]:.3f}", *own, f"{error:.3f}"])
    head = (
        "table", "seeds", "rows", "relative error", "Shape error", "Trend error", "two-sample AUC",
        "standard error of the difference",
    )  # fmt: skip
    return as_table(head, rows)


if __name__ == "__main__":
    main()
