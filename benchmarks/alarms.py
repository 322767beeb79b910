"""False alarms and power: how often rows that reveal nobody are reported as a leak, and how often copies are found.

    python -m benchmarks.alarms --data ../shared/data --draws 200
    python -m benchmarks.alarms --page docs/lab/privacy.md       writes the table of the CSV into the page, and stops

Disjoint sets of rows are drawn from a large table: training rows, held-out rows, and "synthetic" rows that are real
too, ten times as many for the gate. A model that wrote those would leak nothing: every reported leak is a false alarm.
With copies, a share of the synthetic rows is taken from the training rows, and every reported leak is right. The
report (`ttf evaluate`) makes one comparison; the verdict at the end of a fit makes two, one per half, and attacks by
density (the level `balanced`). `repeats` is one test of that verdict at a hundredth of the cost, so more draws are
possible; the whole verdict finds at least as much. One line per draw goes to a CSV, which a second call completes.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from tabtreeformer import Schema, evaluate
from tabtreeformer._runtime.progress import Silent
from tabtreeformer.evaluation import findings, repeats
from tabtreeformer.evaluation.attacks.repeated import repeated
from tabtreeformer.evaluation.attacks.risk import CONFIDENCE
from tabtreeformer.evaluation.encoding import both, encode
from tabtreeformer.evaluation.safety import TEST_METRICS
from tabtreeformer.privacy.gate.level import Comparison, expose
from tabtreeformer.privacy.gate.verdict import family_confidence

from .pages import as_table, put
from .tables import split as load

GATE = ((60, 60), (250, 250), (1000, 1000))
SIZES = {"report": ((600, 150), (2000, 500)), "gate": GATE, "repeats": GATE}
COPIED = (0.0, 0.03, 0.1)
TIMES = 10
MARKS = "alarms"
KEYS = ["table", "place", "train", "held", "copied", "seed"]
HERE = Path(__file__).parent

Pair = tuple[pd.DataFrame, pd.DataFrame]


def alarms(frame: pd.DataFrame, target: str, sizes: tuple[int, int], place: str, seed: int, copied: float) -> set[str]:
    """Return the measures that raise an alarm on one draw of the rows."""
    rng = np.random.default_rng(seed)
    n_train, n_held = sizes
    times = 1 if place == "report" else min(TIMES, (len(frame) - n_train - n_held) // n_train)
    rows = frame.iloc[rng.permutation(len(frame))[: (1 + times) * n_train + n_held]].reset_index(drop=True)
    train, held, new = rows[:n_train], rows[n_train : n_train + n_held], rows[n_train + n_held :]
    pairs = [(train, held)] if place == "report" else [(train, held), (held, train)]
    schema, confidence = Schema.infer(frame), CONFIDENCE if place == "report" else family_confidence(len(pairs))
    raised: set[str] = set()
    written = [_with_copies(new, one, copied, rng) for one, _ in pairs]
    if place == "repeats":
        return _repeats(pairs, written, schema, confidence)
    for (one, other), synthetic in zip(pairs, written, strict=True):
        evaluation = evaluate(
            one.reset_index(drop=True),
            other.reset_index(drop=True),
            synthetic.head(n_train),
            target=target,
            schema=schema,
            metrics=TEST_METRICS,
            references="ceiling",
            max_queries=2000,
            max_attacks=300,
            confidence=confidence,
            random_state=seed,
            progress=Silent(),
        )
        tests = {"tests": 1} if place == "gate" else {}
        raised |= {found.measure for found in findings(evaluation, **tests) if found.leak}
    if place == "gate":
        halves = np.arange(n_train), np.arange(n_train, n_train + n_held)
        comparisons = [
            Comparison(members=own, others=rest, write=_first(synthetic), n_learned=len(own))
            for (own, rest), synthetic in zip((halves, halves[::-1]), written, strict=True)
        ]
        population = rows[: n_train + n_held]
        exposure = expose("real rows", population, comparisons, schema, np.random.SeedSequence(seed))
        if exposure.until("balanced") < 1:
            raised.add("level")
        if any(repeats(found, confidence).leak for found in exposure.repeated):
            raised.add("repeated")
    return raised


def _repeats(pairs: list[Pair], written: list[pd.DataFrame], schema: Schema, confidence: float) -> set[str]:
    """Whether more rows that were learned than others are repeated."""
    for (one, other), synthetic in zip(pairs, written, strict=True):
        tables = encode({"training": one, "held": other, "synthetic": synthetic}, schema)
        found = repeated(both(tables["training"], tables["held"]), len(one), tables["synthetic"], len(one))
        if repeats(found, confidence).leak:
            return {"repeated"}
    return set()


def _with_copies(new: pd.DataFrame, learned: pd.DataFrame, copied: float, rng: np.random.Generator) -> pd.DataFrame:
    """New rows, a share of them replaced by rows that were learned, in random order."""
    n_copied = round(copied * len(new))
    copies = learned.iloc[rng.integers(0, len(learned), n_copied)]
    mixed = pd.concat([new.iloc[n_copied:], copies])
    return mixed.iloc[rng.permutation(len(mixed))].reset_index(drop=True)


def _first(rows: pd.DataFrame) -> Callable[[int], pd.DataFrame]:
    return lambda n: rows.head(n)


def main() -> None:
    """Make the draws that the CSV does not have yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--tables", default="adult,bank-marketing")
    parser.add_argument("--places", default="gate,report")
    parser.add_argument("--sizes", help="training rows, e.g. 250; by default several")
    parser.add_argument("--copied", default=",".join(map(str, COPIED)))
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--results", type=Path, default=HERE / "results" / "alarms.csv")
    parser.add_argument("--page", type=Path, help="page into which the table is written, between its marks")
    options = parser.parse_args()
    done = pd.read_csv(options.results) if options.results.exists() else pd.DataFrame(columns=[*KEYS, "raised"])
    if options.page:
        put(options.page, MARKS, summary(done))
        return
    known = set(done[KEYS].itertuples(index=False, name=None))
    lines = done.to_dict("records")
    for table in options.tables.split(","):
        train, test, target = load(options.data, table, 0)
        frame = pd.concat([train, test], ignore_index=True)
        for seed in range(options.draws):
            for place in options.places.split(","):
                for sizes in SIZES[place]:
                    if options.sizes and sizes[0] != int(options.sizes):
                        continue
                    for copied in map(float, options.copied.split(",")):
                        key = (table, place, *sizes, copied, seed)
                        if key not in known:
                            raised = alarms(frame, target, sizes, place, seed, copied)
                            lines.append({**dict(zip(KEYS, key, strict=True)), "raised": " ".join(sorted(raised))})
                            pd.DataFrame(lines).to_csv(options.results, index=False)
                            print(lines[-1], flush=True)


def summary(done: pd.DataFrame) -> str:
    """The share of draws with an alarm, by table, verdict, size and share of copies."""
    head = ["table", "verdict of", "training + held-out rows", "copies", "draws", "alarms", "raised by"]
    rows = []
    for (table, place, n_train, n_held, copied), part in done.groupby(KEYS[:-1]):
        raised = [set(str(text).split()) - {"nan"} for text in part["raised"]]
        by = Counter(measure for measures in raised for measure in measures)
        raisers = sorted(by.items(), key=lambda item: (-item[1], item[0]))
        words = ", ".join(f"{measure} {count}" for measure, count in raisers) or "–"
        rate = f"{sum(map(bool, raised)) / len(raised):.0%}"
        rows.append([table, place, f"{n_train:,} + {n_held:,}", f"{copied:.0%}", len(raised), rate, words])
    return as_table(head, rows)


if __name__ == "__main__":
    main()
