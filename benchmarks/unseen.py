"""Quality against unseen rows, beside the scores of the training rows, and the attack by density.

    python -m benchmarks.unseen --data ../shared/data --seeds 3
    python -m benchmarks.unseen --writers trees,trees-80 --tables diabetes,credit-g
    python -m benchmarks.unseen --rivals ../shared/rivals/adult_uci
    python -m benchmarks.unseen --page docs/lab/unseen.md        writes the tables of the CSV into the page

A random half of each table is learned, the other half is unseen; as many rows are written as were learned. Writers are
presets; `trees-80` is the preset `trees` with at least 80 rows per leaf, `auto-raw` sees raw values beside the ids of
numbers, `auto-masked` fills masks in random order, and `cart` is sequential trees as in synthpop.
One row per table, seed and writer goes to a CSV, which a second call completes instead of repeating. Columns that end
in `_real` are the scores of the training rows against the unseen half; the attack uses as many rows as were learned
and, for small tables, also ten times as many. With `--rivals`, the published rows of a folder (train.csv.gz,
holdout.csv.gz and NAME_1.csv.gz, …) are scored beside ours on the same rows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.generators import cart
from benchmarks.measured import KEYS, append, asked, known_in, names, parser, unmeasured
from benchmarks.pages import as_table
from tabtreeformer import Schema, TabTreeFormer, evaluate
from tabtreeformer.config.presets import PRESETS
from tabtreeformer.evaluation.attacks.rows import Calibration, outcome
from tabtreeformer.evaluation.encoding import both, encode

NINE = (
    "iris", "boston", "diabetes", "breast-w", "wdbc", "credit-g", "qsar-biodeg", "bank-marketing", "adult",
)  # fmt: skip
DEVELOPMENT = (
    "abalone", "insurance", "auto_imports", "wine_quality", "churn_modelling", "titanic", "california_housing",
    "adult_uci",
)  # fmt: skip
QUALITY = ("shape_unseen", "trend_unseen", "detection_unseen")
TIMES, FEW_ROWS = 10, 3_000
"""If at most this many rows were learned, ten times as many are attacked too."""
MANY = 5_000
"""Tables of which at least this many rows are learned are counted apart."""
NETWORKS: dict[str, dict[str, Any]] = {
    "": {},
    "raw": {"model": {"quantile_embedding": "raw"}},
    "masked": {"model": {"softmax": "masked"}},
}
"""Changes to `auto` by the end of a writer's name."""
OUTLOOK = tuple(f"auto-{name}" for name in NETWORKS if name)
"""Parts of the paper's outlook, shown beside `auto` on the tables that they were measured on."""
QUALITY_COLUMNS = {"shape_error": 4, "trend_error": 4, "auc": 3}
PUBLISHED = "as published"
RIVALS_TARGET = "income"


def main() -> None:
    """Judge what is not yet in the CSV."""
    arguments = parser(__doc__, "unseen.csv", (*NINE, *DEVELOPMENT))
    arguments.add_argument("--rivals", type=Path, help="folder with published rows, judged instead of the tables")
    arguments.add_argument("--writers", type=names, default=["trees"])
    tables = {"over tables": over_tables, "by table": by_table, "published": published, "outlook": outlook}
    options = asked(arguments, tables)
    if options.rivals is not None:
        known = known_in(options.results, KEYS)
        _rivals(options.rivals, options.writers, options.seeds, known, options.results)
        return
    for table, seed, writers in unmeasured(options, options.writers):
        frame, target = load(options.data, table)
        train, unseen = halves(frame, seed)
        judge = Judge(train, unseen, target, seed)
        for writer in writers:
            times = TIMES if len(train) <= FEW_ROWS else 1
            rows, cpu, wall = written(writer, train, target, seed, times)
            facts = {"rows": len(train), "cpu_seconds": round(cpu, 2), "seconds": round(wall, 2)}
            found = judge(rows.head(len(train)))
            if times > 1:
                found |= judge.attack_on_more(rows)
            append(options.results, {"table": table, "seed": seed, "writer": writer, **facts, **found})


def load(folder: Path, name: str) -> tuple[pd.DataFrame, str]:
    """A table and its target: of the nine without incomplete rows, of the others as it is."""
    place = folder if name in NINE else folder / "development"
    facts = next(f for f in json.loads((place / "datasets.json").read_text(encoding="utf-8")) if f["name"] == name)
    frame = pd.read_csv(place / facts["file"])
    return (frame.dropna(ignore_index=True) if name in NINE else frame), facts["target"]


