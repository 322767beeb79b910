"""Linked tables: Formula 1 by the measures of SyntheRela, and a shop's customers by a two-sample test.

    python -m benchmarks.databases --seeds 3
    python -m benchmarks.databases --writers auto --seeds 1
    python -m benchmarks.databases --page docs/lab/databases.md

Formula 1 is compared with all of its rows, as in the published numbers; the shop with unseen customers. Results have
one line per database, writer and seed; existing ones are not run again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tabtreeformer import RelationalTabTreeFormer, Schema, evaluate_database
from tabtreeformer.data.link_search import find_links

from .pages import as_table, put

HERE = Path(__file__).parent
TABLES = (
    "circuit", "constructor", "driver", "race", "result", "qualify",
    "driver_standings", "constructor_standings", "constructor_results",
)  # fmt: skip
LABELS = (("circuit", "country"), ("constructor", "nationality"), ("driver", "nationality"), ("result", "status"))
"""Columns of numbers that are codes."""
NETWORK: Mapping[str, Any] = {"preset": "auto", "sampling": {}}
"""The preset `auto` with networks as writers also where no verdict is asked for."""
WRITERS: Mapping[str, Mapping[str, Any]] = {
    "auto": NETWORK,
    "auto, circuits kept": {**NETWORK, "keep": ["circuit"]},
    "trees": {"preset": "trees"},
    "trees, circuits kept": {"preset": "trees", "keep": ["circuit"]},
    "trees, nothing protected": {"preset": "trees", "tokens": {"rare_floor": 0}, "forest": {"leaf_rows": 3}},
}
ONLY_F1 = tuple(name for name, settings in WRITERS.items() if "keep" in settings)
MEASURES = ("cardinality", "shapes", "pairs", "1-hop", "2-hop")
PUBLISHED = {
    "GRDM, published": dict(zip(MEASURES, (0.9844, 0.9571, 0.95, 0.9085, 0.9367), strict=True)),
    "ClavaDDPM, published": dict(zip(MEASURES, (0.9404, 0.9519, 0.9471, 0.8819, 0.8317), strict=True)),
}


def main() -> None:
    """Run what is missing, print all, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/relational"))
    parser.add_argument("--out", type=Path, default=HERE / "results" / "databases.csv")
    parser.add_argument("--writers", default=";".join(WRITERS), help="separated by semicolons")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--databases", default="f1;cdnow", help="separated by semicolons")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    done = pd.read_csv(options.out) if options.out.exists() else pd.DataFrame(columns=["database", "writer", "seed"])
    for writer in options.writers.split(";") if options.data.is_dir() and not options.page else ():
        for seed in range(options.seeds):
            for database in options.databases.split(";"):
                run = {"f1": _formula_one, "cdnow": _shop}[database]
                there = (done["database"] == database) & (done["writer"] == writer) & (done["seed"] == seed)
                if not there.any() and (database == "f1" or writer not in ONLY_F1):
                    line = {"database": database, "writer": writer, "seed": seed, **run(options.data, writer, seed)}
                    done = pd.concat([done, pd.DataFrame([line])], ignore_index=True)
                    done.to_csv(options.out, index=False)
                    print(line, flush=True)
    for database in ("f1", "cdnow"):
        print(summary(done, database))
    if options.page:
        for database in ("f1", "cdnow"):
            put(options.page, database, summary(done, database))


def _formula_one(data: Path, writer: str, seed: int) -> dict[str, float]:
    tables = {name: pd.read_csv(data / "f1" / f"{name}.csv") for name in TABLES}
    schemas = {name: Schema.infer(frame) for name, frame in tables.items()}
    for name, column in LABELS:
        schemas[name] = schemas[name].with_kind(column, "categorical")
    started = time.process_time()
    model = RelationalTabTreeFormer(random_state=seed, verbose=False, privacy="off", **WRITERS[writer])
    model.fit(tables, schemas=schemas)
    fitted = time.process_time()
    new = model.sample(random_state=seed)
    took = {"fit, CPU s": fitted - started, "sample, CPU s": time.process_time() - fitted}
    return evaluate_database(tables, new, find_links(tables), schemas).summary() | took


def _shop(data: Path, writer: str, seed: int) -> dict[str, float]:
    users = pd.read_csv(data / "cdnow" / "users.csv.gz")
    purchases = pd.read_csv(data / "cdnow" / "purchases.csv.gz", parse_dates=["date"])
    order = np.random.default_rng(seed).permutation(len(users))
    halves = []
    for own in (order[: len(users) // 2], order[len(users) // 2 :]):
        people = users.iloc[np.sort(own)].reset_index(drop=True)
        rows = purchases[purchases["users_id"].isin(people["id"])].reset_index(drop=True)
        halves.append({"users": people, "purchases": rows})
    started = time.process_time()
    model = RelationalTabTreeFormer(random_state=seed, verbose=False, privacy="off", **WRITERS[writer])
    model.fit(halves[0], ["purchases.users_id -> users.id"])
    fitted = time.process_time()
    new = model.sample(random_state=seed)
    took = {"fit, CPU s": fitted - started, "sample, CPU s": time.process_time() - fitted}
    facts = [_customers(tables) for tables in (new, *halves)]
    return {
        "customers distinguished from unseen ones, AUC": _told_apart(facts[0], facts[2]),
        "real customers, AUC": _told_apart(facts[1], facts[2]),
        **took,
    }


def _customers(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What can be said of each customer: numbers, amounts, first and last day, spacing, and how purchases repeat."""
    rows = tables["purchases"].sort_values(["users_id", "date"], kind="stable")
    groups = rows.groupby("users_id")
    days = rows["date"].astype("int64") / 8.64e13
    gaps = days - days.groupby(rows["users_id"]).shift(1)
    repeated = rows["amt"] * groups["amt"].shift(1)
    facts = groups.agg(
        n=("amt", "size"), mean=("amt", "mean"), total=("amt", "sum"), spread=("amt", "std"),
        cds=("cds", "mean"), most=("cds", "max"),
    )  # fmt: skip
    own = rows["users_id"]
    facts["first"], facts["last"] = days.groupby(own).min(), days.groupby(own).max()
    facts["gap"], facts["longest"] = gaps.groupby(own).mean(), gaps.groupby(own).max()
    facts["repeats"] = repeated.groupby(own).mean()
    return facts


def _told_apart(one: pd.DataFrame, other: pd.DataFrame) -> float:
    """AUC of boosted trees that tell one table from another, by five folds."""
    from lightgbm import LGBMClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import cross_val_predict

    n = min(len(one), len(other))
    rows = pd.concat([one.sample(n, random_state=0), other.sample(n, random_state=0)])
    side = np.repeat([0, 1], n)
    trees = LGBMClassifier(n_estimators=100, num_leaves=15, verbose=-1, n_jobs=1)
    return float(roc_auc_score(side, cross_val_predict(trees, rows, side, cv=5, method="predict_proba")[:, 1]))


def summary(done: pd.DataFrame, database: str) -> str:
    """Means over the seeds, and what others published."""
    own = done[done["database"] == database].drop(columns=["database", "seed"])
    means = own.groupby("writer", sort=False).mean().dropna(axis=1, how="all")
    means.insert(0, "seeds", own.groupby("writer", sort=False).size())
    if database == "f1":
        means = pd.concat([means, pd.DataFrame(PUBLISHED).T])
    columns = ["writer", *means.columns]
    cells = [["–" if pd.isna(number) else f"{number:.4g}" for number in line] for line in means.to_numpy()]
    return as_table(columns, [[name, *line] for name, line in zip(means.index, cells, strict=True)])


if __name__ == "__main__":
    main()