def halves(frame: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows to learn and those that nobody learns from."""
    order = np.random.default_rng(seed).permutation(len(frame))
    middle = len(order) // 2
    first, second = (frame.iloc[np.sort(rows)].reset_index(drop=True) for rows in (order[:middle], order[middle:]))
    return first, second


def written(
    writer: str, train: pd.DataFrame, target: str, seed: int, times: int = 1
) -> tuple[pd.DataFrame, float, float]:
    """So many times the rows that were learned, with the seconds of the processor and of the clock."""
    if writer == "cart":
        return _by_cart(train, target, seed, times)
    preset, _, changed = writer.partition("-")
    settings: dict[str, Any] = {"forest": {"leaf_rows": int(changed)}} if changed.isdigit() else NETWORKS[changed]
    privacy = "off" if preset == "trees" or preset in PRESETS else "balanced"
    cpu, wall = time.process_time(), time.perf_counter()
    model = TabTreeFormer(preset, target, privacy=privacy, random_state=seed, verbose=False, **settings).fit(train)
    rows = model.sample(times * len(train), random_state=seed, accept_risk=True)
    return rows, time.process_time() - cpu, time.perf_counter() - wall


def _by_cart(train: pd.DataFrame, target: str, seed: int, times: int) -> tuple[pd.DataFrame, float, float]:
    """The same by sequential trees as in synthpop."""
    kinds = [{"name": column.name, "kind": column.kind} for column in Schema.infer(train, target).columns]
    cpu, wall = time.process_time(), time.perf_counter()
    generator = cart.Generator(seed=seed)
    generator.fit(train, {"columns": kinds})
    rows = generator.sample(times * len(train))
    return rows, time.process_time() - cpu, time.perf_counter() - wall


class Judge:
    """Judges tables of rows that were learned from the same rows; what does not depend on them is computed once."""

    def __init__(self, train: pd.DataFrame, unseen: pd.DataFrame, target: str, seed: int) -> None:
        self.train, self.unseen, self.target, self.seed = train, unseen, target, seed
        self.schema = Schema.infer(train, target)
        self.remembered: dict[Any, Any] = {}
        self.real = self._scores(train, QUALITY)
        self.shadows: dict[int, Calibration] = {}

    def __call__(self, rows: pd.DataFrame) -> dict[str, float]:
        """The figures of as many rows as were learned, each beside that of the training rows."""
        scores, real = self._scores(rows, ("utility", *QUALITY)), self.real
        return {
            "relative_error": scores["utility"].value if "utility" in scores else float("nan"),
            "shape_error": 1 - scores["shape_unseen"].value,
            "trend_error": 1 - scores["trend_unseen"].value,
            "auc": scores["detection_unseen"].value,
            "shape_error_real": 1 - real["shape_unseen"].value,
            "trend_error_real": 1 - real["trend_unseen"].value,
            "auc_real": real["detection_unseen"].value,
            **self._attack(rows, ""),
        }

    def attack_on_more(self, rows: pd.DataFrame) -> dict[str, float]:
        """The attack on more rows than were learned."""
        return self._attack(rows, "_ten_times")

    def _scores(self, rows: pd.DataFrame, metrics: Sequence[str]) -> Mapping[str, Any]:
        return evaluate(
            self.train, self.unseen, rows, target=self.target, schema=self.schema, metrics=metrics, references=False,
            random_state=self.seed, remembered=self.remembered,
        ).scores  # fmt: skip

    def _attack(self, rows: pd.DataFrame, name: str) -> dict[str, float]:
        tables = encode({"training": self.train, "held-out": self.unseen, "synthetic": rows}, self.schema)
        if len(rows) not in self.shadows:
            population = both(tables["training"], tables["held-out"])
            self.shadows[len(rows)] = Calibration.learn(population, len(rows), np.random.SeedSequence(self.seed))
        # Categories of later tables may have further codes, which the density has to know of.
        calibration = replace(self.shadows[len(rows)], population=both(tables["training"], tables["held-out"]))
        found = outcome(calibration.score(tables["synthetic"]), len(self.train))
        facts = {"attack": found["auc"], "found_at_1": found["true_positives"]}
        if not name:
            low, high = found["auc_interval"]
            facts |= {"attack_low": low, "attack_high": high, "found_at_10": found["true_positives_at_10"]}
        return {f"{key}{name}": value for key, value in facts.items()}


def _rivals(folder: Path, writers: list[str], seeds: int, known: set[Any], results: Path) -> None:
    """Judge published rows and ours on the same training and unseen rows."""
    train, unseen = (pd.read_csv(folder / f"{name}.csv.gz") for name in ("train", "holdout"))
    table, judge = f"{folder.name} {PUBLISHED}", Judge(train, unseen, RIVALS_TARGET, 0)
    for writer in writers:
        for seed in range(seeds):
            if (table, seed, writer) not in known:
                rows, cpu, wall = written(writer, train, RIVALS_TARGET, seed)
                facts = {"rows": len(train), "cpu_seconds": round(cpu, 2), "seconds": round(wall, 2)}
                append(results, {"table": table, "seed": seed, "writer": writer, **facts, **judge(rows)})
    for path in sorted(folder.glob("*_[0-9].csv.gz"), key=lambda path: path.name[-8:]):
        name, number = path.name.removesuffix(".csv.gz").rsplit("_", 1)
        if (table, int(number), name) not in known:
            rows = pd.read_csv(path)[list(train.columns)].head(len(train))
            append(results, {"table": table, "seed": int(number), "writer": name, "rows": len(train), **judge(rows)})


def by_table(results: pd.DataFrame) -> str:
    """Means over seeds, of each table and writer."""
    return _means(_of_presets(results), ["table", "writer"])


def outlook(results: pd.DataFrame) -> str:
    """Means over seeds of each part of the paper's outlook and of `auto`, on the same tables."""
    tables = results.loc[results["writer"].isin(OUTLOOK), "table"].unique()
    compared = results[results["table"].isin(tables) & results["writer"].isin(("auto", *OUTLOOK))]
    return _means(compared.sort_values(["table", "writer"], kind="stable"), ["table", "writer"])


def published(results: pd.DataFrame) -> str:
    """Means over seeds beside published rows."""
    return _means(results[_published(results)], ["writer"])


def _of_presets(results: pd.DataFrame) -> pd.DataFrame:
    """The lines of random halves, without published rows and the paper's outlook."""
    return results[~_published(results) & ~results["writer"].isin(OUTLOOK)]


def _published(results: pd.DataFrame) -> pd.Series:
    return results["table"].str.endswith(PUBLISHED)


def over_tables(results: pd.DataFrame) -> str:
    """Means over tables, each counting the same however many seeds it has, of tables of few and of many rows."""
    results = _of_presets(results)
    results = results.assign(
        shape=results["shape_error"] - results["shape_error_real"],
        trend=results["trend_error"] - results["trend_error_real"],
        few=np.where(results["rows"] < MANY, f"below {MANY:,}", f"{MANY:,} and more"),
    )
    tables = results.groupby(["writer", "few", "table"], sort=False).mean(numeric_only=True)
    rows = []
    for (writer, few), group in tables.groupby(["writer", "few"], sort=False):
        mean, worst = group.mean(), group["relative_error"]
        ten = mean.get("attack_ten_times", np.nan)
        rows.append(
            [
                writer,
                few,
                len(group),
                f"{mean['cpu_seconds']:.1f}",
                f"{mean['relative_error']:.3f}",
                f"{worst.max():.3f} ({worst.idxmax()[2]})",
                f"{mean['shape']:.4f}",
                f"{mean['trend']:.4f}",
                f"{mean['auc']:.3f}",
                f"{mean['attack']:.3f}",
                f"{mean['found_at_1']:.1%}",
                f"{mean['found_at_10']:.1%}",
                "" if np.isnan(ten) else f"{ten:.3f}",
            ]
        )
    head = (
        "writer", "rows learned", "tables", "CPU s", "relative error", "its worst", "Shape beyond real",
        "Trend beyond real", "two-sample AUC", "attack", "found at 1 %", "found at 10 %", "attack, ten times",
    )  # fmt: skip
    return as_table(head, rows)


def _means(results: pd.DataFrame, keys: list[str]) -> str:
    """A table of means over seeds, real rows beside ours."""
    rows = []
    for key, group in results.groupby(keys, sort=False):
        mean = group.mean(numeric_only=True)
        real = [f"{mean[f'{name}_real']:.{digits}f}" for name, digits in QUALITY_COLUMNS.items()]
        own = [f"{mean[name]:.{digits}f}" for name, digits in QUALITY_COLUMNS.items()]
        rows.append(
            [
                *key,
                len(group),
                f"{mean['rows']:,.0f}",
                "" if np.isnan(mean["cpu_seconds"]) else f"{mean['cpu_seconds']:.1f}",
                f"{mean['relative_error']:.3f}",
                *(f"{a} ({b})" for a, b in zip(own, real, strict=True)),
                f"{mean['attack']:.3f}",
                f"{mean['found_at_1']:.1%}",
                "" if np.isnan(mean.get("attack_ten_times", np.nan)) else f"{mean['attack_ten_times']:.3f}",
            ]
        )
    head = (
        *keys, "seeds", "rows", "CPU s", "relative error", "Shape error", "Trend error", "two-sample AUC", "attack",
        "found at 1 %", "attack, ten times",
    )  # fmt: skip
    return as_table(head, rows)


if __name__ == "__main__":
    main()
